package deliver

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/resume"
	"resumed/internal/runner"
)

// starter is a fakeAgent that can begin sessions, in the way of its plan.
type starter struct {
	*fakeAgent
	err error
}

func (s *starter) Starts() bool                             { return true }
func (s *starter) Start(resume.Session) (agent.Plan, error) { return s.plan, s.err }
func (s *starter) Home() string                             { return "home" }

// teller is a starter whose sessions choose their own ids, and print them.
type teller struct{ *starter }

func (teller) ParseSessionID(printed string) string {
	_, id, _ := strings.Cut(printed, "session ")
	id, _, _ = strings.Cut(id, "\n")
	return id
}

// taskWorld is a task that is due, and the session that its command begins.
type taskWorld struct {
	*world
	starter *starter
	unread  error // why the transcripts are not read
	dueAt   time.Time
	asked   count
	looks   []time.Duration // when the engine was asked for the task, since it was due

	mu    sync.Mutex      // guards what follows
	begun *resume.Session // nil: its transcript was not read yet
}

func newTaskWorld(t *testing.T) *taskWorld {
	w := new(taskWorld)
	w.world = newWorld(t, func(o *Options) { o.Engine, o.Transcripts = w, w })
	w.starter = &starter{fakeAgent: w.agent}
	w.settings.Agent = func(string) agent.Agent { return teller{w.starter} }
	task := resume.Session{Key: resume.Key{Agent: "fake", ID: "t-1"}, Cwd: w.session.Cwd, Task: &resume.Task{N: 1, Prompt: "do it"}}
	w.session = task.Next(resume.Enqueued{}, rules, time.Now(), 0.5).Next(resume.Due{Mark: w.mark}, rules, time.Now(), 0.5)
	require.Equal(t, resume.Resuming, w.session.State)
	w.dueAt = time.Now()
	w.d.tracker.agentsSeen.Store("fake", true)
	return w
}

// found makes the session known that the command has begun.
func (w *taskWorld) found() resume.Key {
	w.mu.Lock()
	defer w.mu.Unlock()
	transcript := filepath.Join(w.agent.root, "s-2.log")
	w.begun = &resume.Session{Key: resume.Key{Agent: "fake", ID: "s-2"}, Cwd: w.now().Cwd, Transcript: transcript, State: resume.Watching}
	return w.begun.Key
}

func (w *taskWorld) Session(_ context.Context, key resume.Key) (resume.Session, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.now()
	switch {
	case key == now.Key:
		w.asked.add()
		w.looks = append(w.looks, time.Since(w.dueAt))
		return now, nil
	case w.begun != nil && key == w.begun.Key:
		return *w.begun, nil
	default:
		return resume.Session{}, resume.ErrNoSession
	}
}

func (w *taskWorld) Apply(ctx context.Context, key resume.Key, ev resume.Event) (resume.Session, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.begun != nil && key == w.begun.Key {
		w.diary.add(key.ID + " was " + describe(ev))
		*w.begun = w.begun.Next(ev, rules, time.Now(), 0.5)
		return *w.begun, nil
	}
	return w.world.Apply(ctx, key, ev)
}

func (w *taskWorld) Await(context.Context, string) error { return w.unread }

// prints writes what the command of the task has printed, and returns the file.
func (w *taskWorld) prints(text string) string {
	path := filepath.Join(w.t.TempDir(), "output")
	require.NoError(w.t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestWhatHoldsATaskBack(t *testing.T) {
	for name, c := range map[string]struct {
		given func(*taskWorld)
		want  []string
	}{
		"the account's limits were not known when it was due": {
			func(w *taskWorld) { w.d.tracker.agentsSeen.Clear() }, []string{"resume.Recalled"},
		},
		"the daemon stops":                {func(w *taskWorld) { w.stopping = true }, []string{}},
		"the daemon stops while it reads": {func(w *taskWorld) { w.unread = context.Canceled }, []string{}},
		"it was cancelled meanwhile":      {func(w *taskWorld) { w.session.Run = &resume.Run{Mark: "mark-2"} }, []string{}},
		"the agent cannot start one now":  {func(w *taskWorld) { w.starter.err = errors.New("no program") }, []string{"not sent: no program"}},
		"the agent cannot start any": {
			func(w *taskWorld) { w.settings.Agent = func(string) agent.Agent { return w.agent } },
			[]string{"parked: resumed cannot start a session of fake"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTaskWorld(t)
			w.run("touch touched")
			task := w.now()
			c.given(w)
			w.d.Act(t.Context(), task)
			w.diary.lines = append([]string{}, w.diary.lines[1:]...) // the claim is on disk
			require.Equal(t, c.want, w.diary.all())
			require.NoFileExists(t, filepath.Join(task.Cwd, "touched"))
		})
	}
}

// printing is a machine whose command prints that it has begun s-2, and ends when the test says so.
type printing struct {
	here
	over <-chan struct{}
}

func (p printing) Start(cmd runner.Command) (Process, error) {
	return longRun{p.over}, os.WriteFile(cmd.Output, []byte("session s-2\n"), 0o600)
}

// longRun is its command.
type longRun struct{ over <-chan struct{} }

func (c longRun) Stop(context.Context) error { return nil }
func (c longRun) Identity() resume.Process   { return resume.Process{PID: 43, Start: 7} }
func (c longRun) Began() time.Time           { return time.Now() }
func (c longRun) Bind(runner.Command)        {}

func (c longRun) Wait(context.Context) runner.Result {
	select {
	case <-c.over:
		return runner.Result{}
	case <-time.After(time.Hour):
		return runner.Result{Err: errors.New("it takes too long")}
	}
}

// The session that a task has begun was started with what the task's command was started with.
func TestATaskBecomesTheSessionThatItsCommandNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTaskWorld(t)
		key, over := w.found(), make(chan struct{})
		w.agent.plan.Run.Begins = []string{"--flag"}
		w.d.machine = printing{over: over}
		w.diary.told = func(line string) {
			if strings.HasPrefix(line, "s-2 was") {
				close(over)
			}
		}
		require.Equal(t, []string{"sending", "started", "identified as ", "s-2 was identified as ", "became s-2", "delivered"}, w.act())
		require.Equal(t, "s-2", w.now().Task.Session)
		begun, err := w.Session(t.Context(), key)
		require.NoError(t, err)
		require.Equal(t, 43, begun.Origin.Process.PID)
		require.Equal(t, w.session.Cwd, begun.Origin.Cwd)
		require.Equal(t, []string{"--flag"}, begun.Origin.Args)
		require.Equal(t, w.dueAt.Round(0), begun.Origin.BeganAt)
		require.Equal(t, w.dueAt.Round(0), begun.Origin.SeenAt)
		require.Equal(t, w.now().Origin, begun.Origin)
		require.True(t, begun.Origin.Seen(), "a resume has its flags and its variables")
		require.Equal(t, resume.Headless, begun.Kind)
	})
}

// busy is an engine that is slow to store, once, which session a task became. The command ends meanwhile.
type busy struct {
	*taskWorld
	ends func() time.Duration // how long it takes
}

func (b busy) Apply(ctx context.Context, key resume.Key, ev resume.Event) (resume.Session, error) {
	if _, ok := ev.(resume.Became); ok {
		time.Sleep(b.ends())
	}
	return b.taskWorld.Apply(ctx, key, ev)
}

func TestTheEndOfATaskComesAfterWhatWasFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTaskWorld(t)
		w.found()
		over, takes := make(chan struct{}), time.Second
		w.d.machine = printing{over: over}
		w.d.opts.Engine = busy{w, func() time.Duration {
			defer func() { takes = 0 }()
			if takes > 0 {
				close(over)
			}
			return takes
		}}
		w.act()
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, "delivered", last(w.diary.all()))
	})
}

// A command says soon which session it has begun: its output is read less and less often.
func TestTheSessionOfATaskIsLookedForLessAndLessOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTaskWorld(t)
		time.AfterFunc(12*time.Second, func() { w.found() })
		w.d.findTaskSession(t.Context(), w.now(), w.prints("session s-2\n"))
		const ms = time.Millisecond
		require.Equal(t, []time.Duration{0, 100 * ms, 300 * ms, 700 * ms, 1500 * ms, 3100 * ms, 6300 * ms, 11300 * ms, 16300 * ms}, w.looks)
		require.Equal(t, []string{"became s-2"}, w.diary.all())
	})
}

// The search for the session of a task ends when it is known, or cannot be found.
func TestHowTheSearchForTheSessionOfATaskEnds(t *testing.T) {
	for name, c := range map[string]struct {
		given func(*taskWorld)
		says  string
		over  bool
		want  []string
	}{
		"it is known":                {func(w *taskWorld) { w.found() }, "session s-2\n", true, []string{"became s-2"}},
		"nothing is printed yet":     {func(w *taskWorld) { w.found() }, "", false, nil},
		"what is printed is no id":   {func(w *taskWorld) { w.found() }, "session --all\n", false, nil},
		"its transcript is not read": {func(*taskWorld) {}, "session s-2\n", false, nil},
		"the agent never says it": {
			func(w *taskWorld) { w.found(); w.settings.Agent = func(string) agent.Agent { return w.starter } }, "session s-2\n", true, nil,
		},
		"the task was begun already": {
			func(w *taskWorld) { w.found(); w.session.Task.BegunAt = time.Now() }, "session s-2\n", true, nil,
		},
		"the task was dropped": {
			func(w *taskWorld) { w.found(); w.session.Key.ID = "t-2" }, "session s-2\n", true, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTaskWorld(t)
			task := w.now()
			c.given(w)
			require.Equal(t, c.over, w.d.noteTaskSession(t.Context(), task, w.prints(c.says)))
			require.Equal(t, c.want, w.diary.all())
		})
	}
}

// After the end of a command, its session is waited for only if the command has named it.
func TestASessionThatWasNamedIsWaitedForAfterTheEnd(t *testing.T) {
	for says, want := range map[string]time.Duration{"session s-2\n": 3100 * time.Millisecond, "no idea\n": 0, "session s-3\n": lateTranscript} {
		synctest.Test(t, func(t *testing.T) {
			w := newTaskWorld(t)
			time.AfterFunc(2*time.Second, func() { w.found() })
			began := time.Now()
			w.d.findTaskSessionLate(t.Context(), w.now(), w.prints(says))
			require.Equal(t, want, time.Since(began), says)
			time.Sleep(time.Hour)
		})
	}
}

// A task whose session is known ends as that session does; without one, only its command tells.
func TestATaskEndsAsItsSession(t *testing.T) {
	w := newTaskWorld(t)
	w.agent.denied = "Bash"
	w.run("echo session s-2")
	w.found()
	require.Contains(t, last(w.act()), "denied: ")
	require.Equal(t, 2, w.agent.tidied, "before the run, and after it")

	w = newTaskWorld(t)
	w.agent.denied = "Bash"
	require.Equal(t, "delivered", last(w.act()))
	require.Equal(t, 1, w.agent.tidied)
}

// sessionOfTask says which session's files show that a task works.
func TestTheFilesOfATaskAreThoseOfItsSession(t *testing.T) {
	for name, c := range map[string]struct {
		given func(*taskWorld)
		want  string // the transcript
	}{
		"its session is not known yet":   {func(w *taskWorld) { w.found() }, ""},
		"its session has another id":     {func(w *taskWorld) { w.found(); w.session.Task.Session = "s-2" }, "s-2.log"},
		"that session is not there":      {func(w *taskWorld) { w.session.Task.Session = "s-2" }, ""},
		"its session has the task's id":  {func(w *taskWorld) { w.session.Task.Session, w.session.Transcript = "t-1", "/own/t-1.log" }, "t-1.log"},
		"it is no task any longer":       {func(w *taskWorld) { w.session.Task, w.session.Transcript = nil, "/own/t-1.log" }, ""},
		"nobody knows the task any more": {func(w *taskWorld) { w.session.Key.ID, w.session.Transcript = "t-2", "/own/t-2.log" }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTaskWorld(t)
			task := w.now()
			task.Task = new(*task.Task)
			c.given(w)
			now := w.d.sessionOfTask(task)
			require.Equal(t, c.want, strings.TrimPrefix(filepath.Base(now.Transcript), "."))
			require.Equal(t, task.Run, now.Run, "the run is the task's")
			signs := w.d.signsOfLife(task)()
			if c.want == "" {
				require.Empty(t, signs)
				return
			}
			require.Equal(t, []string{now.Transcript, now.Transcript + "-wal"}, signs)
		})
	}
}
