package deliver

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/resume"
	"resumed/internal/runner"
)

// composer is a fake agent in a pane of its own tmux: each line that it is given is written to its
// transcript as a prompt. The last line of the screen is the text that was typed and not sent.
func (w *world) composer() {
	w.t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		if os.Getenv("CI") != "" {
			w.t.Fatal(err)
		}
		w.t.Skip("TYPING IS NOT TESTED HERE: there is no tmux")
	}
	dir, err := os.MkdirTemp("", "tm") // the path of a socket may not be long
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _ = os.RemoveAll(dir) })
	fifo, socket := filepath.Join(dir, "pid"), filepath.Join(dir, "s")
	require.NoError(w.t, syscall.Mkfifo(fifo, 0o600))
	script := fmt.Sprintf(`exec sh -c 'echo $$ > %s; while read -r line; do echo "$line" | sed s/continue/prompt/ >> %s; done'`, fifo, w.session.Transcript)
	out, err := exec.Command("tmux", "-S", socket, "-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", script).CombinedOutput()
	require.NoError(w.t, err, "%s", out)
	w.t.Cleanup(func() { _ = exec.Command("tmux", "-S", socket, "kill-server").Run() })
	text, err := os.ReadFile(fifo) // returns when it runs
	require.NoError(w.t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	require.NoError(w.t, err)
	start, err := runner.StartTime(pid)
	require.NoError(w.t, err)
	w.agent.owner = &resume.Owner{PID: pid, Kind: "interactive", Tmux: "0:0.0"}
	w.agent.talk.Type = &agent.Typing{
		Process: resume.Process{PID: pid, Start: start}, Text: "continue",
		Judge: func(screen string) agent.ScreenState {
			lines := strings.Split(strings.TrimSpace(screen), "\n")
			return agent.ScreenState{Draft: strings.TrimSpace(lines[len(lines)-1])}
		},
	}
}

func TestAPromptIsTypedIntoThePaneOfWhoHoldsTheSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.composer()
	require.Equal(t, []string{"may have been handed over", "delivered"}, w.act())
	require.Equal(t, "limit\nprompt\n", w.transcript(), "once, and whole")
}

func TestNothingIsTypedWhereAPersonHasWrittenSomething(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.composer()
	w.agent.talk.Type.Judge = func(string) agent.ScreenState { return agent.ScreenState{Draft: "please look at"} }
	require.Equal(t, []string{"not sent: there is a draft in its input field that nobody sent; resumed looks again before it tells you (look 1 of 3)"}, w.act())
	require.Equal(t, "limit\n", w.transcript())
	require.Equal(t, w.agent.owner, w.now().Owner, "status shows who holds it")
}
