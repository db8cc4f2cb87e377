package gnuscreen_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/procfs"
	"resumed/internal/resume"
	"resumed/internal/terminal"
	"resumed/internal/terminal/gnuscreen"
	"resumed/internal/terminal/screentest"
	"resumed/internal/terminal/terminaltest"
	"resumed/internal/terminal/tmux"
)

// The test binary is the program in the window: this variable names what it does.
const childEnv = "SCREEN_TEST_CHILD"

func TestMain(m *testing.M) {
	switch os.Getenv(childEnv) {
	case "":
		flag.Parse()
		if err := flag.Set("test.parallel", "16"); err != nil { // screen takes its time to answer
			panic(err)
		}
		os.Exit(m.Run())
	case "echo":
		os.Exit(terminaltest.Echo("───\r\nünd — ready\r\n❯ 1. yes\r\n世界 ok"))
	case "sleep":
		time.Sleep(time.Hour)
	}
}

// program is a program in a window.
type program struct {
	terminaltest.Program
	*screentest.Session
	tty string // the program's terminal
}

// launch starts a window with the command, in which SELF is the test binary.
func launch(t *testing.T, command string) *program {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	p := &program{Program: terminaltest.Program{T: t, Keys: filepath.Join(t.TempDir(), "keys")}}
	command = strings.NewReplacer("SELF", "'"+self+"' '"+p.Keys+"'", "KEYS", "'"+p.Keys+"'").Replace(command)
	p.Session = screentest.Start(t, t.TempDir(), append(os.Environ(), childEnv+"=echo"), "sh", "-c", command)
	return p
}

func find(t *testing.T, process resume.Process) *terminal.Pane {
	t.Helper()
	pane, err := terminal.Find(t.Context(), process, gnuscreen.Find)
	require.NoError(t, err)
	return pane
}

// arrives waits until the program has got as much, and compares it.
func (p *program) arrives(want string) {
	p.T.Helper()
	p.Program.Until("all of it arrives", func() bool { _, keys := p.Typed(); return len(keys) >= len(want) })
	_, keys := p.Typed()
	require.Equal(p.T, want, keys)
}

func TestWhatIsTypedReachesTheProgramAsItIs(t *testing.T) {
	p := launch(t, "exec SELF")
	t.Setenv("LC_ALL", "C")            // as in a service
	t.Setenv("STY", "1.elsewhere")     // the daemon itself may run in a window
	t.Setenv("TMPDIR", t.TempDir())    // what is read is left nowhere
	t.Setenv("SCREENDIR", "/nowhere/") // the agent's counts
	pane := find(t, p.Process())
	require.Equal(t, "window 0 of the GNU screen "+p.Name, pane.String())
	var printable strings.Builder
	for c := rune(' '); c <= '~'; c++ {
		printable.WriteRune(c)
	}
	var want strings.Builder
	for _, text := range []string{"continue", "-k", "stuff", "a;", `a\n\x1b\033^M`, "$HOME ${HOME} $:co: `id` %1 %n # ~ 'x' \"y\" \\\" ^", printable.String(), "ünd é"} {
		require.NoError(t, pane.Type(t.Context(), text), text)
		want.WriteString(text)
	}
	require.NoError(t, pane.Press(t.Context(), terminal.Escape))
	require.NoError(t, pane.Press(t.Context(), terminal.Enter))
	require.NoError(t, pane.TakeBack(t.Context(), "né"), "characters are deleted, not bytes")
	p.arrives(want.String() + "\x1b\r\x01\x1b[3~\x1b[3~\x05")
	for _, text := range []string{"", "a\n", "\x1b[A", "\x03"} {
		require.Error(t, pane.Type(t.Context(), text), "%q", text)
	}
	require.Contains(t, terminaltest.Refusal(t, pane.Type(t.Context(), "世界")).Why, "letters that GNU screen does not show")
	require.Contains(t, terminaltest.Refusal(t, pane.Type(t.Context(), strings.Repeat("x", 200))).Why, "too long")
	long := strings.Repeat("x", 175)
	require.NoError(t, pane.Type(t.Context(), long))
	require.NoError(t, pane.TakeBack(t.Context(), long))
	p.arrives(want.String() + "\x1b\r\x01\x1b[3~\x1b[3~\x05" + long + "\x01" + strings.Repeat("\x1b[3~", 175) + "\x05")
	left, err := filepath.Glob(os.TempDir() + "/*")
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestTheScreenIsReadRowByRow(t *testing.T) {
	t.Parallel()
	p := launch(t, "exec SELF")
	pane := find(t, p.Process())
	var rows []string
	p.Program.Until("it is drawn", func() bool {
		screen, err := pane.Screen(t.Context())
		require.NoError(t, err)
		rows = strings.Split(screen, "\n")
		return strings.Contains(screen, "ok")
	})
	require.Equal(t, []string{"───", "ünd — ready", "❯ 1. yes"}, rows[:3])
	require.Equal(t, "�L ok", rows[3], "of the rest only a part is known")
	require.Len(t, rows, 41, "forty, and what follows the last line break")
}

func TestAWindowIsProvedToBeTheProcesss(t *testing.T) {
	t.Parallel()
	const leaves = "setsid -f sh -c \"" + childEnv + "=sleep SELF & echo \\$! > KEYS; wait\"; sleep 1000"
	for rule, c := range map[string]struct {
		command string
		then    func(*program, resume.Process) resume.Process
		why     string // "": it is proved
		passing bool
		finds   func(environ []string) (terminal.Window, error) // nil: gnuscreen.Find
	}{
		"what a shell started": {command: "sh -c 'sh -c \"SELF; true\"; true'"},
		"another process of that pid": {
			command: "SELF", why: "is gone", passing: true,
			then: func(_ *program, p resume.Process) resume.Process { p.Start++; return p },
		},
		"in a terminal within the window": {command: "script -qec \"SELF\" /dev/null", why: "another terminal than its window of GNU screen"},
		"in the background": {
			command: "bash -c 'set -m; " + childEnv + "=sleep SELF & echo $! > KEYS; sleep 1000'", why: "not in the foreground", passing: true,
		},
		"a child that left the window": {command: leaves, why: "does not belong to the window of GNU screen"},
		"a window that was closed": {
			command: leaves, why: "its window of GNU screen is gone",
			then: func(p *program, process resume.Process) resume.Process {
				p.Do("screen", "sleep", "1000") // the server stays
				p.Program.Until("there are two", func() bool { return p.windows() == 2 })
				p.Do("kill")
				p.Program.Until("it is closed", func() bool { return p.windows() == 1 })
				return process
			},
		},
		"a server that has ended": {
			command: leaves, why: "its GNU screen is gone",
			then: func(p *program, process resume.Process) resume.Process {
				require.NoError(p.T, syscall.Kill(p.PID, syscall.SIGKILL))
				p.Program.Until("it has ended", func() bool { return syscall.Kill(p.PID, 0) != nil })
				return process
			},
		},
		"a window that has another number now": {
			command: "exec SELF", why: "its GNU screen has no window 0 any more",
			then:  func(p *program, process resume.Process) resume.Process { p.Do("number", "7"); return process },
			finds: gnuscreen.FindImpatient, // the server reads nothing for a window that it does not have
		},
		"a number that two windows had": {
			command: "exec SELF", why: "two windows of its GNU screen were made with the number 0",
			then: func(p *program, process resume.Process) resume.Process {
				p.Do("number", "7")
				out, err := p.Command("-X", "screen", "0", "sleep", "1000").CombinedOutput()
				require.NoError(p.T, err, "%s", out)
				p.Program.Until("there are two", func() bool { return p.windows() == 2 })
				return process
			},
		},
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			p := launch(t, c.command)
			process := p.Process()
			if c.then != nil {
				process = c.then(p, process)
			}
			finds := c.finds
			if finds == nil {
				finds = gnuscreen.Find
			}
			pane, err := terminal.Find(t.Context(), process, finds)
			if c.why == "" {
				require.NoError(t, err)
				require.NoError(t, pane.Type(t.Context(), "x"))
				return
			}
			got := terminaltest.Refusal(t, err)
			require.Contains(t, got.Why, c.why)
			require.Equal(t, c.passing, got.Passing)
			_, keys := p.Typed()
			require.Empty(t, keys)
		})
	}
}

// windows counts the windows whose first process runs.
func (p *program) windows() (n int) {
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", p.PID, p.PID))
	for pid := range strings.FieldsSeq(string(children)) {
		environ, _ := os.ReadFile("/proc/" + pid + "/environ")
		if strings.Contains(string(environ), "STY="+p.Name) {
			n++
		}
	}
	return n
}

func TestAProcessOutsideOfGNUScreenHasNoWindow(t *testing.T) {
	t.Parallel()
	for env, why := range map[string]string{
		"":                           "it is not in tmux, GNU screen or kitty",
		"STY= WINDOW=":               "it is not in tmux, GNU screen or kitty",
		"STY=x WINDOW=0":             "it is not in tmux, GNU screen or kitty",
		"STY=1.x WINDOW=0":           "it is not in tmux, GNU screen or kitty",
		"STY=77777/../1.a WINDOW=0":  "it is not in tmux, GNU screen or kitty",
		"STY=4194999.a/b WINDOW=0":   "it is not in tmux, GNU screen or kitty",
		"STY=4194999.a WINDOW=":      "it is not in tmux, GNU screen or kitty",
		"STY=4194999.a WINDOW=title": "it is not in tmux, GNU screen or kitty",
		"STY=4194999.a WINDOW=0":     "its GNU screen is gone",
	} {
		child := exec.Command(os.Args[0])
		child.Env = append(strings.Fields(env), childEnv+"=sleep")
		require.NoError(t, child.Start())
		t.Cleanup(func() { _ = child.Process.Kill(); _ = child.Wait() })
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); { // the new environment is visible a moment after exec
			if env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", child.Process.Pid)); err != nil || len(env) > 0 {
				break
			}
		}
		_, err := terminal.Find(t.Context(), terminaltest.ProcessOf(t, child.Process.Pid), gnuscreen.Find)
		got := terminaltest.Refusal(t, err)
		require.Contains(t, got.Why, why, env)
		require.False(t, got.Passing)
	}
}

// The state when the window was found may have changed when a key is pressed, and a server that
// hangs holds nobody up.
func TestEveryKeyIsProvedAnew(t *testing.T) {
	t.Parallel()
	p := launch(t, "exec SELF")
	process := p.Process()
	pane := find(t, process)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	require.NoError(t, syscall.Kill(p.PID, syscall.SIGSTOP))
	began := time.Now()
	_, err := pane.Screen(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Less(t, time.Since(began), 4*time.Second)
	require.NoError(t, syscall.Kill(p.PID, syscall.SIGCONT))
	_, err = pane.Screen(t.Context())
	require.NoError(t, err)

	require.NoError(t, syscall.Kill(process.PID, syscall.SIGKILL))
	p.Program.Until("it has ended", func() bool { return syscall.Kill(process.PID, 0) != nil })
	require.Error(t, pane.Type(t.Context(), "x"))
	require.Error(t, pane.Press(t.Context(), terminal.Enter))
	_, err = pane.Screen(t.Context())
	require.Error(t, err)
	_, keys := p.Typed()
	require.Empty(t, keys)
}

// attach is a person at the keyboard: what it is called with is typed by a client of GNU screen.
func (p *program) attach() (types func(keys string)) {
	p.T.Helper()
	client := exec.Command("script", "-qec", "screen -x "+p.Name, "/dev/null")
	client.Env = p.Command().Env
	keys, err := client.StdinPipe()
	require.NoError(p.T, err)
	require.NoError(p.T, client.Start())
	p.T.Cleanup(func() { _ = keys.Close(); _ = client.Process.Kill(); _ = client.Wait() })
	p.Program.Until("the client is there", func() bool {
		out, _ := p.Command("-ls").Output()
		return strings.Contains(string(out), "(Attached)")
	})
	return func(text string) { _, _ = fmt.Fprint(keys, text) }
}

// longAgo makes it look as if the program, and GNU screen for the people who have opened it, had last read
// a key long ago.
func (p *program) longAgo() {
	p.T.Helper()
	terminals, err := procfs.Proc.Open(p.PID)
	require.NoError(p.T, err)
	terminals = append(terminals, procfs.File{Name: p.tty})
	for _, file := range terminals {
		if strings.HasPrefix(file.Name, "/dev/pts/") {
			require.NoError(p.T, os.Chtimes(file.Name, time.Now().Add(-19*time.Second), time.Time{}))
		}
	}
}

// Where a person has typed just now nothing is typed. The kernel tells it to eight seconds.
func TestAPersonAtTheKeyboardGoesFirst(t *testing.T) {
	t.Parallel()
	p := launch(t, "exec SELF")
	process := p.Process()
	pane := find(t, process)
	var err error
	p.tty, err = os.Readlink(fmt.Sprintf("/proc/%d/fd/0", process.PID))
	require.NoError(t, err)
	p.longAgo()
	require.NoError(t, pane.Quiet(t.Context()), "nobody has typed")
	types := p.attach()
	types("y")
	p.arrives("y")
	require.ErrorIs(t, pane.Type(t.Context(), "continue"), terminal.ErrInUse)
	require.ErrorIs(t, pane.Quiet(t.Context()), terminal.ErrInUse)
	_, keys := p.Typed()
	require.Equal(t, "y", keys)

	p.longAgo()
	require.NoError(t, pane.Quiet(t.Context()))
	text := `x $HOME 'a' "b" \\ ^M # ~ \n \047 ünd`
	require.NoError(t, pane.Type(t.Context(), text), "through the pipe, too, every letter arrives")
	p.arrives("y" + text)
	types("z")
	p.arrives("y" + text + "z")
	require.ErrorIs(t, pane.Press(t.Context(), terminal.Enter), terminal.ErrInUse, "it was typed after our text")
	p.longAgo()
	require.NoError(t, pane.Quiet(t.Context()))
	require.NoError(t, pane.Press(t.Context(), terminal.Enter))
	p.arrives("y" + text + "z\r")
	for range 3 { // a client is told of each
		screen, err := pane.Screen(t.Context())
		require.NoError(t, err)
		require.Contains(t, screen, " ok")
		require.NotContains(t, screen, "image written", "what the client shows over it is not in the window")
	}
}

// The terminal that the agent lives in counts, not the one around it.
func TestOneTerminalInTheOther(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("TMUX IN GNU SCREEN IS NOT TESTED HERE: there is no tmux")
	}
	dir, err := os.MkdirTemp("", "tm") // the paths of sockets must be short
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	t.Cleanup(func() { _ = exec.Command("tmux", "-S", socket, "kill-server").Run() })
	inner := launch(t, "exec tmux -S "+socket+" -f /dev/null new-session \"SELF\"")
	pane, err := terminal.Find(t.Context(), inner.Process(), tmux.Find, gnuscreen.Find)
	require.NoError(t, err)
	require.Contains(t, pane.String(), "of the tmux server at "+socket)

	outer := launch(t, "TMUX="+socket+",1,0 TMUX_PANE=%0 exec SELF") // as in a GNU screen that was started in tmux
	pane, err = terminal.Find(t.Context(), outer.Process(), tmux.Find, gnuscreen.Find)
	require.NoError(t, err)
	require.Contains(t, pane.String(), "of the GNU screen "+outer.Name)
}
