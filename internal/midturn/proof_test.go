package midturn

import (
	"context"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/procfs"
	"resumed/internal/resume"
)

func TestTheEndOfAProcessIsSaidAlsoWhere(t *testing.T) {
	for rule, change := range map[string]func(*world){
		"no daemon ran for days since":                func(w *world) { w.age(72 * time.Hour); w.aliveAt = w.at },
		"the clock was ahead when a daemon last ran":  func(w *world) { w.aliveAt = w.at.Add(72 * time.Hour) },
		"it is not known when a daemon last ran":      func(w *world) { w.aliveAt = time.Time{} },
		"its last record is as old as a daemon looks": func(w *world) { w.age(time.Hour) },
	} {
		t.Run(rule, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				w := newWorld()
				w.lives = false
				change(w)
				w.watch(t, 0)
				require.Len(t, w.applied, 1)
			})
		})
	}
}

// age makes the last turn that much older.
func (w *world) age(by time.Duration) {
	w.at = w.at.Add(-by)
	w.session.PromptedAt, w.session.MovedAt, w.session.Origin.SeenAt = w.at, w.at, w.at
}

// A process that was seen alive in the turn needs no other proof.
func TestTheEndOfAProcessThatWasSeenAliveIsSaid(t *testing.T) {
	for rule, change := range map[string]func(*world){
		"in a sandbox":                 func(w *world) { w.session.Origin.Sandbox = "another pid namespace" },
		"that a resume has begun":      func(w *world) { w.session.Past = []resume.Attempt{{StartedAt: w.at.Add(time.Second)}} },
		"in a turn that is a day long": func(*world) {},
	} {
		t.Run(rule, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				w := newWorld()
				change(w)
				w.watch(t, 0)
				w.after(24 * time.Hour)
				w.at = w.at.Add(-2 * time.Hour)
				w.lives = false
				w.after(lookEvery)
				require.Len(t, w.applied, 1)
			})
		})
	}
}

func TestTheEndOfAProcessWaitsForAnotherProgram(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newWorld()
		w.lives, w.elsewhere = false, true
		w.watch(t, 0)
		require.Empty(t, w.applied)
		w.elsewhere = false // and that left the session as it was
		w.after(lookEvery)
		require.Len(t, w.applied, 1)
	})
}

// A turn that begins while the one before is looked at is watched.
func TestATurnThatBeginsDuringALookIsWatched(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newWorld()
		w.open = false
		var watcher *Watcher
		w.session.Origin.SeenAt = w.at.Add(time.Hour)
		read := make(chan struct{})
		w.read = read
		w.during = func() {
			before := w.session
			w.session.PromptedAt, w.open, w.during = time.Now().Round(0).Add(time.Second), true, nil
			watcher.Changed(resume.Change{Before: before, After: w.session})
		}
		watcher = w.watch(t, 0)
		close(read)
		w.after(lookEvery / 2)
		w.lives = false
		w.after(lookEvery)
		require.Len(t, w.applied, 1)
	})
}

func TestSilenceIsCountedFromTheLastMovement(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newWorld()
		watcher := w.watch(t, 2*time.Hour)
		w.after(time.Hour)
		before := w.session
		w.session.MovedAt, w.session.Seen.Offset = time.Now().Round(0), 7
		watcher.Changed(resume.Change{Before: before, After: w.session})
		w.after(2 * time.Hour)
		require.Empty(t, w.applied)
		w.after(time.Minute)
		require.Len(t, w.applied, 1)
	})
}

// asker is an agent whose processes tell whether they work, and what they ask for.
type asker struct {
	*world
	working *resume.Owner
	asks    string
	err     error
}

func (a asker) PendingQuestion(context.Context, resume.Session) (*resume.Owner, string, error) {
	return a.working, a.asks, a.err
}

func (asker) UserLeft(context.Context, resume.Session) bool { return false }

func TestASessionThatAsksItsUserIsNotSilent(t *testing.T) {
	works := &resume.Owner{PID: os.Getpid()}
	for rule, c := range map[string]struct {
		asker
		kind string
		told bool
	}{
		"it works":                        {asker{working: works}, resume.Interactive, true},
		"it asks for a permission":        {asker{working: works, asks: "Bash"}, resume.Interactive, false},
		"it does not work any longer":     {asker{}, resume.Interactive, false},
		"what it does cannot be read":     {asker{err: os.ErrPermission}, resume.Interactive, true},
		"it has no user who could answer": {asker{}, resume.Headless, true},
	} {
		t.Run(rule, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				w := newWorld()
				w.session.Kind, c.world = c.kind, w
				w.as = c.asker
				w.watch(t, 2*time.Hour)
				w.after(3 * time.Hour)
				require.Equal(t, c.told, len(w.applied) > 0)
			})
		})
	}
}

func TestWhatShowsThatASessionWorks(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer server.Close()
	open, err := net.Dial("tcp", server.Addr().String())
	require.NoError(t, err)
	defer open.Close()
	connected := os.Getpid()
	if !procfs.Proc.Connected(connected) {
		t.Skip("SKIPPED: WHAT A TOOL WAITS FOR IS NOT TESTED HERE: the connections of a process cannot be seen")
	}
	began := time.Now()
	session := resume.Session{PromptedAt: began.Add(-time.Hour), Origin: &resume.Origin{Process: resume.Process{PID: 1}}}
	before := quiet{since: began, cpu: time.Minute, wrote: began}
	for rule, c := range map[string]struct {
		cpu   time.Duration
		wrote time.Time
		age   time.Duration // of a process with a connection
		tool  bool
		why   string
	}{
		"nothing": {age: time.Minute},
		"as much of the processor as a sign that moves": {cpu: 6 * time.Second, age: time.Minute},
		"more than that":                                 {cpu: 6*time.Second + time.Millisecond, why: "it used the processor for 6.001s"},
		"the end of one of its processes":                {cpu: -time.Second, why: "a process ended"},
		"a record":                                       {wrote: began.Add(time.Second), why: "its transcript was written"},
		"a tool that waits for the network":              {tool: true, age: time.Minute, why: "a tool waits for the network"},
		"a tool that was started just before its record": {tool: true, age: time.Hour + 4*time.Second, why: "a tool waits for the network"},
		"no tool: a server from before the prompt":       {tool: true, age: 2 * time.Hour},
	} {
		now := quiet{since: began.Add(time.Minute), cpu: before.cpu + c.cpu, wrote: began}
		if !c.wrote.IsZero() {
			now.wrote = c.wrote
		}
		tree := procfs.Tree{Began: map[int]time.Duration{1: 0, connected: c.age}}
		require.Equal(t, c.why, now.work(&before, tree, session, func() bool { return c.tool }), rule)
	}
}

func TestAToolThatWaitsForATimeWorks(t *testing.T) {
	pause := exec.Command("sleep", "600")
	require.NoError(t, pause.Start())
	defer func() { _ = pause.Process.Kill(); _ = pause.Wait() }()
	for deadline := time.Now().Add(10 * time.Second); !procfs.Proc.Sleeps(pause.Process.Pid); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Skip("SKIPPED: WHETHER A TOOL WAITS FOR A TIME IS NOT TESTED HERE: the kernel does not say what a process waits for")
		}
	}
	session := resume.Session{PromptedAt: time.Now().Add(-time.Hour), Origin: &resume.Origin{Process: resume.Process{PID: 1}}}
	tree := procfs.Tree{Began: map[int]time.Duration{pause.Process.Pid: time.Minute}}
	for _, tool := range []bool{true, false} {
		var now quiet
		require.Equal(t, tool, now.work(&now, tree, session, func() bool { return tool }) == "a tool waits for a time")
	}
}
