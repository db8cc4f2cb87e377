package kitty_test

import (
	"context"
	"fmt"
	"io"
	"net"
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
	"resumed/internal/terminal/kitty"
	"resumed/internal/terminal/kittytest"
	"resumed/internal/terminal/terminaltest"
	"resumed/internal/terminal/tmux"
)

// The test binary is the program in the window: this variable names what it does.
const childEnv = "KITTY_TEST_CHILD"

func TestMain(m *testing.M) {
	switch os.Getenv(childEnv) {
	case "":
		os.Exit(m.Run())
	case "echo":
		os.Exit(terminaltest.Echo(shown()))
	case "sleep":
		time.Sleep(time.Hour)
	case "stranger":
		os.Exit(stranger())
	}
}

// nobody is the user id of another user.
const nobody = 65534

// stranger listens as another user and records what is sent to it.
func stranger() int {
	if syscall.Setgid(nobody) != nil || syscall.Setuid(nobody) != nil {
		return 1
	}
	listener, err := net.Listen("unix", os.Args[1])
	if err != nil {
		return 1
	}
	fmt.Println("ready")
	for {
		conn, err := listener.Accept()
		if err != nil {
			return 1
		}
		said, _ := io.ReadAll(conn)
		_ = os.WriteFile(os.Args[2], said, 0o644)
	}
}

// shown is more text than fits into the window.
func shown() string {
	var b strings.Builder
	for i := range 60 {
		fmt.Fprintf(&b, "row %d\r\n", i)
	}
	return b.String() + strings.Repeat("x", 300) + "\r\nünd ❯ ready  "
}

// program is a program in a window.
type program struct {
	terminaltest.Program
	id int
}

// launch starts a window with the command, in which SELF is the test binary.
func launch(t *testing.T, k *kittytest.Kitty, command string) *program {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	p := &program{Program: terminaltest.Program{T: t, Keys: filepath.Join(t.TempDir(), "keys")}}
	command = strings.NewReplacer("SELF", "'"+self+"' '"+p.Keys+"'", "KEYS", "'"+p.Keys+"'").Replace(command)
	p.id = k.Launch(t.TempDir(), []string{childEnv + "=echo"}, "sh", "-c", command)
	return p
}

// stop stops the program, and returns when it reads no more.
func (p *program) stop(process resume.Process) {
	p.T.Helper()
	require.NoError(p.T, syscall.Kill(process.PID, syscall.SIGSTOP))
	p.Until("it is stopped", func() bool { s, err := procfs.Proc.Stat(process.PID); return err == nil && s.State == 'T' })
}

// rest lets the terminal of a process look as if no key had come there for a while, and returns its path.
func rest(t *testing.T, process resume.Process, d time.Duration) (tty string) {
	t.Helper()
	tty, err := os.Readlink(procfs.Proc.Path(process.PID, "fd", "0"))
	require.NoError(t, err)
	require.NoError(t, os.Chtimes(tty, time.Now().Add(-d), time.Time{}))
	return tty
}

func find(t *testing.T, process resume.Process) *terminal.Pane {
	t.Helper()
	pane, err := terminal.Find(t.Context(), process, kitty.Find)
	require.NoError(t, err)
	return pane
}

// All tests share one kitty: its start takes a second.
func TestARealKitty(t *testing.T) {
	t.Parallel()
	k := kittytest.Start(t)

	t.Run("what is typed reaches the program as it is", func(t *testing.T) {
		p := launch(t, k, "exec SELF")
		pane := find(t, p.Process())
		require.Equal(t, fmt.Sprintf("window %d of the kitty at %s", p.id, k.Socket), pane.String())
		var want strings.Builder
		for _, text := range []string{"continue", "-l", "a;", `a\n\x1b`, "$(id) `id` %1 ~ 'x' \"y\"", "ünd ❯ 世界"} {
			require.NoError(t, pane.Type(t.Context(), text))
			want.WriteString(text)
		}
		require.NoError(t, pane.Press(t.Context(), terminal.Escape))
		require.NoError(t, pane.Press(t.Context(), terminal.Enter))
		want.WriteString("\x1b\r")
		p.Until("all of it arrives", func() bool { _, keys := p.Typed(); return len(keys) >= want.Len() })
		_, keys := p.Typed()
		require.Equal(t, want.String(), keys)
		for _, text := range []string{"", "a\n", "\x1b[A", "\x03"} {
			require.Error(t, pane.Type(t.Context(), text), "%q", text)
		}
		require.Error(t, pane.Press(t.Context(), "Down"))
	})

	t.Run("a window in which a key came just now is left alone", func(t *testing.T) {
		p := launch(t, k, "exec SELF")
		process := p.Process()
		pane := find(t, process)
		require.NoError(t, pane.Type(t.Context(), "x"))
		p.Until("it arrives", func() bool { _, keys := p.Typed(); return keys == "x" })
		require.ErrorIs(t, pane.Quiet(t.Context()), terminal.ErrInUse)
		rest(t, process, 19*time.Second)
		require.NoError(t, pane.Quiet(t.Context()))
		require.NoError(t, pane.Type(t.Context(), "né"))
		require.NoError(t, pane.TakeBack(t.Context(), "né"))
		p.Until("all of it arrives", func() bool { _, keys := p.Typed(); return keys == "xné\x01\x1b[3~\x1b[3~\x05" })
	})

	t.Run("a window that has the keyboard is left alone for longer", func(t *testing.T) {
		p := launch(t, k, "exec SELF")
		process := p.Process()
		pane := find(t, process)
		rest(t, process, 19*time.Second)
		require.NoError(t, pane.Quiet(t.Context()))
		k.Ask("focus-window", map[string]any{"match": fmt.Sprint("id:", p.id)})
		p.Until("it has the keyboard", func() bool { return pane.Quiet(t.Context()) != nil })
		rest(t, process, 40*time.Second)
		require.ErrorIs(t, pane.Quiet(t.Context()), terminal.ErrInUse)
		rest(t, process, 49*time.Second)
		require.NoError(t, pane.Quiet(t.Context()))
	})

	t.Run("a key of a person is told apart from what was typed for us", func(t *testing.T) {
		p := launch(t, k, "exec SELF")
		process := p.Process()
		pane := find(t, process)
		rest(t, process, 19*time.Second)
		require.NoError(t, pane.Quiet(t.Context()))
		require.NoError(t, pane.Type(t.Context(), "ours"))
		require.NoError(t, pane.Press(t.Context(), terminal.Escape))
		require.NoError(t, find(t, process).Type(t.Context(), "x"), "as if a person had typed it")
		require.ErrorIs(t, pane.Press(t.Context(), terminal.Enter), terminal.ErrInUse)
		require.ErrorIs(t, pane.Type(t.Context(), "more"), terminal.ErrInUse)
		p.Until("the key arrives", func() bool { _, keys := p.Typed(); return keys == "ours\x1bx" })
	})

	t.Run("kitty itself looks for keys before it types", func(t *testing.T) {
		p := launch(t, k, "exec SELF")
		process := p.Process()
		window, err := kitty.Find([]string{fmt.Sprint("KITTY_WINDOW_ID=", p.id), "KITTY_LISTEN_ON=unix:" + k.Socket})
		require.NoError(t, err)
		got := terminaltest.Refusal(t, window.Press(t.Context(), "1", terminal.Enter))
		require.Equal(t, "its kitty does not run the command kitten: [Errno 2] No such file or directory: ''", got.Why, "it does not find the terminal")
		facts, err := window.Facts(t.Context())
		require.NoError(t, err)
		require.ErrorIs(t, window.Press(t.Context(), "1", terminal.Enter), terminal.ErrInUse, "it was read from since")
		p.stop(process)
		require.NoError(t, window.Write(t.Context(), "x", ""))
		require.ErrorIs(t, window.Press(t.Context(), facts.Input.Mark, terminal.Enter), terminal.ErrInUse, "a key is not read yet")
		require.NoError(t, syscall.Kill(process.PID, syscall.SIGCONT))
		p.Until("the key arrives", func() bool { _, keys := p.Typed(); return keys == "x" })
	})

	t.Run("a program may read what was typed for us in parts", func(t *testing.T) {
		p := launch(t, k, "exec SELF")
		process := p.Process()
		path := rest(t, process, 19*time.Second)
		window, err := kitty.Find([]string{fmt.Sprint("KITTY_WINDOW_ID=", p.id), "KITTY_LISTEN_ON=unix:" + k.Socket})
		require.NoError(t, err)
		facts, err := window.Facts(t.Context())
		require.NoError(t, err)
		p.stop(process) // the test reads instead
		tty, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOCTTY, 0)
		require.NoError(t, err)
		defer tty.Close()
		typed := make(chan error)
		go func() { typed <- window.Write(t.Context(), "ours", facts.Input.Mark) }()
		for range "ours" {
			_, err = tty.Read(make([]byte, 1))
			require.NoError(t, err)
			p.Until("the mark is put back", func() bool {
				at, err := procfs.LastRead(path)
				return err == nil && at.Add(terminal.ReadEvery).Equal(facts.Input.At)
			})
		}
		require.NoError(t, <-typed)
		now, err := window.Facts(t.Context())
		require.NoError(t, err)
		require.Equal(t, facts.Input, now.Input)
	})

	t.Run("if a program does not read for long, what it reads later counts as nobody's", func(t *testing.T) {
		p := launch(t, k, "echo $$ > KEYS; "+childEnv+"=sleep exec SELF")
		process := p.Process()
		pane := find(t, process)
		path := rest(t, process, 19*time.Second)
		require.NoError(t, pane.Quiet(t.Context()))
		require.NoError(t, pane.Type(t.Context(), "ours"))
		require.NoError(t, os.Chtimes(path, time.Now(), time.Time{}), "as if it had read it now")
		require.NoError(t, pane.Press(t.Context(), terminal.Enter))
		require.NoError(t, pane.Quiet(t.Context()))
	})

	t.Run("the screen is read row by row, also while somebody reads back", func(t *testing.T) {
		p := launch(t, k, "exec SELF")
		pane := find(t, p.Process())
		var before string
		p.Until("it is drawn", func() bool {
			screen, err := pane.Screen(t.Context())
			require.NoError(t, err)
			before = screen
			return strings.Contains(screen, "ünd ❯ ready")
		})
		rows := strings.Split(strings.TrimSuffix(before, "\n"), "\n")
		require.Equal(t, "ünd ❯ ready", rows[len(rows)-1], "nothing after it, and no spaces")
		require.NotContains(t, rows, strings.Repeat("x", 300), "a line that is too long has several rows")
		require.NotContains(t, rows, "row 0", "what went by is not on the screen")
		k.Ask("scroll-window", map[string]any{"match": fmt.Sprint("id:", p.id), "amount": []any{-30, "l"}})
		require.NotEqual(t, before, k.Ask("get-text", map[string]any{"match": fmt.Sprint("id:", p.id)}), "somebody reads back")
		after, err := pane.Screen(t.Context())
		require.NoError(t, err)
		require.Equal(t, before, after)
	})

	for rule, c := range map[string]struct {
		command string
		then    func(*program, resume.Process) resume.Process
		why     string // "": it is proved
		passing bool
	}{
		"what a shell started": {command: "sh -c 'sh -c \"SELF; true\"; true'"},
		"another process of that pid": {
			command: "SELF", why: "is gone", passing: true,
			then: func(_ *program, p resume.Process) resume.Process { p.Start++; return p },
		},
		"in a terminal within the window": {command: "script -qec \"SELF\" /dev/null", why: "another terminal than its kitty window"},
		"in the background": {
			command: "bash -c 'set -m; " + childEnv + "=sleep SELF & echo $! > KEYS; sleep 1000'", why: "not in the foreground", passing: true,
		},
		"a child that left the window": {
			command: "setsid -f sh -c \"" + childEnv + "=sleep SELF & echo \\$! > KEYS; wait\"; sleep 1000", why: "does not belong to the kitty window",
		},
		"a window that was closed": {
			command: "setsid -f sh -c \"" + childEnv + "=sleep SELF & echo \\$! > KEYS; wait\"; sleep 1000", why: "its kitty window is gone",
			then: func(p *program, process resume.Process) resume.Process {
				k.Ask("close-window", map[string]any{"match": fmt.Sprint("id:", p.id)})
				p.Until("it is closed", func() bool { return !strings.Contains(k.Ask("ls", nil), fmt.Sprintf(`"id": %d,`, p.id)) })
				return process
			},
		},
	} {
		t.Run("whose window it is: "+rule, func(t *testing.T) {
			p := launch(t, k, c.command)
			process := p.Process()
			t.Cleanup(func() { _ = syscall.Kill(process.PID, syscall.SIGKILL) })
			if c.then != nil {
				process = c.then(p, process)
			}
			pane, err := terminal.Find(t.Context(), process, kitty.Find)
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

	t.Run("the terminal that the agent lives in counts, not the one around it", func(t *testing.T) {
		if _, err := exec.LookPath("tmux"); err != nil {
			t.Skip("TMUX IN KITTY IS NOT TESTED HERE: there is no tmux")
		}
		dir, err := os.MkdirTemp("", "tm") // the paths of sockets must be short
		require.NoError(t, err)
		t.Cleanup(func() { os.RemoveAll(dir) })
		socket := filepath.Join(dir, "s")
		t.Cleanup(func() { _ = exec.Command("tmux", "-S", socket, "kill-server").Run() })
		inner := launch(t, k, "exec tmux -S "+socket+" -f /dev/null new-session \"SELF\"")
		pane, err := terminal.Find(t.Context(), inner.Process(), tmux.Find, kitty.Find)
		require.NoError(t, err)
		require.Contains(t, pane.String(), "of the tmux server at "+socket)

		outer := launch(t, k, "TMUX="+socket+",1,0 TMUX_PANE=%0 exec SELF") // as in a kitty that was started in tmux
		pane, err = terminal.Find(t.Context(), outer.Process(), tmux.Find, kitty.Find)
		require.NoError(t, err)
		require.Contains(t, pane.String(), fmt.Sprintf("window %d of the kitty", outer.id))
	})

	t.Run("every key is proved anew, and a kitty that hangs holds nobody up", func(t *testing.T) {
		p := launch(t, k, "exec SELF")
		process := p.Process()
		pane := find(t, process)
		p.stop(process)
		require.Contains(t, terminaltest.Refusal(t, pane.Type(t.Context(), "x")).Why, "not in the foreground")
		require.NoError(t, syscall.Kill(process.PID, syscall.SIGCONT))

		require.NoError(t, k.Process.Signal(syscall.SIGSTOP))
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err := pane.Screen(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NoError(t, k.Process.Kill())
		_, err = k.Process.Wait()
		require.NoError(t, err)
		require.Contains(t, terminaltest.Refusal(t, pane.Press(t.Context(), terminal.Enter)).Why, "gone")
		_, keys := p.Typed()
		require.Empty(t, keys)
	})
}

// Kitty imports modules from the directory of the program that it runs: nobody else may put files there.
func TestTheProgramThatKittyRunsIsInADirectoryOfItsOwn(t *testing.T) {
	t.Parallel()
	socket := fmt.Sprint("@resumed-test-", os.Getpid())
	listener, err := net.Listen("unix", socket)
	require.NoError(t, err)
	defer listener.Close()
	ran := make(chan string, 1)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		asked := make([]byte, 4096)
		n, _ := conn.Read(asked)
		_, path, _ := strings.Cut(string(asked[:n]), `"kitten":"`)
		path, _, _ = strings.Cut(path, `"`)
		if info, err := os.Stat(filepath.Dir(path)); err == nil && info.Mode().Perm() == 0o700 {
			ran <- path
			_, _ = io.WriteString(conn, "\x1bP@kitty-cmd{\"ok\":true,\"data\":\"typed\"}\x1b\\")
		}
	}()
	window, err := kitty.Find([]string{"KITTY_WINDOW_ID=1", "KITTY_LISTEN_ON=unix:" + socket})
	require.NoError(t, err)
	require.NoError(t, window.Write(t.Context(), "x", ""))
	require.NoDirExists(t, filepath.Dir(<-ran), "it is removed afterwards")
}

func TestAKittyWithAPasswordIsLeft(t *testing.T) {
	t.Parallel()
	k := kittytest.Start(t, "allow_remote_control=password", "remote_control_password=secret")
	_, err := terminal.Find(t.Context(), outside(t, "KITTY_WINDOW_ID=1", "KITTY_LISTEN_ON=unix:"+k.Socket), kitty.Find)
	got := terminaltest.Refusal(t, err)
	require.Contains(t, got.Why, "Remote control is disabled")
	require.Contains(t, got.Why, "passwords for it are not supported")
	require.False(t, got.Passing)
}

func TestAKittyThatDoesNotRunTheProgramSaysWhy(t *testing.T) {
	t.Parallel()
	k := kittytest.Start(t, "allow_remote_control=password", `remote_control_password="" ls get-text launch`)
	p := launch(t, k, "exec SELF")
	pane := find(t, p.Process())
	got := terminaltest.Refusal(t, pane.Type(t.Context(), "x"))
	require.Contains(t, got.Why, "does not run the command kitten: Remote control is disabled")
	require.Contains(t, got.Why, "it must allow ls, get-text and kitten")
	_, keys := p.Typed()
	require.Empty(t, keys)
}

// outside starts a process without a terminal, with that environment.
func outside(t *testing.T, env ...string) resume.Process {
	child := exec.Command(os.Args[0])
	child.Env = append(env, childEnv+"=sleep")
	require.NoError(t, child.Start())
	t.Cleanup(func() { _ = child.Process.Kill(); _ = child.Wait() })
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); { // the new environment is visible a moment after exec
		if env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", child.Process.Pid)); err != nil || len(env) > 0 {
			break
		}
	}
	return resume.Process{PID: child.Process.Pid}
}

func TestAProcessThatKittyCannotReach(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "kitty")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	left := filepath.Join(dir, "left")
	listener, err := net.Listen("unix", left)
	require.NoError(t, err)
	listener.(*net.UnixListener).SetUnlinkOnClose(false)
	require.NoError(t, listener.Close())
	for _, c := range []struct {
		listens, why string
		outside      bool
	}{
		{"", "takes no remote control", true},
		{"tcp:localhost:1234", "does not listen on a unix socket", true},
		{"fd:3", "does not listen on a unix socket", true},
		{"unix:relative", "does not listen on a unix socket", true},
		{"unix:/etc/passwd", "its kitty is gone", false},
		{"unix:" + left, "its kitty is gone", false},
		{"unix:@nobody-listens-" + filepath.Base(dir), "its kitty is gone", false},
	} {
		_, err := terminal.Find(t.Context(), outside(t, "KITTY_WINDOW_ID=1", "KITTY_LISTEN_ON="+c.listens), kitty.Find)
		got := terminaltest.Refusal(t, err)
		require.Contains(t, got.Why, c.why, c.listens)
		require.Equal(t, c.outside, got.Outside)
		require.Equal(t, c.outside, got.Helps == kitty.Hint)
		require.False(t, got.Passing)
	}
	for _, id := range []string{"", "x", "0", "-1", "1;2"} {
		_, err := terminal.Find(t.Context(), outside(t, "KITTY_WINDOW_ID="+id, "KITTY_LISTEN_ON=unix:"+left), kitty.Find)
		require.Equal(t, "it is not in tmux, GNU screen or kitty", terminaltest.Refusal(t, err).Why)
	}
}

// Nothing is sent to a socket of another user: neither the text to type, nor what is searched
// for.
func TestASocketOfAnotherUserIsRefused(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("ANOTHER USER'S SOCKET IS NOT TESTED HERE: only root can make one")
	}
	dir, err := os.MkdirTemp("", "kitty")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	require.NoError(t, os.Chown(dir, nobody, nobody))
	for _, name := range []string{filepath.Join(dir, "s"), "@stranger-" + filepath.Base(dir)} {
		heard := filepath.Join(dir, "heard")
		child := exec.Command(os.Args[0], name, heard)
		child.Env = append(os.Environ(), childEnv+"=stranger")
		out, err := child.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, child.Start())
		t.Cleanup(func() { _ = child.Process.Kill(); _ = child.Wait() })
		_, err = io.ReadFull(out, make([]byte, len("ready\n")))
		require.NoError(t, err)
		_, err = terminal.Find(t.Context(), outside(t, "KITTY_WINDOW_ID=1", "KITTY_LISTEN_ON=unix:"+name), kitty.Find)
		require.Equal(t, "the socket of its kitty belongs to another user", terminaltest.Refusal(t, err).Why)
		said, err := os.ReadFile(heard)
		for deadline := time.Now().Add(time.Minute); err != nil && name[0] == '@' && time.Now().Before(deadline); {
			said, err = os.ReadFile(heard) // a socket with a file is not even connected to
		}
		require.Equal(t, name[0] == '@', err == nil)
		require.Empty(t, said)
	}
}
