package deliver

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/lease"
	"resumed/internal/resume"
	"resumed/internal/runner"
)

// recovered returns what a daemon does with a session that an earlier daemon left.
func (w *world) recovered() []string {
	w.t.Helper()
	require.NoError(w.t, w.d.Recover(w.t.Context(), []resume.Session{w.now()}))
	return w.diary.all()
}

// A resume without a process and without a trace is lost, but only once all files have been read.
func TestAResumeThatLeftNothingIsLost(t *testing.T) {
	w := newWorld(t)
	require.Equal(t, []string{"all was read", "lost"}, w.recovered())
}

func TestAResumeThatWasRefusedSomethingIsDenied(t *testing.T) {
	w := newWorld(t)
	w.agent.denied = "Bash"
	got := w.recovered()
	require.Contains(t, got[len(got)-1], "denied: ")
}

// A prompt that may have been handed to another process is never handed over again: the transcript
// shows it, or the agent's queue has it, or the result is unknown.
func TestAPromptThatMayHaveBeenHandedOver(t *testing.T) {
	handed := func() *world {
		w := newWorld(t)
		w.session.Run = &resume.Run{Mark: w.mark, N: 1, Unverifiable: true}
		w.session.Attempts[0].StartedAt = time.Now().Add(-queuePatience)
		return w
	}
	w := handed()
	got := w.recovered()
	require.Contains(t, got[len(got)-1], "unknown: resumed ended while it handed over the prompt")
	require.Equal(t, resume.Parked, w.now().State)

	w = handed()
	w.agent.queued = true
	require.Equal(t, []string{"all was read", "delivered"}, w.recovered())

	w = handed()
	require.NoError(t, exec.Command("sh", "-c", "echo prompt >> "+w.session.Transcript).Run())
	require.Equal(t, []string{"all was read", "delivered"}, w.recovered())
}

// A daemon that begins right after one that handed over a prompt waits for the agent to record it.
func TestAPromptAppearsAfterTheDaemonThatSentIt(t *testing.T) {
	for name, c := range map[string]struct {
		holder resume.Process // whose terminal it was typed into
		late   time.Duration  // after the claim
		want   string
	}{
		"it was queued":              {resume.Process{}, 25 * time.Second, "delivered"},
		"it was queued, and is lost": {resume.Process{}, 40 * time.Second, "unknown: resumed ended while it handed over the prompt"},
		"it was typed":               {resume.Process{PID: 1}, 8 * time.Second, "delivered"},
		"it was typed, and is lost":  {resume.Process{PID: 1}, 20 * time.Second, "unknown: resumed ended while it handed over the prompt"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.session.Run = &resume.Run{Mark: w.mark, N: 1, Unverifiable: true, Process: c.holder}
				time.Sleep(3 * time.Second) // until the next daemon
				path := w.session.Transcript
				time.AfterFunc(c.late-3*time.Second, func() { _ = os.WriteFile(path, []byte("limit\nprompt\n"), 0o600) })
				require.Contains(t, last(w.recovered()), c.want)
				time.Sleep(time.Minute)
			})
		})
	}
}

// The prompt of a resume with an unknown result appears late, a moment before a person asks for the
// next resume: it does not confirm that one.
func TestAPromptThatCameLateStandsForNoOther(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ after, want string }{
		"nothing came after it":   {"", "unknown: resumed ended while it handed over the prompt"},
		"its own stands after it": {"prompt\n", "delivered"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			before := "limit\nprompt\n"
			w.session.Seen = resume.Position{Epoch: "1", Offset: int64(len(before))}
			w.session = w.session.Next(resume.Started{Mark: w.mark, Unverifiable: true}, rules, time.Now(), 0.5)
			w.session.Attempts[0].StartedAt = time.Now().Add(-queuePatience)
			require.NoError(t, os.WriteFile(w.session.Transcript, []byte(before+c.after), 0o600))
			got := w.recovered()
			require.Contains(t, got[len(got)-1], c.want)
		})
	}
}

// waited is a machine whose commands end after somebody waits for them.
type waited struct {
	here
	Process
	waits func()
}

func (w waited) Find(mark string) (p Process, alive bool) {
	w.Process, alive = w.here.Find(mark)
	return w, alive
}

func (w waited) Wait(ctx context.Context) runner.Result {
	w.waits()
	return w.Process.Wait(ctx)
}

// A hand-over command that still runs is waited for before anything is reported: a person may order the
// next resume at once.
func TestACommandThatHandsAPromptOverIsWaitedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cwd := w.session.Cwd
	require.NoError(t, syscall.Mkfifo(filepath.Join(cwd, "go"), 0o600))
	gate, err := os.OpenFile(filepath.Join(cwd, "go"), os.O_RDWR, 0)
	require.NoError(t, err)
	defer gate.Close()
	end := sync.OnceFunc(func() { _, _ = gate.WriteString("\n") })
	defer end()
	_, err = runner.Start(runner.Command{
		Argv: []string{"sh", "-c", "read line < go; echo prompt >> " + w.session.Transcript}, Dir: cwd, Mark: w.mark,
	})
	require.NoError(t, err)
	w.session.Run = &resume.Run{Mark: w.mark, N: 1, Unverifiable: true}
	w.d.machine = waited{waits: end}
	require.Equal(t, []string{"all was read", "delivered"}, w.recovered())
}

// If the agent of a hand-over command was switched off, nothing can be known about the prompt.
func TestAHandOverOfAnAgentThatIsSwitchedOffIsUnknown(t *testing.T) {
	w := newWorld(t)
	w.session.Run.Unverifiable = true
	w.settings.Agent = func(string) agent.Agent { return nil }
	w.d.machine = adopting{alive: true}
	require.Contains(t, last(w.recovered()), "unknown: resumed ended while it handed over the prompt")
}

// adopting is a machine with one command, whose mark can be read if it is alive.
type adopting struct {
	here
	Process
	alive bool
	began time.Time
}

func (a adopting) Sees() bool                           { return true }
func (a adopting) Began() time.Time                     { return a.began }
func (a adopting) Find(string) (Process, bool)          { return a, a.alive }
func (a adopting) Adopt(resume.Process) (Process, bool) { return a, true }

// A command begins within a few minutes after its claim, and not before it.
func TestACommandIsKnownByWhenItBegan(t *testing.T) {
	w := newWorld(t)
	w.session.Run.Process = resume.Process{PID: 42, Start: 7}
	for late, want := range map[time.Duration]bool{
		-time.Second: false, 1 - time.Second: true, beginPatience - 1: true, beginPatience: false,
	} {
		w.d.machine = adopting{began: w.session.Attempts[0].StartedAt.Add(late)}
		_, alive := w.d.commandOf(w.session)
		require.Equal(t, want, alive, late)
	}
	w.d.machine = adopting{alive: true}
	_, alive := w.d.commandOf(w.session)
	require.True(t, alive, "its mark says more than its age")
}

// The lease among hosts of a session that runs here is asked for until it is given.
func TestTheLeaseOfACommandThatRunsIsInsistedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		w := newWorld(t, func(o *Options) {
			o.HostLease = func(context.Context, resume.Session) (HostLease, *resume.NotSent) {
				if asked++; asked < 3 {
					return nil, tryAgain("nobody answers")
				}
				return releasing(func() {}), nil
			}
		})
		v := &delivery{Deliverer: w.d, session: w.session}
		require.Nil(t, v.takeLease(t.Context()))
		defer v.releaseLease(t.Context())
		began := time.Now()
		v.insist(t.Context())
		require.Equal(t, 3, asked)
		require.Equal(t, 2*nextHostsTry, time.Since(began))

		asked, v.lease.hosts = -9, nil
		stopping, stop := context.WithCancel(t.Context())
		stop()
		v.insist(stopping)
		require.Equal(t, -9, asked, "a daemon that stops does not ask")
	})
}

// clumsy is a fakeAgent that cannot say or remove what a run has left.
type clumsy struct{ *fakeAgent }

func (clumsy) Tidy(context.Context, resume.Session) error { return errors.New("not tidied") }

func (clumsy) Denied(context.Context, resume.Session, agent.Ran) (agent.Denial, bool, error) {
	return agent.Denial{}, false, errors.New("not read")
}

// What is not known about the end of a run is logged, and does not change its result.
func TestWhatIsNotKnownAboutTheEndOfARunIsLogged(t *testing.T) {
	stopping, stop := context.WithCancel(t.Context())
	stop()
	for ctx, logged := range map[context.Context]bool{t.Context(): true, stopping: false} {
		w := newWorld(t)
		w.settings.Agent = func(string) agent.Agent { return clumsy{w.agent} }
		require.Equal(t, resume.Ended{Outcome: resume.Delivered}, w.d.ended(ctx, w.now(), runner.Result{}, "/no/such/file"))
		for _, err := range []string{"not tidied", "not read"} {
			require.Equal(t, logged, strings.Contains(w.log.String(), err))
		}
	}
}

// A command that still runs is waited for, with the lease of its session.
func TestACommandThatLivesIsAdopted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cwd := w.session.Cwd
	require.NoError(t, syscall.Mkfifo(filepath.Join(cwd, "go"), 0o600))
	_, err := runner.Start(runner.Command{
		Argv: []string{"sh", "-c", "read line < go"}, Dir: cwd, Mark: w.mark,
	})
	require.NoError(t, err)
	started := make(chan struct{})
	w.diary.told = func(line string) {
		if line == "started" {
			close(started)
		}
	}
	recovered := make(chan []string)
	go func() { recovered <- w.recovered() }()
	<-started
	_, err = lease.Acquire(w.d.opts.LeaseDirs, "fake", "s-1")
	require.Error(t, err, "somebody looks after the session")
	require.NoError(t, os.WriteFile(filepath.Join(cwd, "go"), []byte("on\n"), 0o600))
	require.Equal(t, []string{"started", "delivered"}, <-recovered)
}
