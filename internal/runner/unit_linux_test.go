package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
	"github.com/stretchr/testify/require"

	"resumed/internal/sessionbus/bustest"
	"resumed/internal/usermanager"
)

// To test against a real manager, run the test binary with systemd-run --user --wait, as
// systemd/test.sh does.
func underRealManager() bool { return os.Getenv("FAKE_MANAGER") == "" && usermanager.Started() }

// managed makes this process look like the main process of a user's service. It returns nil if
// it is one.
func managed(t *testing.T) (*bustest.Bus, *bustest.Manager) {
	if underRealManager() {
		return nil, nil
	}
	bus := bustest.Session(t)
	t.Setenv("FAKE_MANAGER", "1")
	t.Setenv("INVOCATION_ID", "0123456789abcdef0123456789abcdef")
	t.Setenv("SYSTEMD_EXEC_PID", strconv.Itoa(os.Getpid()))
	return bus, bus.Manager(t)
}

func answer(name string) *dbus.Error { return dbus.NewError("org.freedesktop."+name, nil) }

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

func TestAManagersOwnVariablesAreNotTheCommands(t *testing.T) {
	_, manager := managed(t)
	if manager == nil {
		t.Skip("SKIPPED: this is about a manager that has a key, and the real one has none")
	}
	t.Setenv("KEY_OF_THE_DAEMON", "hunter2")
	t.Setenv("KEPT", "as it is")
	manager.Behave(func(m *bustest.Manager) {
		m.Variables = []string{"KEY_OF_A_PERSON=hunter3", "KEY_OF_THE_DAEMON=hunter4", "KEPT=other"}
	})
	cmd := command(t, "report")
	cmd.Unset = []string{"KEY_OF_THE_DAEMON"}
	require.NoError(t, start(t, cmd).Wait(t.Context()).Err)
	var f facts
	require.NoError(t, json.Unmarshal([]byte(output(t, cmd)), &f))
	require.Contains(t, f.Env, "MANAGER=1", "the manager started it")
	require.NotContains(t, strings.Join(f.Env, " "), "hunter")
	require.Contains(t, f.Env, "KEPT=as it is")
}

func TestWhatAManagerIsTold(t *testing.T) {
	cmd := Command{Argv: []string{"claude", "-p", "$HOME"}, Dir: "/src", Mark: "m-1", Output: "/o/1.log", Grace: 1500 * time.Millisecond}
	told := make(map[string]any)
	for _, p := range unitProperties("/bin/claude", cmd, []string{"KEY=hunter2", "RESUMED_MARK=m-1", "bad%name=x", "BELL=\a"}) {
		told[p.Name] = p.Value.Value()
		if p.Name == "ExecStart" {
			require.Equal(t, `[("/bin/claude", ["/bin/claude", "-p", "$$HOME"], false,)]`, p.Value.String())
			delete(told, p.Name)
		}
	}
	require.Equal(t, map[string]any{
		"Description": "A session that resumed continues", "Type": "exec", "WorkingDirectory": "/src",
		"Environment": []string{"KEY=hunter2", "RESUMED_MARK=m-1"}, "KillMode": "control-group", "TimeoutStopUSec": uint64(1_500_000),
		"CollectMode": "inactive-or-failed", "AddRef": true,
		"StandardOutputFileToAppend": "/o/1.log", "StandardErrorFileToAppend": "/o/1.log",
	}, told)
}

func TestVariablesThatAManagerRefusesAreNamed(t *testing.T) {
	env := []string{"KEY=hunter2", "LINES=a\n\tb", "BASH_FUNC_x%%=() { :; }", "BELL=\a", "LATIN=\xe9"}
	if !underRealManager() {
		require.Empty(t, NotPassed(env), "the daemon itself passes them on")
	}
	managed(t)
	require.Equal(t, []string{"BASH_FUNC_x%%", "BELL", "LATIN"}, NotPassed(env))
}

func TestTheExitCodeOfAUnitIsTheCommands(t *testing.T) {
	managed(t)
	for _, code := range []int{0, 3, 75} {
		cmd := command(t, "exit", strconv.Itoa(code))
		got := start(t, cmd).Wait(t.Context())
		requireExit(t, code, got)
		require.True(t, got.Known)
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
	cmd.Bounds = bounds(300*time.Millisecond, 0)
	p := start(t, cmd)
	_, ok := errors.AsType[*TimeoutError](p.Wait(soon(t)).Err)
	require.True(t, ok)
	require.False(t, lives(p.PID))
}

func TestASignalThatEndsAUnitIsKnown(t *testing.T) {
	managed(t)
	cmd := command(t, "sleep")
	p := start(t, cmd)
	require.NoError(t, syscall.Kill(p.PID, syscall.SIGKILL))
	got := p.Wait(soon(t))
	require.EqualError(t, got.Err, "signal: killed")
	require.True(t, got.Known)
}

// A unit outlives the bus on which it was requested, and the daemon.
func TestAUnitOutlivesTheBus(t *testing.T) {
	bus, _ := managed(t)
	if bus == nil {
		t.Skip("NOT TESTED UNDER A REAL MANAGER: its bus is needed")
	}
	cmd := command(t, "polite")
	cmd.Grace = time.Minute // a busy machine is slow
	p := start(t, cmd)
	awaitOutput(t, cmd, "ready")
	bus.Kill()
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

// A manager that refuses has started nothing: the command runs as if there were no manager.
func TestAManagerThatRefusesIsDoneWithout(t *testing.T) {
	bus, m := managed(t)
	if m == nil {
		t.Skip("NOT TESTED UNDER A REAL MANAGER: it does not refuse")
	}
	runsPlain := func(why string) {
		t.Helper()
		cmd := command(t, "exit", "3")
		got := start(t, cmd).Wait(t.Context())
		requireExit(t, 3, got)
		require.Equal(t, "out\nerr\n", output(t, cmd), why)
	}
	m.Behave(func(m *bustest.Manager) { m.Before = func() *dbus.Error { return answer("DBus.Error.AccessDenied") } })
	runsPlain("it says no")
	m.Behave(func(m *bustest.Manager) { m.Before = func() *dbus.Error { return answer("systemd1.Shutdown") } })
	runsPlain("it says so itself")
	m.Leave()
	runsPlain("it is not on the bus")
	bus.Kill()
	runsPlain("there is no bus")
}

// A value that cannot be sent on a bus is not sent: the command runs as if there were no
// manager.
func TestACommandThatNoBusCarriesRunsWithoutAUnit(t *testing.T) {
	managed(t)
	cmd := command(t, "report", "\xff")
	got := start(t, cmd).Wait(t.Context())
	require.NoError(t, got.Err)
	require.NotContains(t, output(t, cmd), `"MANAGER=1"`)
}

// A manager would only answer that a unit failed.
func TestAMissingInterpreterIsToldUnderAManagerToo(t *testing.T) {
	managed(t)
	for name, text := range map[string]string{"missing": "#!/no/such/shell\n", "unnamed": "echo hello\n"} {
		cmd := command(t, "exit", "0")
		cmd.Argv[0] = filepath.Join(t.TempDir(), "script")
		require.NoError(t, os.WriteFile(cmd.Argv[0], []byte(text), 0o755))
		_, err := Start(cmd)
		_, ok := errors.AsType[*StartError](err)
		require.True(t, ok, "%s: %v", name, err)
	}
}

func TestOnlyAProgramThatTheKernelRunsIsGivenToAManager(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		given bool
		err   string
	}{
		"a program of this machine":         {"\x7fELF\x02", true, ""},
		"one of a Mac":                      {"\xcf\xfa\xed\xfe\x07", true, ""},
		"one for two kinds of Macs":         {"\xca\xfe\xba\xbe\x00", true, ""},
		"a script":                          {"#!/bin/sh -e\necho hello\n", true, ""},
		"a script of one line":              {"#! /bin/sh", true, ""},
		"a script that names nothing":       {"#!\necho hello\n", true, ""},
		"a script whose program is missing": {"#!/no/such/shell\n", false, "its interpreter is missing"},
		"a script without its first line":   {"echo hello\n", false, ""},
		"an empty file":                     {"", false, ""},
	} {
		path := filepath.Join(t.TempDir(), "program")
		require.NoError(t, os.WriteFile(path, []byte(c.text), 0o700))
		given, err := startable(path)
		require.Equal(t, c.given, given, name)
		if c.err == "" {
			require.NoError(t, err, name)
		} else {
			require.ErrorContains(t, err, c.err, name)
		}
	}
	given, err := startable(filepath.Join(t.TempDir(), "none"))
	require.NoError(t, err)
	require.True(t, given, "a file that cannot be read may be run all the same")
}

func TestAUnitThatComesToNothingIsDoneWithout(t *testing.T) {
	_, m := managed(t)
	if m == nil {
		t.Skip("NOT TESTED UNDER A REAL MANAGER: it can start everything")
	}
	cmd := command(t, "exit", "0")
	cmd.Output = filepath.Join(t.TempDir(), "no", "such", "file")
	p := &Process{cmd: cmd, ended: make(chan struct{})}
	conn, err := dialManager(t.Context())
	require.NoError(t, err)
	defer conn.Close()
	require.ErrorIs(t, p.begin(t.Context(), conn, unitProperties(cmd.Argv[0], cmd, nil)), errNotBegun)
	require.True(t, refused(errNotBegun))
}

// Only the answer is lost: the unit is not started a second time.
func TestALostAnswerStartsNothingTwice(t *testing.T) {
	for name, lose := range map[string]func(*bustest.Manager){
		"the manager goes away": func(m *bustest.Manager) {
			m.Behave(func(m *bustest.Manager) { m.After = func() *dbus.Error { m.Leave(); return nil } })
		},
		"it says that the unit is there": func(m *bustest.Manager) {
			m.Behave(func(m *bustest.Manager) { m.After = func() *dbus.Error { return answer("systemd1.UnitExists") } })
		},
		"it has forgotten the unit": func(m *bustest.Manager) {
			m.Behave(func(m *bustest.Manager) { m.After = func() *dbus.Error { m.Drop(); return nil } })
		},
		"it does not say how the unit is": func(m *bustest.Manager) {
			m.Behave(func(m *bustest.Manager) { m.Forgets = answer("DBus.Error.UnknownObject") })
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, m := managed(t)
			if m == nil {
				t.Skip("NOT TESTED UNDER A REAL MANAGER: it answers")
			}
			lose(m)
			cmd := command(t, "polite")
			p := start(t, cmd)
			ended := make(chan Result, 1)
			go func() { ended <- p.Wait(t.Context()) }()
			awaitOutput(t, cmd, "ready")
			require.Len(t, marked(cmd.Mark), 1, "one runs")
			require.NoError(t, p.Stop(t.Context()))
			require.Equal(t, 1, strings.Count(output(t, cmd), "ready"))
			require.Empty(t, marked(cmd.Mark))
			require.ErrorIs(t, (<-ended).Err, ErrStopped)
		})
	}
}

// A command that is not found may have ended: the result is unknown.
func TestALostCommandIsNeitherRunNorKnown(t *testing.T) {
	t.Parallel()
	p := &Process{cmd: Command{Mark: "never-started"}, started: time.Now(), ended: make(chan struct{})}
	lost := errors.New("connection reset")
	got := p.findOrdered(lost, 100*time.Millisecond).Wait(t.Context())
	require.ErrorIs(t, got.Err, lost)
	require.ErrorContains(t, got.Err, "is not known")
	require.False(t, got.Known)
	require.NoError(t, p.Stop(t.Context()), "there is nothing to stop, and nobody else is stopped")
}

func TestOnlyAnAnswerIsARefusal(t *testing.T) {
	require.True(t, refused(dbus.Error{Name: "org.freedesktop.DBus.Error.ServiceUnknown"}))
	require.True(t, refused(dbus.Error{Name: "org.freedesktop.DBus.Error.InvalidArgs"}))
	for _, lost := range []error{
		dbus.Error{Name: "org.freedesktop.DBus.Error.NoReply"},
		dbus.Error{Name: "org.freedesktop.systemd1.UnitExists"},
		dbus.ErrClosed, context.DeadlineExceeded, io.EOF,
	} {
		require.False(t, refused(lost), "%v", lost)
	}
}

func TestOnlyTheMainProcessOfAServiceHasAManager(t *testing.T) {
	managed(t)
	require.True(t, usermanager.Started())
	for name, spoil := range map[string]func(){
		"a shell in a terminal that is a unit": func() { t.Setenv("SYSTEMD_EXEC_PID", "1") },
		"no service":                           func() { t.Setenv("INVOCATION_ID", "") },
		"a login without a manager":            func() { t.Setenv("XDG_RUNTIME_DIR", t.TempDir()) },
		"no runtime directory":                 func() { t.Setenv("XDG_RUNTIME_DIR", "") },
	} {
		kept := slices.Clone(os.Environ())
		spoil()
		require.False(t, usermanager.Started(), name)
		for _, entry := range kept {
			key, value, _ := strings.Cut(entry, "=")
			require.NoError(t, os.Setenv(key, value)) //nolint:usetesting // puts back what the line before changed
		}
	}
}

// The unit of a process, and the one above it, are in the path of its control group.
func TestTheUnitOfAProcessIsThatOfItsControlGroup(t *testing.T) {
	groups, err := os.ReadFile("/proc/self/cgroup")
	require.NoError(t, err)
	for line := range strings.Lines(string(groups)) {
		path := strings.SplitN(strings.TrimSpace(line), ":", 3)[2]
		for _, name := range strings.Split(path, "/")[1:] {
			require.True(t, inUnit(os.Getpid(), name), name)
		}
	}
	require.False(t, inUnit(os.Getpid(), "resumed-another.service"))
	require.False(t, inUnit(1<<30, "resumed-another.service"), "it has ended")
}

// Under a real manager the command has its own control group.
func TestACommandIsAUnitOfItsOwn(t *testing.T) {
	if !underRealManager() {
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
	require.Eventually(t, func() bool {
		listed, err := exec.Command("systemctl", "--user", "list-units", "--all", "--plain", "--no-legend", unitName(cmd.Mark)).Output()
		return err == nil && len(listed) == 0
	}, 5*time.Second, 10*time.Millisecond, "nothing of it is left")
}
