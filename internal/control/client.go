package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"syscall"

	"resumed/internal/resume"
)

// Client is the command line's end of the socket.
type Client struct{ http http.Client }

// NewClient returns a client of the daemon whose socket is in dir. It connects
// at the first call.
func NewClient(dir string) *Client {
	return &Client{http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx, dir) },
	}}}
}

// Answers reports whether a daemon listens on the socket in dir.
func Answers(dir string) bool {
	conn, err := dial(context.Background(), dir)
	if err != nil {
		return false
	}
	_ = conn.Close() // nothing was asked
	return true
}

func dial(ctx context.Context, dir string) (net.Conn, error) {
	path, release, err := socketPath(dir)
	if err != nil {
		return nil, err
	}
	defer release()
	var dialer net.Dialer
	return dialer.DialContext(ctx, "unix", path)
}

// Status returns all that the daemon knows.
func (c *Client) Status(ctx context.Context, all bool) (Status, error) {
	query := url.Values{}
	if all {
		query.Set("all", "1")
	}
	var status Status
	err := c.call(ctx, http.MethodGet, "/v1/status", query, &status)
	return status, err
}

// Watch calls see with all that the daemon knows and then with what changes,
// until ctx is done, the daemon is gone, or see returns an error.
func (c *Client) Watch(ctx context.Context, all bool, see func(Update) error) error {
	query := url.Values{}
	if all {
		query.Set("all", "1")
	}
	body, err := c.open(ctx, http.MethodGet, "/v1/events", query)
	if err != nil {
		return err
	}
	defer body.Close()
	for lines := json.NewDecoder(body); ; {
		var update Update
		if err := lines.Decode(&update); err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return fmt.Errorf("%w: it ended while it was watched (%v)", ErrNoDaemon, err)
		}
		if err := see(update); err != nil {
			return err
		}
	}
}

// Do carries out an order on the session of that name.
func (c *Client) Do(ctx context.Context, name string, order Order) (resume.View, error) {
	var after resume.View
	err := c.call(ctx, http.MethodPost, "/v1/session/"+string(order), url.Values{"name": {name}}, &after)
	return after, err
}

// SetPaused pauses the daemon, or ends that.
func (c *Client) SetPaused(ctx context.Context, paused bool) error {
	path := "/v1/unpause"
	if paused {
		path = "/v1/pause"
	}
	return c.call(ctx, http.MethodPost, path, nil, nil)
}

// PageURL returns where a browser finds the page, with the token that lets it
// in. With once it lets in one browser, now.
func (c *Client) PageURL(ctx context.Context, once bool) (string, error) {
	method := http.MethodGet
	if once {
		method = http.MethodPost
	}
	var found page
	err := c.call(ctx, method, "/v1/page", nil, &found)
	return found.URL, err
}

func (c *Client) call(ctx context.Context, method, path string, query url.Values, into any) error {
	body, err := c.open(ctx, method, path, query)
	if err != nil {
		return err
	}
	defer body.Close()
	if into == nil {
		return nil
	}
	if err := json.NewDecoder(body).Decode(into); err != nil {
		return fmt.Errorf("read the daemon's answer: %w", err)
	}
	return nil
}

// open asks the daemon and returns its answer, to be read and closed.
func (c *Client) open(ctx context.Context, method, path string, query url.Values) (io.ReadCloser, error) {
	target := url.URL{Scheme: "http", Host: "resumed", Path: path, RawQuery: query.Encode()}
	request, err := http.NewRequestWithContext(ctx, method, target.String(), http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("ask the daemon: %w", err)
	}
	response, err := c.http.Do(request)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
			return nil, ErrNoDaemon
		}
		return nil, fmt.Errorf("ask the daemon: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		defer response.Body.Close()
		return nil, readProblem(response)
	}
	return response.Body, nil
}

// RemoteError is the daemon's own word on what went wrong.
type RemoteError struct {
	Text string
	kind string
}

func (e *RemoteError) Error() string { return e.Text }

// Is tells a session that nobody knows from other troubles.
func (e *RemoteError) Is(target error) bool {
	return target == ErrNoSession && e.kind == kindNoSession
}

func readProblem(response *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return fmt.Errorf("read the daemon's answer: %w", err)
	}
	var p problem
	if json.Unmarshal(body, &p) != nil || p.Error == "" {
		return fmt.Errorf("the daemon answered %s: is it of another version?", response.Status)
	}
	return &RemoteError{Text: p.Error, kind: p.Kind}
}
