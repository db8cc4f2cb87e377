package notify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"text/template"
	"time"

	"resumed/internal/lazy"
	"resumed/internal/limit"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
	"resumed/internal/sanitize"
)

// Common is the configuration that all channels have.
type Common struct {
	Name   string
	To     string // its destination, without secrets
	Events []Event
	Title  string // template; empty: built in
	Text   string // template; empty: built in
	Agents Titles // for templates that name an agent
	Lines  int    // the built-in text is cut to this many lines; 0: not cut

	Timeout time.Duration // of one try; 0: 10 seconds
}

// maxTimeout bounds one try, whatever the channel's own timeout is.
const maxTimeout = 2 * time.Minute

// OptionError is an option of a channel that cannot be used.
type OptionError struct {
	Channel string
	Option  string // title, text, url, secret or run
	Err     error
}

func (e *OptionError) Error() string {
	return fmt.Sprintf("channel %q: %s: %v", e.Channel, e.Option, e.Err)
}

func (e *OptionError) Unwrap() error { return e.Err }

// Wrong returns an OptionError.
func (c Common) Wrong(option, format string, args ...any) error {
	return &OptionError{c.Name, option, fmt.Errorf(format, args...)}
}

// Sender sends notices in one way. It may also be a Listener, and have the method Close() error, which is
// called when the channel is no longer used.
type Sender interface {
	// Send sends a notice, and returns the answer of the other side, if there is one. The error is nil
	// once the other side has accepted the notice. Any error means "try again later", unless it is a
	// SendError. Errors and answers are shown and logged: they must not contain secrets.
	//
	// It must return soon after ctx is done. Deliveries are sent one at a time, but a test notice may
	// be sent at the same time.
	Send(context.Context, Notice) (answer string, err error)
}

// Channel is one configured way to reach people.
type Channel struct {
	Common
	sender      Sender
	title, text *template.Template // nil: built in
}

// NewChannel checks the common configuration.
func NewChannel(c Common, s Sender) (*Channel, error) {
	title, titleErr := parseWording(c.Title, c.Agents)
	if titleErr != nil {
		titleErr = c.Wrong("title", "%w", titleErr)
	}
	text, textErr := parseWording(c.Text, c.Agents)
	if textErr != nil {
		textErr = c.Wrong("text", "%w", textErr)
	}
	c.Timeout = min(cmp.Or(c.Timeout, 10*time.Second), maxTimeout)
	return &Channel{c, s, title, text}, errors.Join(titleErr, textErr)
}

// Result is the result of one try to send a notice.
type Result struct {
	Channel string        // its name
	To      string        // its destination, without secrets
	Sent    string        // the title that was sent
	Answer  string        // the answer; empty if the channel has none
	Took    time.Duration // until the answer
	Err     error         // nil: it was accepted
}

// Try sends a test notice with all channels at once, or with the one of that name, without the outbox,
// and waits for the answers. It is an error if there is no channel of that name.
func Try(ctx context.Context, channels []*Channel, name, host string) ([]Result, error) {
	chosen := slices.DeleteFunc(slices.Clone(channels), func(ch *Channel) bool { return name != "" && ch.Name != name })
	if name != "" && len(chosen) == 0 {
		return nil, fmt.Errorf("no channel is named %q", name)
	}
	notice := compose(newGroup(Test, time.Now()), host, nil)
	results := make([]Result, len(chosen))
	var all sync.WaitGroup
	for i, ch := range chosen {
		all.Go(func() { results[i] = ch.Send(ctx, notice) })
	}
	all.Wait()
	return results, nil
}

// Send makes one try to send a notice, without the outbox.
func (c *Channel) Send(ctx context.Context, n Notice) Result {
	ctx, cancel := context.WithTimeoutCause(ctx, c.Timeout, fmt.Errorf("no answer within %s", c.Timeout))
	defer cancel()
	n = c.word(n)
	began := time.Now()
	answer, err := c.sender.Send(ctx, n)
	return Result{Channel: c.Name, To: c.To, Sent: n.Title, Answer: answer, Took: time.Since(began), Err: err}
}

// Close ends what the channel has open.
func (c *Channel) Close() error {
	if open, ok := c.sender.(io.Closer); ok {
		return open.Close()
	}
	return nil
}

// word applies the channel's own templates to a notice. If a template fails on this notice, the
// built-in words are used: the notice must not be lost.
func (c *Channel) word(n Notice) Notice {
	own := n
	if title := say(c.title, n); title != "" {
		own.Title = strings.Join(strings.Fields(title), " ")
	}
	if text := say(c.text, n); text != "" {
		own.Text = text
	} else if c.Lines > 0 {
		own.Text = brief(n.Text, c.Lines)
	}
	return own
}

// parseWording parses a user's template of a title or a text, and tries it on a notice of every kind, so
// that a wrong name is found at once. An empty text gives nil, which means the built-in words.
//
// A template gets a Notice with the names of its Go fields, and three functions: project returns the
// directory name of a session, agent the full name of an agent, and local the clock time of a time, or
// nothing if there is none.
func parseWording(text string, agents Titles) (*template.Template, error) {
	if text == "" {
		return nil, nil
	}
	funcs := template.FuncMap{"project": project, "agent": agents.of, "local": localTime}
	parsed, err := template.New("words").Funcs(funcs).Option("missingkey=error").Parse(text)
	if err != nil {
		return nil, errors.New(mistake(err))
	}
	for _, sample := range sampleNotices() {
		if err := parsed.Execute(io.Discard, sample); err != nil {
			return nil, fmt.Errorf("%s (on a %s notice)", mistake(err), sample.Event)
		}
	}
	return parsed, nil
}

var (
	noField    = lazy.Regexp(`can't evaluate field (\w+) in type (\S+)`)
	noFunction = lazy.Regexp(`function "(\w+)" not defined`)
)

// mistake returns what is wrong with a template, without the words of the library.
func mistake(err error) string {
	said := err.Error()
	if f := noFunction().FindStringSubmatch(said); f != nil {
		return fmt.Sprintf("there is no function %s: there are project, agent and local", f[1])
	}
	f := noField().FindStringSubmatch(said)
	if f == nil {
		return "must be a text/template: " + strings.TrimPrefix(said, "template: words:")
	}
	const ofNotice = ".Event .Host .Title .Text .Account .RetryCommand .Sessions"
	const ofSession = ".ID .Agent .Cwd .Class .Reason .Attempt .NextAt"
	switch {
	case strings.HasSuffix(f[2], "notify.Notice"):
		return fmt.Sprintf("a notice has no .%s: it has %s", f[1], ofNotice)
	case strings.HasSuffix(f[2], "view.Session"):
		return fmt.Sprintf("a session has no .%s: it has %s", f[1], ofSession)
	default:
		return fmt.Sprintf("there is no .%s here", f[1])
	}
}

// maxWords bounds the output of a template.
const maxWords = 16 << 10

// say returns the output for a notice; empty if there is no template, or it fails or writes too much.
func say(words *template.Template, n Notice) string {
	var out strings.Builder
	if words == nil || words.Execute(&out, n) != nil || out.Len() > maxWords {
		return ""
	}
	return strings.TrimSpace(sanitize.Text(out.String()))
}

// sampleNotices returns one notice of each event, with and without sessions.
func sampleNotices() []Notice {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	full := view.Session{
		ID: "4f2a9c1e", Agent: "claude-code", Account: "claude-code:default", Cwd: "/src/api",
		State: resume.GaveUp, Class: limit.UsageLimit, Reason: "gave up", LimitedAt: &at, StoppedAt: &at,
		Attempt: 1, MaxRetries: 5,
		Attempts: []view.Attempt{{N: 1, StartedAt: &at, DelaySeconds: 30, Outcome: resume.LimitedOut}},
	}
	bare := view.Session{ID: "0198", Agent: "codex", State: resume.Waiting, Attempts: []view.Attempt{}}
	var samples []Notice
	for _, e := range Events() {
		g := newGroup(e, at)
		if e != ConfigError && e != StateError && e != Test {
			g.Account, g.Sessions = full.Account, []view.Session{full, bare}
		}
		samples = append(samples, compose(g, "host", nil))
	}
	return samples
}

func localTime(t any) (string, error) {
	switch t := t.(type) {
	case time.Time:
		return t.Local().Format("2 Jan 15:04:05"), nil
	case *time.Time:
		if t == nil {
			return "", nil
		}
		return localTime(*t)
	default:
		return "", fmt.Errorf("local wants a time, got %T", t)
	}
}
