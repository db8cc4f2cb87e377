package runner

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The test binary is its own child: this variable names what it does.
const childEnv = "RUNNER_TEST_CHILD"

// A child that is built with the race detector would sleep for a second before it exits.
const noExitSleep = "GORACE=atexit_sleep_ms=0"

func TestMain(m *testing.M) {
	if role := os.Getenv(childEnv); role != "" {
		os.Exit(children[role](os.Args[1:]))
	}
	if len(os.Args) > 2 && os.Args[1] == KeepCommand { // otherwise it would run all tests once more
		os.Exit(RunWithStatus(os.Args[2], os.Args[3:]))
	}
	flag.Parse()
	if err := flag.Set("test.parallel", "16"); err != nil { // they wait for processes, and compute little
		panic(err)
	}
	os.Exit(m.Run())
}

var children = map[string]func(args []string) int{
	"exit": func(args []string) int {
		fmt.Println("out")
		fmt.Fprintln(os.Stderr, "err")
		code, _ := strconv.Atoi(args[0])
		return code
	},
	"sleep":    func([]string) int { time.Sleep(time.Hour); return 0 },
	"stubborn": stubborn,
	"polite": func([]string) int {
		term := make(chan os.Signal, 2)
		signal.Notify(term, syscall.SIGTERM)
		fmt.Println("ready")
		<-term
		time.Sleep(3 * sweepEvery) // time for a second signal
		fmt.Println("cleaned up, signals left:", len(term))
		return 0
	},
	"talk": func([]string) int {
		for range 90 {
			fmt.Println("word")
			time.Sleep(50 * time.Millisecond)
		}
		return 0
	},
	"parent": func([]string) int { return startAndSleep(false) },
	"setsid": func([]string) int { return startAndSleep(true) },
	"report": report,
	"daemon": daemon,
}

// stubborn ignores SIGTERM and prints its pid.
func stubborn([]string) int {
	signal.Ignore(syscall.SIGTERM)
	fmt.Println("pid", os.Getpid())
	time.Sleep(time.Hour)
	return 0
}

// startAndSleep starts a stubborn child, perhaps in a session of its own.
func startAndSleep(setsid bool) int {
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childEnv+"=stubborn")
	child.Stdout, child.Stderr = os.Stdout, os.Stderr
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: setsid}
	if err := child.Start(); err != nil {
		fmt.Println(err)
		return 1
	}
	time.Sleep(time.Hour)
	return 0
}

// facts is what a child reports about its environment.
type facts struct {
	Args     []string
	Env      []string
	Dir      string
	Stdin    string
	Files    []string
	PID      int
	Group    int
	Terminal bool
}

func report(args []string) int {
	dir, _ := os.Getwd()
	stdin, _ := os.Readlink("/proc/self/fd/0")
	f := facts{Args: args, Env: os.Environ(), Dir: dir, Stdin: stdin, PID: os.Getpid(), Group: syscall.Getpgrp()}
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, entry := range entries {
		// Descriptors that the runtime opened after the start are not inherited.
		target, err := os.Readlink("/proc/self/fd/" + entry.Name())
		if err == nil && !strings.HasPrefix(target, "anon_inode:") && !strings.HasPrefix(target, "/proc/") && !strings.HasPrefix(target, "/sys/") {
			f.Files = append(f.Files, entry.Name()+" "+target)
		}
	}
	tty, err := os.Open("/dev/tty")
	if err == nil {
		tty.Close()
	}
	f.Terminal = err == nil
	if err := json.NewEncoder(os.Stdout).Encode(f); err != nil {
		return 1
	}
	return 0
}

// daemon starts a command as a daemon would, prints its identity, and dies at once.
func daemon(args []string) int {
	p, err := Start(Command{
		Argv: []string{os.Args[0]}, Dir: args[0], Output: args[1], Mark: args[2],
		Env: []string{childEnv + "=polite", noExitSleep},
	})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println(p.PID, p.Start)
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	return 0
}

// command returns a command that runs the test binary in a role.
func command(t testing.TB, role string, args ...string) Command {
	t.Helper()
	dir := t.TempDir()
	return Command{
		Argv:   append([]string{os.Args[0]}, args...),
		Dir:    dir,
		Env:    []string{childEnv + "=" + role, noExitSleep},
		Output: filepath.Join(dir, "runs", "session", "1.log"),
		Mark:   t.Name() + "-" + strconv.Itoa(os.Getpid()),
		Grace:  200 * time.Millisecond,
	}
}

func start(t testing.TB, cmd Command) *Process {
	t.Helper()
	p, err := Start(cmd)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		require.NoError(t, p.Stop(ctx))
	})
	return p
}

func output(t testing.TB, cmd Command) string {
	t.Helper()
	text, err := os.ReadFile(cmd.Output)
	require.NoError(t, err)
	return string(text)
}

// awaitOutput waits until the command has printed something, and returns it.
func awaitOutput(t testing.TB, cmd Command, want string) string {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if text, err := os.ReadFile(cmd.Output); err == nil && strings.Contains(string(text), want) && strings.HasSuffix(string(text), "\n") {
			return string(text)
		}
	}
	require.FailNow(t, "the command never said it", want)
	return ""
}

// requireExit checks the exit code of a command.
func requireExit(t *testing.T, code int, got Result) {
	t.Helper()
	if code == 0 {
		require.NoError(t, got.Err)
	} else {
		require.EqualError(t, got.Err, fmt.Sprint("exit status ", code))
	}
}

// soon bounds how long a test waits for what ends after a moment.
func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// bounds returns limits that never change.
func bounds(timeout, stall time.Duration) func() (time.Duration, time.Duration) {
	return func() (time.Duration, time.Duration) { return timeout, stall }
}

func TestTheExitCodeAndTheOutputAreKept(t *testing.T) {
	t.Parallel()
	for _, code := range []int{0, 3} {
		cmd := command(t, "exit", strconv.Itoa(code))
		got := start(t, cmd).Wait(t.Context())
		require.True(t, got.Known)
		requireExit(t, code, got)
		require.Equal(t, "out\nerr\n", output(t, cmd))

		requireExit(t, 0, start(t, command(t, "exit", "0")).Wait(t.Context()))
		again := cmd
		start(t, again).Wait(t.Context())
		require.Equal(t, "out\nerr\nout\nerr\n", output(t, cmd), "an earlier run's words are not lost")
		require.Equal(t, "0600 0700", modes(t, cmd.Output))
	}
}

func modes(t *testing.T, path string) string {
	t.Helper()
	file, err := os.Stat(path)
	require.NoError(t, err)
	dir, err := os.Stat(filepath.Dir(path))
	require.NoError(t, err)
	return fmt.Sprintf("%04o %04o", file.Mode().Perm(), dir.Mode().Perm())
}

func TestAMissingProgramOrDirectoryIsToldApart(t *testing.T) {
	plain := filepath.Join(t.TempDir(), "plain")
	require.NoError(t, os.WriteFile(plain, nil, 0o600))
	script := filepath.Join(t.TempDir(), "script")
	require.NoError(t, os.WriteFile(script, []byte("#!/no/such/node\n"), 0o700))
	nameless := filepath.Join(t.TempDir(), "nameless")
	require.NoError(t, os.WriteFile(nameless, []byte("echo hello\n"), 0o700))
	tests := map[string]struct {
		change   func(*Command)
		notFound bool
		wantMsg  string
	}{
		"a name that is not in PATH":       {func(c *Command) { c.Argv[0] = "no-such-agent" }, true, "not in PATH"},
		"a path that is not there":         {func(c *Command) { c.Argv[0] = "/no/such/agent" }, true, "/no/such/agent"},
		"a file that cannot be run":        {func(c *Command) { c.Argv[0] = plain }, true, "permission denied"},
		"a directory for a program":        {func(c *Command) { c.Argv[0] = "/usr" }, true, "is a directory"},
		"a script without its interpreter": {func(c *Command) { c.Argv[0] = script }, true, "interpreter is missing"},
		"a script that names none":         {func(c *Command) { c.Argv[0] = nameless }, true, "a script begins with #!"},
		"a directory that is gone":         {func(c *Command) { c.Dir = "/no/such/dir" }, false, `enter directory "/no/such/dir": no such file or directory`},
		"a file for a directory":           {func(c *Command) { c.Dir = plain }, false, "not a directory"},
		"a relative directory":             {func(c *Command) { c.Dir = "src" }, false, "not an absolute path"},
		"no directory":                     {func(c *Command) { c.Dir = "" }, false, "not an absolute path"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			cmd := command(t, "exit", "0")
			tt.change(&cmd)
			_, err := Start(cmd)
			require.ErrorContains(t, err, tt.wantMsg)
			failed, ok := errors.AsType[*StartError](err)
			require.True(t, ok && !failed.Later, "it is for a person to fix")
			require.Equal(t, tt.notFound, strings.HasPrefix(failed.What, "find program"))
			require.Equal(t, !tt.notFound, strings.HasPrefix(failed.What, "enter directory"))
		})
	}
	_, err := Start(Command{Dir: "/"})
	require.ErrorContains(t, err, "names no program")
}

func TestTheProgramIsLookedUpInTheCommandsOwnPath(t *testing.T) {
	bin := t.TempDir()
	require.NoError(t, os.Symlink(os.Args[0], filepath.Join(bin, "my-agent")))
	cmd := command(t, "exit", "0")
	cmd.Argv[0] = "my-agent"
	cmd.Env = append(cmd.Env, "PATH="+bin)
	require.NoError(t, start(t, cmd).Wait(t.Context()).Err)

	require.NoError(t, os.Symlink(os.Args[0], filepath.Join(cmd.Dir, "trap")))
	cmd.Argv[0] = "trap"
	cmd.Env = append(cmd.Env, "PATH=.::"+bin)
	t.Chdir(cmd.Dir) // a relative entry would be found here
	_, err := Start(cmd)
	require.ErrorAs(t, err, new(*StartError), "a program in the session's directory is not run by name")
	cmd.Argv[0] = "./trap"
	require.NoError(t, start(t, cmd).Wait(t.Context()).Err, "but by path it is")
}

// Programs are the files that decide what runs: those that another user must not be able to write.
func TestTheProgramsOfACommandAreItsProgramAndItsScript(t *testing.T) {
	dir, sh := t.TempDir(), "/bin/sh"
	script := filepath.Join(dir, "cli.js")
	require.NoError(t, os.WriteFile(script, nil, 0o600))
	for name, c := range map[string]struct {
		dir  string
		argv []string
		want []string
	}{
		"a program":                     {dir, []string{sh}, []string{sh}},
		"a name in PATH":                {dir, []string{"sh", "-c", "true"}, []string{sh}},
		"an interpreter and its script": {dir, []string{sh, script, "--resume"}, []string{sh, script}},
		"a script of the directory":     {dir, []string{sh, "./cli.js"}, []string{sh, script}},
		"a word that is not a path":     {dir, []string{sh, "cli.js"}, []string{sh}},
		"a path that is not there":      {dir, []string{sh, "./none.js"}, []string{sh}},
		"a directory for a script":      {dir, []string{sh, dir}, []string{sh}},
		"a program that is not there":   {dir, []string{"./none", script}, nil},
		"a relative directory":          {"src", []string{sh, script}, nil},
		"no program":                    {dir, nil, nil},
	} {
		cmd := Command{Argv: c.argv, Dir: c.dir, Base: []string{"PATH=/bin"}}
		require.Equal(t, c.want, cmd.Programs(), name)
	}
}

func TestAShellNeverSeesTheArguments(t *testing.T) {
	t.Parallel()
	cmd := command(t, "report", "$(touch pwned)", "`id`", "a b", "--", "; rm -rf x", "*")
	require.NoError(t, start(t, cmd).Wait(t.Context()).Err)
	var got facts
	require.NoError(t, json.Unmarshal([]byte(output(t, cmd)), &got))
	require.Equal(t, cmd.Argv[1:], got.Args)
}

func TestWhatTheChildInherits(t *testing.T) {
	for _, name := range []string{
		"NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC", "LISTEN_FDS", "LISTEN_PID", "JOURNAL_STREAM",
		"INVOCATION_ID", "RESUMED_CONFIG", "RESUMED_MARK", "RESUMED_LOG_LEVEL", "STATE_DIRECTORY",
	} {
		t.Setenv(name, "daemon")
	}
	t.Setenv("HOME", "/home/someone")
	t.Setenv("PWD", "/elsewhere")

	// A descriptor that children would inherit.
	leak, err := syscall.Open(os.DevNull, syscall.O_RDWR, 0) // without O_CLOEXEC
	require.NoError(t, err)
	defer syscall.Close(leak)

	cmd := command(t, "report")
	cmd.Env = append(cmd.Env, "EXTRA=1", "RESUMED_MARK=forged")
	p := start(t, cmd)
	require.NoError(t, p.Wait(t.Context()).Err)
	var got facts
	require.NoError(t, json.Unmarshal([]byte(output(t, cmd)), &got))

	require.Equal(t, cmd.Dir, got.Dir)
	require.Equal(t, os.DevNull, got.Stdin)
	require.Equal(t, []string{"0 /dev/null", "1 " + cmd.Output, "2 " + cmd.Output}, got.Files)
	require.Equal(t, p.PID, got.PID)
	require.Equal(t, p.PID, got.Group, "a group of its own")
	require.False(t, got.Terminal)

	require.Contains(t, got.Env, "EXTRA=1")
	require.Contains(t, got.Env, "HOME=/home/someone")
	require.Contains(t, got.Env, "PWD="+cmd.Dir)
	ours := slices.DeleteFunc(slices.Clone(got.Env), func(e string) bool { return !strings.HasPrefix(e, "RESUMED_") })
	require.Equal(t, []string{"RESUMED_MARK=" + cmd.Mark}, ours)
	for _, entry := range got.Env {
		require.False(t, strings.HasSuffix(entry, "=daemon"), entry)
	}
}

func TestACommandThatRunsTooLongIsEnded(t *testing.T) {
	t.Parallel()
	cmd := command(t, "sleep")
	const bound = 100 * time.Millisecond
	cmd.Bounds = bounds(bound, 0)
	began := time.Now() // before the start: on a busy machine that takes as long as the bound
	p := start(t, cmd)
	got := p.Wait(soon(t))
	timeout, ok := errors.AsType[*TimeoutError](got.Err)
	require.True(t, ok, "%v", got.Err)
	require.Equal(t, bound, timeout.After)
	require.EqualError(t, got.Err, "the command was ended: it ran longer than 100ms")
	require.GreaterOrEqual(t, time.Since(began), bound/2)
	require.ErrorIs(t, syscall.Kill(p.PID, 0), syscall.ESRCH)
}

func TestASilentCommandIsEnded(t *testing.T) {
	t.Parallel()
	cmd := command(t, "sleep")
	const bound = 100 * time.Millisecond
	cmd.Bounds = bounds(0, bound)
	got := start(t, cmd).Wait(soon(t))
	stall, ok := errors.AsType[*TimeoutError](got.Err)
	require.True(t, ok, "%v", got.Err)
	require.Equal(t, bound, stall.After)
	require.ErrorContains(t, stall, "no sign of life")
}

func TestACommandThatTalksGoesOn(t *testing.T) {
	t.Parallel()
	const stall = 4 * time.Second // of a busy machine too, the words come sooner
	cmd := command(t, "talk")
	cmd.Bounds = bounds(0, stall)
	began := time.Now()
	got := start(t, cmd).Wait(soon(t))
	require.NoError(t, got.Err)
	require.Greater(t, time.Since(began), stall)
}

func TestStopAsksOnceAndWaits(t *testing.T) {
	t.Parallel()
	cmd := command(t, "polite")
	cmd.Grace = time.Minute
	p := start(t, cmd)
	awaitOutput(t, cmd, "ready")
	require.NoError(t, p.Stop(t.Context()))
	got := p.Wait(t.Context())
	require.ErrorIs(t, got.Err, ErrStopped)
	require.True(t, got.Known)
	require.EqualError(t, got.Err, ErrStopped.Error(), "it ended well")
	require.Contains(t, output(t, cmd), "cleaned up, signals left: 0")
}

func TestStopInAHurryStillEndsEverything(t *testing.T) {
	t.Parallel()
	cmd := command(t, "stubborn")
	cmd.Grace = time.Hour
	p := start(t, cmd)
	awaitOutput(t, cmd, "pid")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, p.Stop(ctx))
	got := p.Wait(t.Context())
	require.ErrorIs(t, got.Err, ErrStopped)
	require.ErrorContains(t, got.Err, "killed")
}

func TestNobodyOfACommandIsLeftBehind(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"a grandchild that ignores SIGTERM":    "parent",
		"a grandchild in a session of its own": "setsid",
	}
	for name, role := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := command(t, role)
			p := start(t, cmd)
			var pid int
			_, err := fmt.Sscanf(awaitOutput(t, cmd, "pid"), "pid %d", &pid)
			require.NoError(t, err)
			require.NoError(t, syscall.Kill(pid, 0))
			require.NoError(t, p.Stop(t.Context()))
			require.False(t, lives(pid))
			require.False(t, lives(p.PID))
		})
	}
}

// The group and the session of a command are its own, also if its processes have no mark.
func TestACommandWithoutAMarkIsEndedAsAWhole(t *testing.T) {
	t.Parallel()
	cmd := command(t, "parent")
	cmd.Mark = ""
	p := start(t, cmd)
	var pid int
	_, err := fmt.Sscanf(awaitOutput(t, cmd, "pid"), "pid %d", &pid)
	require.NoError(t, err)
	require.Equal(t, p.PID, p.family().group)
	require.NoError(t, p.Stop(t.Context()))
	require.False(t, lives(pid))
}

// Its pid is free then, and may become the group of another command.
func TestNoSignalGoesToAGroupThatHasEnded(t *testing.T) {
	t.Parallel()
	cmd := command(t, "setsid")
	p := start(t, cmd)
	awaitOutput(t, cmd, "pid")
	if inUnit(p.PID, unitName(cmd.Mark)) {
		t.Skip("NOT TESTED UNDER A REAL MANAGER: it ends what a command leaves")
	}
	require.NoError(t, syscall.Kill(p.PID, syscall.SIGKILL))
	require.ErrorContains(t, p.Wait(t.Context()).Err, "killed")
	left := p.family()
	require.Len(t, left.members, 1, "a grandchild in a session of its own")
	require.Zero(t, left.group)
}

// lives reports whether a process exists and is not a zombie.
func lives(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	return err == nil && !strings.Contains(string(text), "State:\tZ")
}

func TestSomebodyElsesProcessesAreLeftAlone(t *testing.T) {
	t.Parallel()
	other := command(t, "sleep")
	other.Mark = "another-mark"
	bystander := start(t, other)
	cmd := command(t, "sleep")
	require.NoError(t, start(t, cmd).Stop(t.Context()))
	require.True(t, lives(bystander.PID))
}

func BenchmarkStart(b *testing.B) {
	cmd := command(b, "exit", "0")
	cmd.Argv, cmd.Env = []string{"/bin/true"}, nil
	for b.Loop() {
		p, err := Start(cmd)
		require.NoError(b, err)
		require.NoError(b, p.Wait(b.Context()).Err)
	}
}
