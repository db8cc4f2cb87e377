package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// fakeRun stands in for systemd-run: it starts the command as the manager
// would, outside of its own process group and with nothing but the variables
// it was told, and lives as long as it does.
func fakeRun(args []string) int {
	if words := os.Getenv("FAKE_REFUSES"); words != "" {
		fmt.Fprintln(os.Stderr, words)
		return 1
	}
	env := []string{"MANAGER=1"}
	var dir, output string
	for len(args) > 0 && args[0] != "--" {
		name, value, _ := strings.Cut(args[0], "=")
		switch {
		case name == "--setenv" && strings.Contains(value, "="):
			env = append(env, value)
		case name == "--setenv":
			env = append(env, value+"="+os.Getenv(value))
		case name == "--working-directory":
			dir = value
		case strings.HasPrefix(args[0], "--property=StandardOutput=append:"):
			_, output, _ = strings.Cut(args[0], "append:")
		}
		args = args[1:]
	}
	args = args[1:]
	for i, arg := range args {
		args[i] = strings.ReplaceAll(arg, "$$", "$")
	}
	file, err := os.OpenFile(output, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	child := exec.Command(args[0], args[1:]...)
	child.Dir, child.Env, child.Stdout, child.Stderr = dir, env, file, file
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = child.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "Failed to start transient service unit:", err)
		return 1
	}
	return 0
}

func init() { children["systemd-run"] = fakeRun }

// managed makes this process look like the main process of a user's service.
func managed(t *testing.T) {
	if _, ok := ownManager(); ok {
		return // it is one
	}
	bin, runtime := t.TempDir(), t.TempDir()
	self, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.Symlink(self, filepath.Join(bin, "systemd-run")))
	require.NoError(t, os.Symlink("/bin/true", filepath.Join(bin, "systemctl")))
	require.NoError(t, os.MkdirAll(filepath.Join(runtime, "systemd", "private"), 0o700))
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Setenv("XDG_RUNTIME_DIR", runtime)
	t.Setenv("INVOCATION_ID", "0123456789abcdef0123456789abcdef")
	t.Setenv("SYSTEMD_EXEC_PID", strconv.Itoa(os.Getpid()))
}

func TestACommandUnderAManagerIsTheSameCommand(t *testing.T) {
	managed(t)
	t.Setenv("SECRET_OF_THE_TEST", "hunter2 $HOME\tand\nmore")
	t.Setenv("BASH_FUNC_f%%", "() { :; }")
	t.Setenv("LESS_TERMCAP_mb", "\x1b[1m")
	cmd := command(t, "report", "$HOME", "${HOME} $$", "%h", "a b", "", "-x", "--", `\n"'`)
	got := start(t, cmd).Wait(t.Context())
	require.NoError(t, got.Err)
	require.True(t, got.Known)
	var f facts
	require.NoError(t, json.Unmarshal([]byte(output(t, cmd)), &f))
	require.Equal(t, cmd.Argv[1:], f.Args)
	require.Equal(t, cmd.Dir, f.Dir)
	require.Equal(t, f.PID, f.Group)
	require.Equal(t, "/dev/null", f.Stdin)
	require.False(t, f.Terminal)
	require.Contains(t, f.Env, "SECRET_OF_THE_TEST=hunter2 $HOME\tand\nmore")
	require.Contains(t, f.Env, "RESUMED_MARK="+cmd.Mark)
	require.Contains(t, f.Env, "PWD="+cmd.Dir)
	require.NotContains(t, f.Env, "INVOCATION_ID="+os.Getenv("INVOCATION_ID"), "it is not the daemon")
}

func TestValuesOfVariablesAreNotArguments(t *testing.T) {
	cmd := Command{Argv: []string{"claude", "-p"}, Dir: "/src", Mark: "m-1", Output: "/o/1.log", Grace: 1500 * time.Millisecond}
	client := manager{run: "/bin/systemd-run"}.client("/bin/claude", cmd, []string{"KEY=hunter2", "RESUMED_MARK=m-1", "bad%name=x"})
	require.Equal(t, []string{
		"/bin/systemd-run", "--user", "--quiet", "--wait", "--collect", "--service-type=exec", "--unit=resumed-m-1.service",
		"--description=A session that resumed continues", "--working-directory=/src",
		"--property=TimeoutStopSec=1500ms", "--property=KillMode=control-group", "--setenv=RESUMED_MARK=m-1",
		"--property=StandardOutput=append:/o/1.log", "--property=StandardError=append:/o/1.log",
		"--setenv=KEY", "--", "/bin/claude", "-p",
	}, client.Args)
	require.Equal(t, []string{"KEY=hunter2", "bad%name=x"}, client.Env, "the client does not carry the mark")
}

func TestTheExitCodeOfAUnitIsTheCommands(t *testing.T) {
	managed(t)
	for _, code := range []int{0, 3, 75} {
		cmd := command(t, "exit", strconv.Itoa(code))
		got := start(t, cmd).Wait(t.Context())
		require.Equal(t, code, got.ExitCode)
		require.True(t, got.Known)
		require.Equal(t, code == 0, got.Err == nil)
		require.Equal(t, "out\nerr\n", output(t, cmd))
	}
}

func TestAUnitEndsAsAWhole(t *testing.T) {
	managed(t)
	for _, role := range []string{"parent", "setsid"} {
		cmd := command(t, role)
		p := start(t, cmd)
		var pid int
		_, err := fmt.Sscanf(awaitOutput(t, cmd, "pid"), "pid %d", &pid)
		require.NoError(t, err)
		require.NoError(t, p.Stop(t.Context()))
		require.False(t, lives(p.PID))
		require.False(t, lives(pid), role)
		require.ErrorIs(t, p.Wait(t.Context()).Err, ErrStopped)
	}
}

func TestAUnitThatRunsTooLongIsEnded(t *testing.T) {
	managed(t)
	cmd := command(t, "sleep")
	cmd.Timeout = 300 * time.Millisecond
	p := start(t, cmd)
	_, ok := errors.AsType[*TimeoutError](p.Wait(t.Context()).Err)
	require.True(t, ok)
	require.False(t, lives(p.PID))
}

// A unit is not its client: it outlives it, as it outlives the daemon.
func TestAUnitOutlivesItsClient(t *testing.T) {
	managed(t)
	cmd := command(t, "polite")
	p := start(t, cmd)
	awaitOutput(t, cmd, "ready")
	client := clientOf(t, cmd.Mark)
	require.NotEqual(t, client, p.PID)
	require.NoError(t, syscall.Kill(client, syscall.SIGKILL))
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, p.Wait(ctx).Err, ErrDetached, "it goes on")

	found, ok := Find(cmd.Mark)
	require.True(t, ok)
	require.Equal(t, p.Process, found.Process)
	found.Bind(cmd)
	require.NoError(t, found.Stop(t.Context()))
	require.Contains(t, output(t, cmd), "cleaned up, signals left: 0")
	got := p.Wait(t.Context())
	require.NoError(t, got.Err)
	require.False(t, got.Known, "whoever knew is gone")
}

// clientOf returns the process that has the mark among its arguments.
func clientOf(t *testing.T, mark string) int {
	t.Helper()
	for _, s := range processes() {
		args, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", s.pid))
		if strings.Contains(string(args), "--setenv="+resume.MarkVariable+"="+mark) {
			return s.pid
		}
	}
	t.Fatal("no client")
	return 0
}

// A manager that refuses has started nothing: the command runs as it does
// where there is none.
func TestAManagerThatRefusesIsDoneWithout(t *testing.T) {
	if _, ok := ownManager(); ok {
		t.Skip("NOT TESTED UNDER A REAL MANAGER: it does not refuse")
	}
	managed(t)
	t.Setenv("FAKE_REFUSES", "Failed to connect to bus: No such file or directory")
	cmd := command(t, "exit", "3")
	p := start(t, cmd)
	got := p.Wait(t.Context())
	require.Equal(t, 3, got.ExitCode)
	require.Equal(t, "out\nerr\n", output(t, cmd))

	// Words that are not the client's own are the command's: it has run.
	t.Setenv("FAKE_REFUSES", "Job for resumed-x.service failed because the control process exited with error code.")
	cmd = command(t, "exit", "0")
	got = start(t, cmd).Wait(t.Context())
	require.Equal(t, 1, got.ExitCode)
	require.Empty(t, output(t, cmd), "it is not run a second time")
}

func TestOnlyTheMainProcessOfAServiceHasAManager(t *testing.T) {
	managed(t)
	_, ok := ownManager()
	require.True(t, ok)
	for name, spoil := range map[string]func(){
		"a shell in a terminal that is a unit": func() { t.Setenv("SYSTEMD_EXEC_PID", "1") },
		"no service":                           func() { t.Setenv("INVOCATION_ID", "") },
		"a login without a manager":            func() { t.Setenv("XDG_RUNTIME_DIR", t.TempDir()) },
		"no runtime directory":                 func() { t.Setenv("XDG_RUNTIME_DIR", "") },
	} {
		kept := slices.Clone(os.Environ())
		spoil()
		_, ok := ownManager()
		require.False(t, ok, name)
		for _, entry := range kept {
			key, value, _ := strings.Cut(entry, "=")
			require.NoError(t, os.Setenv(key, value))
		}
	}
}

// Under a real manager the command is in a control group of its own.
func TestACommandIsAUnitOfItsOwn(t *testing.T) {
	if _, ok := ownManager(); !ok {
		t.Skip("NOT TESTED HERE: this is not a service of a user's systemd; run the test binary with systemd-run --user --wait")
	}
	cmd := command(t, "polite")
	p := start(t, cmd)
	require.True(t, inUnit(p.PID, unitName(cmd.Mark)))
	require.False(t, inUnit(os.Getpid(), unitName(cmd.Mark)))
	state, err := exec.Command("systemctl", "--user", "is-active", unitName(cmd.Mark)).Output()
	require.NoError(t, err)
	require.Equal(t, "active\n", string(state))
	require.NoError(t, p.Stop(t.Context()))
	listed, err := exec.Command("systemctl", "--user", "list-units", "--all", "--plain", "--no-legend", unitName(cmd.Mark)).Output()
	require.NoError(t, err)
	require.Empty(t, string(listed), "nothing of it is left")
}
