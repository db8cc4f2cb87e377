package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"syscall"
	"time"

	"resumed/internal/resume"
	"resumed/internal/resume/view"
	"resumed/internal/usage"
)

// How long the daemon may take for the beginning of its answer, and for each further part. An
// order may have to wait for a disk, or for a command to end.
const (
	answerLimit = 20 * time.Second
	orderLimit  = 45 * time.Second
)

var errKept = errors.New("a sandbox keeps this command from the daemon: run it in a terminal of your own")

// Client is the command line's end of the socket.
type Client struct{ http http.Client }

// NewClient returns a client of the daemon with the socket in dir. It connects at the first call.
func NewClient(dir string) *Client {
	return &Client{http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return Dial(ctx, dir) },
	}}}
}

// Status returns the state of the daemon.
func (c *Client) Status(ctx context.Context, all bool) (Status, error) {
	return call[Status](ctx, c, http.MethodGet, "/v1/status", withAll(all))
}

// Session returns the state with only that session, and what its next resume would do.
func (c *Client) Session(ctx context.Context, name string) (Status, error) {
	return call[Status](ctx, c, http.MethodGet, "/v1/session", url.Values{"name": {name}})
}

// Watch calls see with the whole state and then with each change, until ctx is done, the daemon
// is gone, or see returns an error.
func (c *Client) Watch(ctx context.Context, all bool, see func(Update) error) error {
	body, err := c.open(ctx, http.MethodGet, "/v1/events", withAll(all))
	if err != nil {
		return err
	}
	defer body.Close()
	body.limit = beatPatience
	for lines := json.NewDecoder(body); ; {
		var update Update
		if err := lines.Decode(&update); err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if errors.Is(err, ErrHung) {
				return err
			}
			return fmt.Errorf("%w: it ended (%w)", ErrNoDaemon, err)
		}
		if err := see(update); err != nil {
			return err
		}
	}
}

// Do executes an order on the session of that name.
func (c *Client) Do(ctx context.Context, name string, order Action) (view.Session, error) {
	return call[view.Session](ctx, c, http.MethodPost, "/v1/session/"+string(order), url.Values{"name": {name}})
}

// AddReadings sends the allowances that an agent reported for the account of a session.
func (c *Client) AddReadings(ctx context.Context, name string, readings []usage.Reading) error {
	data, err := json.Marshal(readings)
	if err != nil {
		return err
	}
	return c.order(ctx, "/v1/told", url.Values{"name": {name}, "readings": {string(data)}})
}

// SetPaused pauses or unpauses the daemon.
func (c *Client) SetPaused(ctx context.Context, paused bool) error {
	return c.order(ctx, map[bool]string{true: "/v1/pause", false: "/v1/unpause"}[paused], nil)
}

// PageURL returns the URL of the page with an access token. With once it works for one browser, now.
func (c *Client) PageURL(ctx context.Context, once bool) (string, error) {
	method := http.MethodGet
	if once {
		method = http.MethodPost
	}
	found, err := call[map[string]string](ctx, c, method, "/v1/page", nil)
	return found["url"], err
}

// NewPageKey ends all links to the page, and all browsers that were let in.
func (c *Client) NewPageKey(ctx context.Context) error { return c.order(ctx, "/v1/page/key", nil) }

func withAll(all bool) url.Values {
	if all {
		return url.Values{"all": {"1"}}
	}
	return nil
}

// call sends a request and decodes the answer.
func call[T any](ctx context.Context, c *Client, method, path string, query url.Values) (answer T, err error) {
	body, err := c.open(ctx, method, path, query)
	if err != nil {
		return answer, err
	}
	defer body.Close()
	if err := json.NewDecoder(body).Decode(&answer); err != nil {
		return answer, fmt.Errorf("read the daemon's answer: %w", err)
	}
	return answer, nil
}

// order sends a request that has an empty answer.
func (c *Client) order(ctx context.Context, path string, query url.Values) error {
	_, err := call[struct{}](ctx, c, http.MethodPost, path, query)
	return err
}

// open sends a request and returns the answer, to be read and closed.
func (c *Client) open(ctx context.Context, method, path string, query url.Values) (*reply, error) {
	limit := answerLimit
	if method == http.MethodPost {
		limit = orderLimit
	}
	ctx, cancel := context.WithCancelCause(ctx)
	r := &reply{ctx: ctx, cancel: cancel, limit: limit}
	target := url.URL{Scheme: "http", Host: "resumed", Path: path, RawQuery: query.Encode()}
	request, err := http.NewRequestWithContext(ctx, method, target.String(), http.NoBody)
	if err != nil {
		cancel(nil)
		return nil, fmt.Errorf("ask the daemon: %w", err)
	}
	var response *http.Response
	err = r.inTime(func() (err error) { response, err = c.http.Do(request); return err })
	switch {
	case err == nil:
		r.body = response.Body
		if response.StatusCode == http.StatusOK {
			return r, nil
		}
		err = readProblem(r, response.Status)
		_ = r.Close()
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED):
		err = ErrNoDaemon
	case errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES):
		err = errKept
	case errors.Is(err, syscall.EAGAIN): // too many connections wait for it already
		err = ErrHung
	case !errors.Is(err, ErrHung):
		err = fmt.Errorf("ask the daemon: %w", err)
	}
	cancel(nil)
	return nil, err
}

// reply is an answer with a time limit for each part.
type reply struct {
	ctx    context.Context // of the request
	cancel context.CancelCauseFunc
	limit  time.Duration // for each part; 0: none
	body   io.ReadCloser
}

func (r *reply) Read(p []byte) (n int, err error) {
	err = r.inTime(func() error { n, err = r.body.Read(p); return err })
	return n, err
}

func (r *reply) Close() error {
	defer r.cancel(nil)
	return r.body.Close()
}

// inTime cancels a step that takes too long.
func (r *reply) inTime(step func() error) error {
	if r.limit == 0 {
		return step()
	}
	hung := fmt.Errorf("%w: it was given %s", ErrHung, r.limit)
	defer time.AfterFunc(r.limit, func() { r.cancel(hung) }).Stop()
	err := step()
	if err != nil && errors.Is(context.Cause(r.ctx), hung) {
		return hung
	}
	return err
}

// RemoteError is an error that the daemon returned.
type RemoteError struct {
	Text string
	kind string
}

func (e *RemoteError) Error() string { return e.Text }

// Is recognises the errors of kinds.
func (e *RemoteError) Is(target error) bool {
	return slices.ContainsFunc(kinds, func(k kind) bool { return k.err == target && k.name == e.kind })
}

func readProblem(answer io.Reader, status string) error {
	body, err := io.ReadAll(io.LimitReader(answer, 1<<20))
	if err != nil {
		return fmt.Errorf("read the daemon's answer: %w", err)
	}
	var p problem
	if json.Unmarshal(body, &p) != nil || p.Error == "" {
		return fmt.Errorf("the daemon answered %s: is it of another version?", status)
	}
	return &RemoteError{Text: p.Error, kind: p.Kind}
}

// Tasks returns the tasks that wait and those that were started recently.
func (c *Client) Tasks(ctx context.Context) ([]view.Task, error) {
	return call[[]view.Task](ctx, c, http.MethodGet, "/v1/queue", nil)
}

// Enqueue adds a task.
func (c *Client) Enqueue(ctx context.Context, order view.TaskOrder) (view.Task, error) {
	return c.orderTask(ctx, "add", "", &order)
}

// Edit replaces a task.
func (c *Client) Edit(ctx context.Context, task string, order view.TaskOrder) (view.Task, error) {
	return c.orderTask(ctx, "edit", task, &order)
}

// Drop removes a task.
func (c *Client) Drop(ctx context.Context, task string) (view.Task, error) {
	return c.orderTask(ctx, "drop", task, nil)
}

// Move moves a task to the position of another one, or to First or Last.
func (c *Client) Move(ctx context.Context, task, to string) ([]view.Task, error) {
	return call[[]view.Task](ctx, c, http.MethodPost, "/v1/queue/move", url.Values{"task": {task}, "to": {to}})
}

func (c *Client) orderTask(ctx context.Context, what, task string, order *view.TaskOrder) (view.Task, error) {
	query := url.Values{"task": {task}}
	if order != nil {
		if err := resume.CheckPrompt(order.Prompt); err != nil {
			return view.Task{}, err // a much longer one does not fit into a request
		}
		text, err := json.Marshal(order)
		if err != nil {
			return view.Task{}, err
		}
		query.Set("order", string(text))
	}
	return call[view.Task](ctx, c, http.MethodPost, "/v1/queue/"+what, query)
}

// History returns the steps since a time, oldest first, of all sessions or of the one with that
// name. It ends at the first error.
func (c *Client) History(ctx context.Context, name string, since time.Time) (iter.Seq2[Step, error], error) {
	query := url.Values{"name": {name}}
	if !since.IsZero() {
		query.Set("since", since.Format(time.RFC3339Nano))
	}
	body, err := c.open(ctx, http.MethodGet, "/v1/history", query)
	if err != nil {
		return nil, err
	}
	return func(yield func(Step, error) bool) {
		defer body.Close()
		for decoder := json.NewDecoder(body); ; {
			var step Step
			err := decoder.Decode(&step)
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				err = fmt.Errorf("read the daemon's answer: %w", err)
			}
			if !yield(step, err) || err != nil {
				return
			}
		}
	}, nil
}

// SendHookEvent sends what a hook was called with.
func (c *Client) SendHookEvent(ctx context.Context, n HookEvent) error {
	return c.order(ctx, "/v1/nudge", url.Values{"agent": {n.Agent}, "session": {n.Session}, "transcript": {n.Transcript}, "asks": {n.Asks}, "answered": {strconv.FormatBool(n.Answered)}})
}

// Fleet returns a page of the state of all hosts.
func (c *Client) Fleet(ctx context.Context, after string, most int) (Fleet, error) {
	return call[Fleet](ctx, c, http.MethodGet, "/v1/fleet", url.Values{"after": {after}, "most": {strconv.Itoa(most)}})
}

// ForgetAccount makes an account count as free for all hosts.
func (c *Client) ForgetAccount(ctx context.Context, account string) error {
	return c.order(ctx, "/v1/fleet/forget", url.Values{"account": {account}})
}

// ErrNoRoom says that there was no room in time.
var ErrNoRoom = errors.New("there is still no room")

// lookAgain is the longest time between two looks at the accounts.
const lookAgain = 10 * time.Second

// QuotaCondition is what a script waits for: no limit stops the account, and less than Below percent of each window
// is used.
type QuotaCondition struct {
	Account string // empty: every account
	Below   float64
}

// Means reports whether it is about an account.
func (r QuotaCondition) Means(a Account) bool {
	return r.Account == "" || r.Account == a.String() || r.Account == a.Name
}

// Await returns when there is room; ErrNoRoom: not in time. A timeout of 0 is none.
func (c *Client) Await(ctx context.Context, room QuotaCondition, timeout time.Duration) error {
	late := make(<-chan time.Time)
	if timeout > 0 {
		late = time.After(timeout)
	}
	for {
		status, err := c.Status(ctx, false)
		if err == nil {
			err = room.Check(status)
		}
		next := room.full(status)
		if err != nil || next.IsZero() {
			return err
		}
		select {
		case <-time.After(min(lookAgain, max(time.Until(next), time.Second/5))):
		case <-late:
			return ErrNoRoom
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Check returns an error if no account has the name.
func (r QuotaCondition) Check(status Status) error {
	if r.Account == "" || slices.ContainsFunc(status.Accounts, r.Means) {
		return nil
	}
	return fmt.Errorf("no account is called %q: `resumed status` lists them", r.Account)
}

// full returns when to look again; zero: there is room.
func (r QuotaCondition) full(status Status) (next time.Time) {
	for _, a := range status.Accounts {
		if !r.Means(a) {
			continue
		}
		if a.State != "closed" {
			next = status.Now.Add(lookAgain)
		}
		for _, window := range a.Windows {
			if window.Used >= r.Below && window.ResetsAt.After(status.Now) {
				next = window.ResetsAt
			}
		}
	}
	return next
}
