package midturn

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/resume"
)

var key = resume.Key{Agent: "bot", ID: "s"}

// world is an agent with one session, and the engine.
type world struct {
	agent.Agent
	mu        sync.Mutex
	session   resume.Session
	lives     bool
	open      bool
	at        time.Time // of the last record
	end       resume.End
	owner     *resume.Owner
	files     []string
	tool      string        // that has no result
	during    func()        // called while the transcript is read
	ownerNo   error         // why it is not known who has it open
	unread    error         // why the transcript cannot be read
	elsewhere bool          // another program takes care of it
	aliveAt   time.Time     // when a daemon last ran
	read      chan struct{} // closed when all transcripts were read
	as        agent.Agent   // an agent that can do more; nil: world itself
	reads     int           // of the transcript
	looks     int           // at the process
	applied   []resume.Event
}

func (w *world) Session(context.Context, resume.Key) (resume.Session, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.session, nil
}

func (w *world) Apply(_ context.Context, _ resume.Key, ev resume.Event) (resume.Session, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.applied = append(w.applied, ev)
	return w.session, nil
}

func (w *world) Lives(resume.Process) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.looks++
	return w.lives
}

func (w *world) Owner(context.Context, resume.Session) (*resume.Owner, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.owner, w.ownerNo
}

func (w *world) OpenTurn(context.Context, resume.Session) (time.Time, bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reads++
	at, open := w.at, w.open
	if w.during != nil {
		w.during()
	}
	return at, open, w.unread
}

func (w *world) Records(resume.Session) []string { return w.files }

func (w *world) OpenTool(context.Context, resume.Session) string { return w.tool }

func (w *world) Ended(resume.Session) resume.End { return w.end }

// newWorld is a session in the middle of a turn that this test's process holds.
func newWorld() *world {
	now := time.Now().Round(0)
	read := make(chan struct{})
	close(read)
	w := &world{lives: true, open: true, at: now, aliveAt: now, read: read, end: resume.Killed, session: resume.Session{
		Key: key, State: resume.Watching, PromptedAt: now, MovedAt: now, Kind: resume.Headless,
		Origin: &resume.Origin{Process: resume.Process{PID: os.Getpid()}, SeenAt: now, Boot: boot()},
	}}
	w.as = w
	return w
}

// watch starts a Watcher in a bubble of fake time. The session is one of an earlier daemon.
func (w *world) watch(t *testing.T, silent time.Duration) *Watcher {
	watcher := New(Options{
		Engine: w, Agent: func(string) agent.Agent { return w.as }, Elsewhere: func(resume.Key) bool { return w.elsewhere },
		Rules:   func() resume.Rules { return resume.Rules{Lookback: time.Hour, Silent: silent} },
		AliveAt: w.aliveAt, Read: w.read, Log: slog.New(slog.DiscardHandler),
	}, []resume.Session{w.session})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = watcher.Run(ctx) }()
	t.Cleanup(func() { w.mu.Unlock(); stop(); <-done })
	synctest.Wait()
	w.mu.Lock()
	return watcher
}

// after lets time pass. Between two calls the test alone uses the world.
func (w *world) after(d time.Duration) {
	w.mu.Unlock()
	time.Sleep(d)
	synctest.Wait()
	w.mu.Lock()
}

func inBubble(t *testing.T, f func(t *testing.T)) { synctest.Test(t, f) }

func TestTheEndOfAProcessIsFoundWithinOneLook(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newWorld()
		w.watch(t, 0)
		w.after(time.Hour)
		require.Empty(t, w.applied)
		require.Equal(t, 1, w.reads, "the transcript is read once, as long as it does not move")
		w.lives = false
		w.after(lookEvery)
		require.Equal(t, []resume.Event{resume.Died{Process: w.session.Origin.Process, At: w.at, How: resume.Killed}}, w.applied)
		looks := w.looks
		w.after(time.Hour)
		require.Len(t, w.applied, 1)
		require.Equal(t, looks, w.looks, "it is over")
	})
}

func TestASessionThatWaitsForItsUserIsNotLookedAt(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newWorld()
		w.open = false
		watcher := w.watch(t, time.Minute)
		require.Equal(t, 1, w.looks)
		w.after(time.Hour)
		require.Equal(t, 1, w.looks)

		before := w.session
		w.session.PromptedAt, w.open = time.Now().Round(0), true
		w.session.Origin.SeenAt = w.session.PromptedAt
		watcher.Changed(resume.Change{Before: before, After: w.session})
		w.after(lookEvery)
		require.Equal(t, 2, w.looks, "until it has a new prompt")
	})
}

func TestWhatIsNotProvenIsNotSaid(t *testing.T) {
	for rule, change := range map[string]func(*world){
		"its turn is over":                                    func(w *world) { w.open = false },
		"another process has it open":                         func(w *world) { w.owner = &resume.Owner{PID: 8} },
		"it is not known whether another process has it open": func(w *world) { w.ownerNo = agent.ErrUnseen },
		"another program takes care of it":                    func(w *world) { w.elsewhere = true },
		"its transcript cannot be read":                       func(w *world) { w.open, w.unread = false, os.ErrPermission },
		"its transcript is not read to its end":               func(w *world) { w.unread = os.ErrPermission },
		"the other transcripts are not read yet":              func(w *world) { w.read = nil },
		"its process is not known":                            func(w *world) { w.session.Origin = nil },
		"its process is older than its last prompt":           func(w *world) { w.session.Origin.SeenAt = w.at.Add(-time.Minute) },
		"its end was judged before":                           func(w *world) { w.session.Origin.GoneAt = w.at },
		"its pid is one of another place":                     func(w *world) { w.session.Origin.Sandbox = "another pid namespace" },
		"its last turn was a resume":                          func(w *world) { w.session.Past = []resume.Attempt{{StartedAt: w.at.Add(time.Second)}} },
		"a resume runs":                                       func(w *world) { w.session.Run = &resume.Run{Mark: "m"} },
		"it was stopped":                                      func(w *world) { w.session.State = resume.Waiting },
		"it was cut off long before the last daemon":          func(w *world) { w.at = w.at.Add(-2 * time.Hour) },
	} {
		t.Run(rule, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				w := newWorld()
				w.lives = false
				change(w)
				w.watch(t, 0)
				w.after(time.Hour)
				require.Empty(t, w.applied)
			})
		})
	}
}

func TestARestartOfTheMachineEndsEveryProcess(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newWorld() // the pid may be another's by now
		w.session.Origin.Boot = "another"
		w.end = resume.Vanished
		w.watch(t, 0)
		require.Len(t, w.applied, 1)
		died := w.applied[0].(resume.Died)
		require.Equal(t, resume.Restarted, died.How)
		require.False(t, died.BootedAt.IsZero())
	})
}

func TestSilenceIsMeasuredWhenItsTimeIsOver(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newWorld()
		w.watch(t, 2*time.Hour) // this test uses less than twelve minutes of the processor
		w.after(2*time.Hour - time.Second)
		require.Empty(t, w.applied)
		w.after(2 * time.Second)
		require.Equal(t, []resume.Event{resume.Silent{Owner: resume.Owner{PID: os.Getpid(), Kind: resume.Headless}}}, w.applied)
		w.after(5 * time.Hour)
		require.Len(t, w.applied, 1, "told once")
	})
}

func TestASessionWithASubagentThatWritesIsNotSilent(t *testing.T) {
	file := filepath.Join(t.TempDir(), "agent.jsonl")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	inBubble(t, func(t *testing.T) {
		w := newWorld()
		w.files = []string{"gone", file}
		w.watch(t, 2*time.Hour)
		require.NoError(t, os.Chtimes(file, time.Time{}, time.Now().Add(time.Hour)))
		w.after(3 * time.Hour)
		require.Empty(t, w.applied)
		w.after(2 * time.Hour)
		require.Len(t, w.applied, 1, "it stopped writing")
	})
}
