package e2e

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agenttest"
	"resumed/internal/resume"
	"resumed/internal/terminal/shellpty"
	"resumed/internal/terminal/terminaltest"
	"resumed/internal/terminal/vtscreen"
)

// talkAtSeat starts the agent on a new session in a resumed shell, in a terminal into which only a person
// can type: a bare pseudo-terminal, or xterm.
func (b *box) talkAtSeat(prompt string) *pane {
	b.t.Helper()
	argv := b.kit.talk(prompt)
	argv = append([]string{daemon, "shell", filepath.Join(b.bin, argv[0])}, argv[1:]...)
	env := append(b.env(), "PWD="+b.work)
	if b.seat == "xterm" {
		argv = append([]string{"xterm", "-geometry", "140x45+0+0", "-fn", "fixed", "-l", "-lf", b.path("shown"), "-e"}, argv...)
		env = append(env, b.atXterm())
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env, cmd.Dir = env, b.work
	person := terminaltest.Open(b.t, cmd)
	shown := io.Discard
	if b.seat == "pty" {
		b.types = func(keys string) { _, _ = person.WriteString(keys) }
		file, err := os.Create(b.path("shown"))
		require.NoError(b.t, err)
		b.t.Cleanup(func() { _ = file.Close() })
		shown = file
	}
	go func() { _, _ = io.Copy(shown, person) }()
	b.t.Cleanup(func() {
		if b.t.Failed() {
			b.t.Logf("screen:\n%s", b.screenAtSeat())
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return &pane{b: b}
}

// atXterm starts a display, lets xdotool type there, and returns the variable that names it. Keys go to the
// window below the pointer.
func (b *box) atXterm() (variable string) {
	b.t.Helper()
	for _, program := range []string{"xterm", "Xvfb", "xdotool"} {
		if _, err := exec.LookPath(program); err != nil {
			if os.Getenv("CI") != "" {
				b.t.Fatal(err)
			}
			b.t.Skip("XTERM IS NOT TRIED HERE: there is no " + program)
		}
	}
	variable = "DISPLAY=" + display(b.t)
	b.types = func(keys string) {
		args := []string{"mousemove", "200", "200", "type", "--delay", "1", keys}
		if name, ok := map[string]string{"\x15": "ctrl+u", "\r": "Return"}[keys]; ok {
			args = []string{"mousemove", "200", "200", "key", name}
		}
		cmd := exec.Command("xdotool", args...)
		cmd.Env = append(os.Environ(), variable)
		out, err := cmd.CombinedOutput()
		require.NoError(b.t, err, "%s", out)
	}
	return variable
}

// display starts an X server that nobody sees, and returns its display.
func display(t *testing.T) string {
	t.Helper()
	read, write, err := os.Pipe()
	require.NoError(t, err)
	defer read.Close()
	cmd := exec.Command("Xvfb", "-displayfd", "3", "-screen", "0", "1400x1000x24", "-nolisten", "tcp")
	cmd.ExtraFiles = []*os.File{write}
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	require.NoError(t, write.Close())
	number, err := bufio.NewReader(read).ReadString('\n')
	require.NoError(t, err, "Xvfb did not come")
	return ":" + strings.TrimSpace(number)
}

// shells are the resumed shells that run.
func (b *box) shells() []shellpty.Running {
	return shellpty.All(b.t.Context(), b.path("runtime", "resumed", "shells"))
}

// screenAtSeat is what the person sees.
func (b *box) screenAtSeat() string {
	shown, _ := os.ReadFile(b.path("shown")) // it may not be there yet
	screen := vtscreen.New(120, 40)
	if b.seat == "xterm" {
		screen = vtscreen.New(140, 45)
	}
	_, _ = screen.Write(shown)
	return screen.Text()
}

// at is a situation in a resumed shell at a seat.
func at(seat, name string, s situation) situation {
	return situation{"live in a resumed shell in " + name, func(t *testing.T, b *box, row *result) {
		b.seat = seat
		s.play(t, b, row)
	}}
}

var seats = []situation{
	at("pty", "a bare terminal", idle),
	at("pty", "a bare terminal, and a person types in the same second", together),
	at("pty", "a bare terminal, and the daemon is killed while it waits", killedWaiting),
	at("pty", "a bare terminal, and the daemon is killed while it types", killedTyping),
	at("xterm", "xterm", idle),
	at("xterm", "xterm, and a person types in the same second", together),
}

var (
	killedWaiting = situation{"", func(_ *testing.T, b *box, row *result) {
		b.backoff = patient
		_, s, before := b.stopped(agenttest.Overloaded(), row)
		b.startAfter(syscall.SIGKILL)
		b.finished(s, before, 1, once)
		row.did, row.outcome = "was killed while it waited; the next one typed the prompt once", "finished"
	}}

	// killedTyping is a daemon that dies between the text and Enter. Whether Enter was pressed, only the
	// transcript shows.
	killedTyping = situation{"", func(t *testing.T, b *box, row *result) {
		b.backoff = patient
		_, s, before := b.stopped(agenttest.Overloaded(), row)
		typed := func() bool {
			screen := b.screenAtSeat()
			return strings.Contains(screen, "❯\u00a0continue") || strings.Contains(screen, "❯ continue")
		}
		for deadline := time.Now().Add(patience); !typed(); {
			require.True(t, time.Now().Before(deadline), "nothing is typed")
		}
		b.startAfter(syscall.SIGKILL)
		after := b.untilState(resume.Parked, resume.Watching)
		row.did = "was killed as soon as it had sent the prompt; the next one typed nothing"
		if after.State == resume.Parked {
			require.Contains(t, after.Reason, "the transcript does not tell whether it was sent")
			b.mustStayQuiet(before, 0)
			require.True(t, typed(), "the text is left in the field, once")
			b.types("\r")
			row.did = "was killed before Enter; the next one parked it, and a person pressed Enter"
		}
		b.until("the task is done", func() bool { return b.done() == "one two" && len(b.provider.Requests()) >= len(before)+2 })
		require.Equal(t, s.ID, b.untilState(resume.Watching).ID)
		requests := b.mustStayQuiet(b.provider.Requests(), strings.Count(b.log.String(), "msg=typed "))
		require.Len(t, requests, len(before)+2, "a continuation is one step and one last word")
		mustSay(t, requests[len(requests)-1].Prompts, once)
		b.mustKeep(once)
		row.outcome = "finished by one prompt"
	}}
)
