package deliver

import (
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
	"resumed/internal/runner"
)

func TestACommandWithoutItsMarkIsKnownByWhenItBegan(t *testing.T) {
	t.Parallel()
	child := exec.Command("sleep", "600")
	require.NoError(t, child.Start())
	t.Cleanup(func() { _ = child.Process.Kill(); _ = child.Wait() })
	start, err := runner.StartTime(child.Process.Pid)
	require.NoError(t, err)
	process := resume.Process{PID: child.Process.Pid, Start: start}
	for name, c := range map[string]struct {
		claimed time.Duration // ago
		process resume.Process
		want    bool
	}{
		"it began when it was claimed": {0, process, true},
		"it began a while after":       {time.Minute, process, true},
		"another boot gave its number": {time.Hour, process, false},
		"it began before":              {-time.Minute, process, false},
		"its number has another owner": {0, resume.Process{PID: process.PID, Start: start + 1}, false},
		"its process is not known":     {0, resume.Process{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			run := &resume.Run{Mark: "not-there", N: 1, Process: c.process}
			_, alive := (&Deliverer{machine: here{}}).commandOf(resume.Session{
				Run: run, Interruption: resume.Interruption{
					Attempts: []resume.Attempt{{N: 1, Mark: run.Mark, StartedAt: time.Now().Add(-c.claimed)}},
				},
			})
			require.Equal(t, c.want, alive)
		})
	}
}
