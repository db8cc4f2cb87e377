package deliver

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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

// The prompt of a resume with an unknown result appears late, a moment before a person asks for the
// next resume: it does not confirm that one.
func TestAPromptThatCameLateStandsForNoOther(t *testing.T) {
	for name, c := range map[string]struct{ after, want string }{
		"nothing came after it":   {"", "unknown: resumed ended while it handed over the prompt"},
		"its own stands after it": {"prompt\n", "delivered"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			before := "limit\nprompt\n"
			w.session.Seen = resume.Position{Epoch: "1", Offset: int64(len(before))}
			w.session = w.session.Next(resume.Started{Mark: w.mark, Unverifiable: true}, rules, time.Now(), 0.5)
			require.NoError(t, os.WriteFile(w.session.Transcript, []byte(before+c.after), 0o600))
			got := w.recovered()
			require.Contains(t, got[len(got)-1], c.want)
		})
	}
}

// A hand-over command that still runs is waited for before anything is reported: a person may order the
// next resume at once.
func TestACommandThatHandsAPromptOverIsWaitedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cwd := w.session.Cwd
	require.NoError(t, syscall.Mkfifo(filepath.Join(cwd, "go"), 0o600))
	_, err := runner.Start(runner.Command{
		Argv: []string{"sh", "-c", "read line < go; echo prompt >> " + w.session.Transcript}, Dir: cwd, Mark: w.mark,
	})
	require.NoError(t, err)
	w.session.Run = &resume.Run{Mark: w.mark, N: 1, Unverifiable: true}
	w.diary.told = func(line string) {
		if line == "all was read" {
			go func() { _ = os.WriteFile(filepath.Join(cwd, "go"), []byte("\n"), 0o600) }()
		}
	}
	require.Equal(t, []string{"all was read", "delivered"}, w.recovered())
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
