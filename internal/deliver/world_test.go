package deliver

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/backoff"
	"resumed/internal/limit"
	"resumed/internal/lines"
	"resumed/internal/prompt"
	"resumed/internal/resume"
	"resumed/internal/runner"
	"resumed/internal/starts"
	"resumed/internal/terminal"
)

// world is one session of one agent that is due, a fake engine, and a diary of what is done.
type world struct {
	t        *testing.T
	d        *Deliverer
	agent    *fakeAgent
	settings Settings
	mark     string                      // of the first resume; commands of other tests must not have it
	look     func(context.Context) error // what a look at the transcript brings
	stopping bool
	diary    diary
	log      logbook

	screens   count
	questions int // of WatchPrograms alone: how often it asked for sessions

	mu      sync.Mutex // guards what follows
	session resume.Session
	events  []resume.Event // that were applied
	why     string         // why the session is superseded
	silent  error          // why that is not known
	unknown error          // why the session is not known
	refused error          // why no event is applied
}

// diary is what happened, in order: applied events, and other lines that a test adds.
type diary struct {
	told func(line string) // may be nil

	mu    sync.Mutex // guards what follows
	lines []string
}

// count is how often something was done. What is done again and again must end.
type count int

func (c *count) add() {
	if *c++; *c > 10_000 {
		panic("it is done without end")
	}
}

// logbook is what was logged.
type logbook struct {
	mu   sync.Mutex // guards what follows
	text strings.Builder
}

func (l *logbook) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

func (l *logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (d *diary) add(line string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, line)
	if d.told != nil {
		d.told(line)
	}
}

func (d *diary) all() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.lines)
}

var rules = resume.Rules{Backoff: backoff.Default(), Settle: time.Minute, MaxConcurrent: 1}

func newWorld(t *testing.T, change ...func(*Options)) *world {
	dir := t.TempDir()
	w := &world{t: t, mark: "mark-" + rand.Text(), look: func(context.Context) error { return nil }}
	w.agent = &fakeAgent{root: filepath.Join(dir, "agent")}
	cwd := filepath.Join(dir, "project")
	transcript := filepath.Join(w.agent.root, "s-1.log")
	require.NoError(t, os.MkdirAll(cwd, 0o700))
	require.NoError(t, os.MkdirAll(w.agent.root, 0o700))
	require.NoError(t, os.WriteFile(transcript, []byte("limit\n"), 0o600))
	w.settings = Settings{
		Prompts: prompt.Prompts{Usual: "continue"}, Live: Type, Timeout: time.Minute, SameMode: true,
		Agent: func(name string) agent.Agent { return map[string]agent.Agent{"fake": w.agent}[name] },
		Env:   func(string) ([]string, error) { return []string{"EXTRA=1"}, nil },
	}
	w.agent.plan = agent.Plan{Run: &agent.Command{Argv: []string{"true"}, Dir: cwd}}
	opts := Options{
		StateDir: filepath.Join(dir, "state"), LeaseDirs: []string{filepath.Join(dir, "leases")},
		Settings: func() Settings { return w.settings }, Engine: w, Transcripts: w,
		Sync:     func(context.Context, ...resume.Key) error { w.diary.add("on disk"); return nil },
		Stopping: func() bool { return w.stopping },
		Starts:   starts.In(filepath.Join(dir, "runtime")),
		Log:      slog.New(slog.NewTextHandler(&w.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for _, f := range change {
		f(&opts)
	}
	t.Cleanup(func() { require.NotContains(t, w.log.String(), "err=<nil>", "an error is logged that did not happen") })
	w.d = New(opts, nil)
	limited := resume.Limited{At: time.Now().Add(-time.Hour), Verdict: limit.Verdict{Class: limit.RateLimit, WaitHelps: true}}
	s := resume.Session{Key: resume.Key{Agent: "fake", ID: "s-1"}, Cwd: cwd, Transcript: transcript, Kind: resume.Interactive}
	s = s.Next(limited, rules, time.Now().Add(-time.Hour), 0.5)
	w.session = s.Next(resume.Due{Mark: w.mark}, rules, time.Now(), 0.5)
	require.Equal(t, resume.Resuming, w.session.State)
	return w
}

// act sends the resume that is due, and returns the diary without the lines about the disk.
func (w *world) act() []string {
	w.t.Helper()
	w.d.Act(w.t.Context(), w.now())
	return slices.DeleteFunc(w.diary.all(), func(line string) bool { return line == "on disk" })
}

// actAgain is act for the next resume, after one that was not sent.
func (w *world) actAgain() []string {
	w.t.Helper()
	w.mu.Lock()
	mark := fmt.Sprintf("%s-%d", w.mark, w.session.Runs+1)
	w.session = w.session.Next(resume.Retry{}, rules, time.Now(), 0.5).Next(resume.Due{Mark: mark}, rules, time.Now(), 0.5)
	w.mu.Unlock()
	return w.act()
}

func (w *world) now() resume.Session {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.session
}

func (w *world) transcript() string {
	data, err := os.ReadFile(w.session.Transcript)
	require.NoError(w.t, err)
	return string(data)
}

// Apply implements Engine.
func (w *world) Apply(_ context.Context, key resume.Key, ev resume.Event) (resume.Session, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if key != w.session.Key {
		return resume.Session{}, resume.ErrNoSession
	}
	if w.refused != nil {
		return resume.Session{}, w.refused
	}
	w.session = w.session.Next(ev, rules, time.Now(), 0.5)
	w.events = append(w.events, ev)
	w.diary.add(describe(ev))
	return w.session, nil
}

// lastEvent returns the last event of that type that was applied.
func lastEvent[E resume.Event](w *world) E {
	w.t.Helper()
	for _, ev := range slices.Backward(w.events) {
		if found, ok := ev.(E); ok {
			return found
		}
	}
	require.Fail(w.t, "no such event")
	panic("unreachable")
}

// Session implements Engine.
func (w *world) Session(context.Context, resume.Key) (resume.Session, error) {
	return w.now(), w.unknown
}

// Lookup implements Engine.
func (w *world) Lookup(_ context.Context, keys []resume.Key) ([]*resume.Session, error) {
	w.questions++
	all := make([]*resume.Session, len(keys))
	for i := range all {
		all[i] = new(w.now())
	}
	return all, nil
}

// Superseded implements Engine.
func (w *world) Superseded(context.Context, resume.Key) (string, error) { return w.why, w.silent }

// ReadNew implements Transcripts.
func (w *world) ReadNew(ctx context.Context, _ resume.Session) error { return w.look(ctx) }

// Await implements Transcripts.
func (w *world) Await(context.Context, string) error { w.diary.add("all was read"); return nil }

// describe returns the fields of an event that tests check.
func describe(ev resume.Event) string {
	switch ev := ev.(type) {
	case resume.NotSent:
		how := "not sent: "
		if ev.Then == resume.Park {
			how = "parked: "
		}
		return how + ev.Why
	case resume.Started:
		if ev.Unverifiable {
			return "may have been handed over"
		}
		return "started"
	case resume.Ended:
		if ev.Err != "" {
			return fmt.Sprintf("%s: %s", ev.Outcome, ev.Err)
		}
		return string(ev.Outcome)
	case resume.Sending:
		return "sending"
	case resume.Lost:
		return "lost"
	case resume.Became:
		return "became " + ev.Session
	case resume.Learned:
		if ev.Origin == nil {
			return "identified as "
		}
		return "identified as " + ev.Origin.Program.Path
	default:
		return fmt.Sprintf("%T", ev)
	}
}

// fakeAgent returns what the test sets. It implements every interface of an agent.
type fakeAgent struct {
	agent.Base
	root     string
	owner    *resume.Owner
	ownerErr error
	asked    []context.Context // in which its owner was asked for
	nobody   bool              // none of its processes lives
	weighed  int               // how often its files were read for the size of a context
	plan     agent.Plan        // how its sessions are continued
	talk     agent.Plan        // and through their owner
	planErr  error
	queued   bool
	denied   string
	program  resume.Program
	tidied   int
	killed   bool      // its processes were killed
	ran      agent.Ran // the last run that it was asked about
	promptAt time.Time // of its prompts; zero: now
}

func (a *fakeAgent) Name() string { return "fake" }

func (a *fakeAgent) Sources() []agent.Source {
	return []agent.Source{{Root: a.root, Match: func(string) bool { return true }}}
}

// Observe understands two lines.
func (a *fakeAgent) Observe(_ agent.Source, line lines.Line) (resume.Observation, bool) {
	seen := resume.Observation{Key: resume.Key{Agent: "fake", ID: "s-1"}}
	switch string(line.Data) {
	case "prompt":
		seen.Event = resume.Prompted{At: cmp.Or(a.promptAt, time.Now())}
	default:
		return seen, false
	}
	return seen, true
}

func (a *fakeAgent) Owner(ctx context.Context, _ resume.Session) (*resume.Owner, error) {
	a.asked = append(a.asked, ctx)
	return a.owner, a.ownerErr
}

func (a *fakeAgent) Killed(resume.Session, resume.Owner) bool { return a.killed }

func (a *fakeAgent) NoProcess(context.Context) bool { return a.nobody }

func (a *fakeAgent) ContextSize(context.Context, resume.Session) (resume.Context, bool, error) {
	a.weighed++
	return resume.Context{}, false, nil
}

func (a *fakeAgent) Plan(_ context.Context, _ resume.Session, prompt string) (agent.Plan, error) {
	if prompt != "continue" {
		return agent.Plan{}, fmt.Errorf("told %q", prompt)
	}
	return a.plan, a.planErr
}

func (a *fakeAgent) PlanLive(_ context.Context, _ resume.Session, _ resume.Owner, prompt string) (agent.Plan, error) {
	if prompt != "continue" {
		return agent.Plan{}, fmt.Errorf("told %q", prompt)
	}
	return a.talk, a.planErr
}

func (a *fakeAgent) HasPendingPrompt(context.Context, resume.Session) (bool, error) {
	return a.queued, nil
}

func (a *fakeAgent) Denied(_ context.Context, _ resume.Session, ran agent.Ran) (agent.Denial, bool, error) {
	a.ran = ran
	return agent.Denial{Tool: a.denied}, a.denied != "", nil
}

func (a *fakeAgent) Tidy(context.Context, resume.Session) error { a.tidied++; return nil }

// Origin returns the program that the test sets, of a process that shows nothing else.
func (a *fakeAgent) Origin(pid int, secrets bool) *resume.Origin {
	if a.program.Path == "" {
		return a.Base.Origin(pid, secrets)
	}
	return &resume.Origin{Process: resume.Process{PID: pid}, Program: a.program, SeenAt: time.Now()}
}

// noting is a machine, and a terminal, that only records its calls.
type noting struct {
	here
	w *world
}

var errNoted = errors.New("noted")

func (n noting) Start(runner.Command) (Process, error) {
	n.w.diary.add("starts")
	return nil, errNoted
}

func (n noting) Pane(context.Context, resume.Process) (Pane, error) { return n, nil }
func (n noting) String() string                                     { return "a pane" }
func (n noting) Press(context.Context, terminal.Key) error          { return errNoted }
func (n noting) Quiet(context.Context) error                        { return nil }
func (n noting) TakeBack(context.Context, string) error             { return errNoted }

func (n noting) Screen(context.Context) (string, error) {
	n.w.screens.add()
	return "", nil
}

func (n noting) Type(context.Context, string) error {
	n.w.diary.add("types")
	return errNoted
}
