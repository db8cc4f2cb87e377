package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// inTerminal runs resumed in a terminal without tmux, and returns its exit code and what it showed.
func (b *liveBox) inTerminal(command string) (shown string, code int) {
	b.t.Helper()
	cmd := exec.Command("script", "-qec", command, "/dev/null")
	cmd.Env, cmd.Dir = append(b.env(), "TMUX_TMPDIR="+b.dir, "TMPDIR="+b.dir, "TERM=xterm-256color"), b.path("bot")
	out, _ := cmd.Output()
	return string(out), cmd.ProcessState.ExitCode()
}

func TestShellHandsOnTheExitCode(t *testing.T) {
	b := newLiveBox(t)
	for _, how := range []string{"shell", "shell --tmux"} {
		for _, code := range []int{0, 7, 130} {
			shown, got := b.inTerminal( // its last output stays visible
				fmt.Sprintf("%s %s sh -c 'pwd; echo $1; exit %d' sh 'a;'", b.binary, how, code))
			require.Equal(t, code, got, shown)
			require.Contains(t, shown, b.path("bot"), "it runs where it was started")
			require.Contains(t, shown, "a;")
		}
		shown, code := b.inTerminal(`sh -c 'FRESH="one two" ` + b.binary + " " + how + ` sh -c "echo [\$FRESH]"'`)
		require.Zero(t, code)
		require.Contains(t, shown, "[one two]", "with the environment that it was started in")
	}
	for _, pattern := range []string{b.dir + "/resumed-shell-*", b.path("runtime/resumed/shells/*")} {
		left, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.Empty(t, left)
	}
}

func TestShellWithoutWhatItNeeds(t *testing.T) {
	b := newLiveBox(t)
	out, errOut, code := b.runWith("in", "shell", "sh", "-c", "cat; exit 7")
	require.Equal(t, 7, code, "in a script it is as if resumed were not there")
	require.Equal(t, "in", out+errOut)

	_, errOut, code = b.run("shell", "no-such-agent")
	require.Equal(t, 127, code)
	require.Contains(t, errOut, "no-such-agent")

	out, _, code = b.run("shell")
	require.Zero(t, code)
	require.Equal(t, "No agent that resumed shell started is running.\n", out)

	_, errOut, code = b.run("shell", "--tmux", "sh", "-c", "exit 7")
	require.Equal(t, exitFailed, code)
	require.Equal(t, "resumed: there is no terminal to show sh in\nTry: start it without --tmux\n", errOut)

	bin := t.TempDir() // a machine without tmux
	for _, program := range []string{"sh", "script"} {
		path, err := exec.LookPath(program)
		require.NoError(t, err)
		require.NoError(t, os.Symlink(path, filepath.Join(bin, program)))
	}
	shown, code := b.inTerminal("PATH=" + bin + " " + b.binary + " shell --tmux sh -c 'exit 7'")
	require.Equal(t, exitFailed, code)
	require.Contains(t, shown, "tmux is not installed")
	require.Contains(t, shown, "Try: install the package tmux, or leave out --tmux")
	shown, code = b.inTerminal("PATH=" + bin + " " + b.binary + " shell sh -c 'exit 7'")
	require.Equal(t, 7, code, shown)
}

// Where the daemon can type anyway, nothing is put between.
func TestShellInTmuxIsNotThere(t *testing.T) {
	b := newLiveBox(t)
	out := filepath.Join(b.dir, "out")
	b.show(b.standIn(), b.binary+" shell sh -c 'echo $PPID:$TMUX_PANE:$RESUMED_SHELL > "+out+"; exec SELF'")
	got, err := os.ReadFile(out)
	require.NoError(t, err)
	require.Regexp(t, `^[0-9]+:%0:\n$`, string(got))
}

// Agents in their own tmux can be typed into, and keep running when the user detaches.
func TestShellInItsOwnTmuxCanBeLeft(t *testing.T) {
	b := newLiveBox(t)
	b.show(b.standIn(), "env -u TMUX -u TMUX_PANE TMUX_TMPDIR="+b.dir+" "+b.binary+" shell --tmux SELF; sleep 100")
	screen := func() string {
		out, _ := exec.Command("tmux", "-u", "-S", filepath.Join(b.dir, "s1"), "capture-pane", "-p").Output()
		return string(out)
	}
	b.until("the agent is shown", func() bool { return strings.Contains(screen(), "C-b d detaches") })
	b.start()
	b.tmux("send-keys", "C-b", "d")
	b.until("it is left", func() bool { return strings.Contains(screen(), "It keeps running. To come back: tmux -L resumed-") })
	b.overloaded()
	b.untilState(liveID, resume.Watching)
	require.Equal(t, "continue\r", b.keys())

	_, name, _ := strings.Cut(screen(), "tmux -L ")
	name = strings.Fields(name)[0]
	list := func() string {
		cmd := exec.Command(b.binary, "shell")
		cmd.Env = append(b.env(), "TMUX_TMPDIR="+b.dir)
		out, err := cmd.Output()
		require.NoError(t, err)
		return string(out)
	}
	require.Contains(t, list(), "tmux -L "+name+" attach   # "+filepath.Base(os.Args[0])+" in ", "who closed the window is told how to come back")
	end := exec.Command("tmux", "-L", name, "kill-server")
	end.Env = append(os.Environ(), "TMUX_TMPDIR="+b.dir)
	out, err := end.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.NotContains(t, list(), name, "what has ended is not listed")
}
