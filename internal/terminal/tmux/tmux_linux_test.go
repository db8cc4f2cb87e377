package tmux_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/term"

	"resumed/internal/peer"
	"resumed/internal/procfs"
	"resumed/internal/resume"
	"resumed/internal/terminal"
	"resumed/internal/terminal/shellpty"
	"resumed/internal/terminal/terminaltest"
	"resumed/internal/terminal/tmux"
)

// The test binary is the program in the pane: this variable names what it does.
const childEnv = "TMUX_TEST_CHILD"

func TestMain(m *testing.M) {
	switch os.Getenv(childEnv) {
	case "":
		flag.Parse()
		if err := flag.Set("test.parallel", "16"); err != nil { // they wait for tmux, and compute little
			panic(err)
		}
		os.Exit(m.Run())
	case "echo":
		os.Exit(echo())
	case "sleep":
		time.Sleep(time.Hour)
	}
}

// echo prints a text, and writes its pid and the bytes that it reads to the file of its first argument.
func echo() (code int) {
	old, err := term.MakeRaw(0)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer func() { _ = term.Restore(0, old) }()
	fmt.Print("ünd ❯ ready\r\n")
	file, err := os.OpenFile(os.Args[1], os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return 1
	}
	fmt.Fprintln(file, os.Getpid())
	_, _ = io.Copy(file, os.Stdin)
	return 0
}

// program is a running echo.
type program struct {
	t    *testing.T
	keys string // the file that it writes to
}

// typed returns the program's pid and all bytes that it has read.
func (p program) typed() (pid int, keys string) {
	data, _ := os.ReadFile(p.keys)
	first, rest, _ := strings.Cut(string(data), "\n")
	pid, _ = strconv.Atoi(first)
	return pid, rest
}

// process returns the program's process when it runs. The process ends with the test.
func (p program) process() resume.Process {
	p.t.Helper()
	pid := 0
	p.until("the program runs", func() bool {
		pid, _ = p.typed()
		path, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
		environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)) // is set after exe
		return filepath.Base(path) == filepath.Base(os.Args[0]) && len(environ) > 0
	})
	process := processOf(p.t, pid)
	p.t.Cleanup(func() { // it may have left its terminal, and would outlive that
		if stat, err := procfs.Proc.Stat(pid); err == nil && stat.Start == process.Start {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return process
}

// processOf returns the process of that pid.
func processOf(t *testing.T, pid int) resume.Process {
	t.Helper()
	stat, err := procfs.Proc.Stat(pid)
	require.NoError(t, err)
	return resume.Process{PID: pid, Start: stat.Start}
}

// until waits until ok returns true.
func (p program) until(what string, ok func() bool) {
	p.t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.t.Fatal("waited in vain: ", what)
		}
	}
}

// refusalIn returns the refusal in an error.
func refusalIn(t *testing.T, err error) *terminal.Refusal {
	t.Helper()
	refusal := new(terminal.Refusal)
	require.ErrorAs(t, err, &refusal)
	return refusal
}

// server is a tmux server for one test.
type server struct {
	program // in its pane
	dir     string
	socket  string
}

func newServer(t *testing.T) *server {
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("TMUX IS NOT TESTED HERE: there is no program of that name")
	}
	dir, err := os.MkdirTemp("", "tm,x") // the paths of sockets must be short; this one has a comma
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return &server{program: program{t: t, keys: filepath.Join(dir, "keys")}, dir: dir, socket: filepath.Join(dir, "s")}
}

// run starts a pane with the command, in which SELF is the test binary.
func (s *server) run(command string) {
	s.t.Helper()
	self, err := os.Executable()
	require.NoError(s.t, err)
	command = strings.ReplaceAll(command, "SELF", "'"+self+"' '"+s.keys+"'")
	cmd := exec.Command("tmux", "-S", s.socket, "-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", command)
	cmd.Env = append(os.Environ(), childEnv+"=echo")
	out, err := cmd.CombinedOutput()
	require.NoError(s.t, err, "%s", out)
	s.t.Cleanup(func() { _ = exec.Command("tmux", "-S", s.socket, "kill-server").Run() })
}

func (s *server) tmux(args ...string) {
	s.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-S", s.socket}, args...)...).CombinedOutput()
	require.NoError(s.t, err, "%s", out)
}

func find(t *testing.T, process resume.Process) *terminal.Pane {
	t.Helper()
	pane, err := terminal.Find(t.Context(), process, tmux.Find)
	require.NoError(t, err)
	return pane
}

func TestWhatIsTypedReachesTheProgramAsItIs(t *testing.T) {
	s := newServer(t)
	t.Setenv("LC_ALL", "C") // as in a service
	t.Setenv("LANG", "C")
	t.Setenv("TMUX", "/nowhere,1,0") // the daemon itself may run in a pane
	s.run("SELF")
	pane := find(t, s.process())
	require.Contains(t, pane.String(), s.socket)

	screen, err := pane.Screen(t.Context())
	require.NoError(t, err)
	require.Contains(t, screen, "ünd ❯ ready")

	var want strings.Builder
	for _, text := range []string{"continue", "-l", "Enter", "C-c", "a;", ";", `a\;`, "$(id) `id` %1 #{pid} ~ 'x' \"y\"", "ünd ❯ 世界", "Escape"} {
		require.NoError(t, pane.Type(t.Context(), text))
		want.WriteString(text)
	}
	require.NoError(t, pane.Press(t.Context(), terminal.Escape))
	require.NoError(t, pane.Press(t.Context(), terminal.Enter))
	want.WriteString("\x1b\r")
	s.until("all of it arrives", func() bool { _, keys := s.typed(); return len(keys) >= len(want.String()) })
	_, keys := s.typed()
	require.Equal(t, want.String(), keys)
}

func TestNothingButPlainTextAndTwoKeysIsEverTyped(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.run("SELF")
	pane := find(t, s.process())
	for _, text := range []string{"", "a\n", "a\r", "\x1b[A", "\x03", "a\x7f", "a\u0085"} {
		require.Error(t, pane.Type(t.Context(), text), "%q", text)
	}
	for _, key := range []terminal.Key{"1", "Down", "C-c", "y", "", "Enter ;"} {
		require.Error(t, pane.Press(t.Context(), key), "%q", key)
	}
	_, keys := s.typed()
	require.Empty(t, keys)
}

func TestAPaneIsProvedToBeTheProcesss(t *testing.T) {
	t.Parallel()
	for rule, c := range map[string]struct {
		command string
		then    func(*testing.T, *server, resume.Process) resume.Process
		why     string // "": it is proved
		passing bool
	}{
		"the pane's first process": {command: "exec SELF"},
		"what a shell started":     {command: "sh -c 'sh -c \"SELF; true\"; true'"},
		"another process of that pid": {
			command: "SELF", why: "is gone", passing: true,
			then: func(_ *testing.T, _ *server, p resume.Process) resume.Process { p.Start++; return p },
		},
		"in a terminal within the pane": {
			command: "script -qec \"SELF\" /dev/null", why: "has another terminal",
		},
		"without a terminal": {
			command: "setsid -f sh -c \"" + childEnv + "=sleep SELF & echo \\$! > KEYS; wait\"; sleep 100", why: "does not belong",
		},
		"behind another program": {
			command: "bash -c 'set -m; " + childEnv + "=sleep SELF & echo $! > KEYS; sleep 100'", why: "not in the foreground", passing: true,
		},
		"stopped": {
			command: "sh -c \"SELF; true\"", why: "not in the foreground", passing: true,
			then: func(t *testing.T, s *server, p resume.Process) resume.Process {
				require.NoError(t, syscall.Kill(p.PID, syscall.SIGSTOP))
				s.until("it is stopped", func() bool {
					text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.PID))
					return strings.Contains(string(text), ") T ")
				})
				return p
			},
		},
		"somebody reads back": {
			command: "SELF", why: "reads back", passing: true,
			then: func(_ *testing.T, s *server, p resume.Process) resume.Process { s.tmux("copy-mode"); return p },
		},
		"keys go to several panes": {
			command: "SELF", why: "other panes too", passing: true,
			then: func(_ *testing.T, s *server, p resume.Process) resume.Process {
				s.tmux("split-window", "sleep 100")
				s.tmux("set", "-w", "synchronize-panes", "on")
				return p
			},
		},
		"keys are switched off": {
			command: "SELF", why: "takes no input", passing: true,
			then: func(_ *testing.T, s *server, p resume.Process) resume.Process {
				s.tmux("select-pane", "-d")
				return p
			},
		},
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			s.run(strings.ReplaceAll(c.command, "KEYS", "'"+s.keys+"'"))
			process := s.process()
			if c.then != nil {
				process = c.then(t, s, process)
			}
			pane, err := terminal.Find(t.Context(), process, tmux.Find)
			if c.why == "" {
				require.NoError(t, err)
				require.NoError(t, pane.Type(t.Context(), "x"))
				return
			}
			got := refusalIn(t, err)
			require.Contains(t, got.Why, c.why)
			require.Equal(t, c.passing, got.Passing)
			_, keys := s.typed()
			require.Empty(t, keys)
		})
	}
}

// The state when the pane was found may have changed when a key is pressed.
func TestEveryKeyIsProvedAnew(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.run("SELF")
	pane := find(t, s.process())
	s.tmux("copy-mode")
	require.Contains(t, refusalIn(t, pane.Type(t.Context(), "x")).Why, "reads back")
	require.Contains(t, refusalIn(t, pane.Press(t.Context(), terminal.Enter)).Why, "reads back")
	s.tmux("send-keys", "-X", "cancel")
	require.NoError(t, pane.Type(t.Context(), "x"))
	s.tmux("split-window", "sleep 100")
	s.tmux("kill-pane", "-t", "%0")
	require.Contains(t, refusalIn(t, pane.Press(t.Context(), terminal.Enter)).Why, "gone")
	s.tmux("kill-server")
	require.Error(t, pane.Press(t.Context(), terminal.Enter))
	_, err := pane.Screen(t.Context())
	require.Error(t, err)
}

func TestAProcessOutsideOfTmuxHasNoPane(t *testing.T) {
	t.Parallel()
	start := func(env ...string) resume.Process {
		child := exec.Command(os.Args[0])
		child.Env = append(env, childEnv+"=sleep")
		require.NoError(t, child.Start())
		t.Cleanup(func() { _ = child.Process.Kill(); _ = child.Wait() })
		for { // the new environment is visible a moment after exec
			if env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", child.Process.Pid)); err != nil || len(env) > 0 {
				break
			}
		}
		return processOf(t, child.Process.Pid)
	}
	for _, c := range []struct {
		env []string
		why string
	}{
		{nil, "it is not in tmux"},
		{[]string{"TMUX=", "TMUX_PANE="}, "it is not in tmux"},
		{[]string{"TMUX=relative,1,0", "TMUX_PANE=%0"}, "it is not in tmux"},
		{[]string{"TMUX=/tmp/x,1,0", "TMUX_PANE=%0;kill-server"}, "it is not in tmux"},
		{[]string{"TMUX=/nowhere/x,1,0", "TMUX_PANE=%0"}, "server is gone"},
		{[]string{"TMUX=/etc/passwd,1,0", "TMUX_PANE=%0"}, "server is gone"},
	} {
		_, err := terminal.Find(t.Context(), start(c.env...), tmux.Find)
		got := refusalIn(t, err)
		require.Contains(t, got.Why, c.why, "%v", c.env)
		require.False(t, got.Passing)
	}

	// It inherited the variables of a pane and is not in that pane.
	s := newServer(t)
	s.run("SELF")
	find(t, s.process())
	_, err := terminal.Find(t.Context(), start("TMUX="+s.socket+",1,0", "TMUX_PANE=%0"), tmux.Find)
	require.Contains(t, refusalIn(t, err).Why, "does not belong")
	_, err = terminal.Find(t.Context(), start("TMUX="+s.socket+",1,0", "TMUX_PANE=%99"), tmux.Find)
	require.Contains(t, refusalIn(t, err).Why, "pane is gone")
	_, err = terminal.Find(t.Context(), resume.Process{PID: 1 << 30}, tmux.Find)
	require.Error(t, err)
}

// A tmux that never answers does not block for long.
func TestACallThatHangsIsCutShort(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.run("SELF")
	pane := find(t, s.process())
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	server, err := exec.Command("tmux", "-S", s.socket, "display-message", "-p", "#{pid}").Output()
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(server)))
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	defer func() { _ = syscall.Kill(pid, syscall.SIGCONT) }()
	began := time.Now()
	_, err = pane.Screen(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Less(t, time.Since(began), 5*time.Second)
}

// attach is a person at the keyboard: what it is called with is typed by a client of tmux.
func (s *server) attach() (types func(keys string)) {
	s.t.Helper()
	client := exec.Command("script", "-qec", "tmux -u -S '"+s.socket+"' attach", "/dev/null")
	client.Env = append(os.Environ(), "TERM=xterm", "TMUX=")
	keys, err := client.StdinPipe()
	require.NoError(s.t, err)
	require.NoError(s.t, client.Start())
	s.t.Cleanup(func() { _ = keys.Close(); _ = client.Process.Kill(); _ = client.Wait() })
	s.until("the client is there", func() bool {
		out, _ := exec.Command("tmux", "-S", s.socket, "list-clients").Output()
		return len(out) > 0
	})
	return func(text string) { _, _ = fmt.Fprint(keys, text) }
}

// shifted is a pane whose keys were pressed that much longer ago, so that nobody has to wait for ten seconds to
// pass.
type shifted struct {
	terminal.Window
	ago *time.Duration
}

func (w shifted) Facts(ctx context.Context) (terminal.Facts, error) {
	facts, err := w.Window.Facts(ctx)
	if !facts.LastKey.IsZero() {
		facts.LastKey = facts.LastKey.Add(-*w.ago)
	}
	return facts, err
}

// Where a person types nothing is typed for ten seconds, and one more key of theirs is enough to give
// way. Keys that other programs send, and keys in another pane, do not count.
func TestAPersonAtTheKeyboardGoesFirst(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.run("exec SELF")
	var ago time.Duration
	var window terminal.Window
	pane, err := terminal.Find(t.Context(), s.process(), func(environ []string) (terminal.Window, error) {
		found, err := tmux.Find(environ)
		window = found
		return shifted{found, &ago}, err
	})
	require.NoError(t, err)
	require.NoError(t, pane.Quiet(t.Context()), "nobody is attached")
	began := time.Now()
	types := s.attach()
	facts, err := window.Facts(t.Context())
	require.NoError(t, err)
	key := facts.LastKey
	require.WithinRange(t, key, began, time.Now().Add(time.Second), "tmux tells the second in which somebody came")
	require.ErrorIs(t, pane.Type(t.Context(), "a"), terminal.ErrInUse, "somebody came since")
	for ; ago < 11*time.Second; ago += 250 * time.Millisecond {
		before := time.Since(key) + ago
		err := pane.Quiet(t.Context())
		switch after := time.Since(key) + ago; {
		case after < 10*time.Second:
			require.ErrorIs(t, err, terminal.ErrInUse, "%s after the key", after)
		case before >= 10*time.Second:
			require.NoError(t, err, "%s after the key", before)
		}
	}
	require.NoError(t, pane.Quiet(t.Context()))
	s.tmux("send-keys", "x")
	require.NoError(t, pane.Type(t.Context(), "it's; 'so';"))
	time.Sleep(time.Until(key)) // tmux tells whole seconds: one more key in the same one is not told apart
	types("y")
	s.until("the key has arrived", func() bool { _, keys := s.typed(); return strings.HasSuffix(keys, "y") })
	require.ErrorIs(t, pane.Press(t.Context(), terminal.Enter), terminal.ErrInUse)
	require.NoError(t, pane.TakeBack(t.Context(), "né"), "characters are deleted, not bytes")
	s.until("the keys have arrived", func() bool { _, keys := s.typed(); return strings.HasSuffix(keys, "\x05") })
	_, keys := s.typed()
	require.Equal(t, "xit's; 'so';y\x01\x1b[3~\x1b[3~\x05", keys)

	s.tmux("split-window", "sleep 1000")
	types("z")
	require.NoError(t, pane.Quiet(t.Context()), "the person is elsewhere")
	require.NoError(t, pane.Type(t.Context(), "b"))
}

// The terminal that the agent lives in counts, not the one around it.
func TestOneTerminalInTheOther(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "sh") // the path of a socket may not be long
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	outer := program{t: t, keys: filepath.Join(dir, "keys")}
	listener, err := shellpty.Listen(filepath.Join(dir, "shells"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go shellpty.Serve(listener, func(*peer.Held, shellpty.Question) shellpty.Answer {
		pid, _ := outer.typed()
		tty, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/0", pid))
		return shellpty.Answer{PID: pid, TTY: tty}
	})
	inShell := shellpty.Variable + "=" + listener.Addr().String()

	s := newServer(t)
	s.run(inShell + " exec SELF") // as in a tmux that was started in a resumed shell
	cmd := exec.Command(os.Args[0], outer.keys)
	cmd.Env = append(os.Environ(), childEnv+"=echo", inShell, "TMUX="+s.socket+",1,0", "TMUX_PANE=%0") // and the other way round
	terminaltest.Open(t, cmd)
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })

	pane, err := terminal.Find(t.Context(), s.process(), tmux.Find, shellpty.Find)
	require.NoError(t, err)
	require.Contains(t, pane.String(), "of the tmux server at "+s.socket)
	pane, err = terminal.Find(t.Context(), outer.process(), tmux.Find, shellpty.Find)
	require.NoError(t, err)
	require.Contains(t, pane.String(), "the resumed shell at "+listener.Addr().String())
}
