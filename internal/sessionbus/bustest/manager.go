package bustest

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/godbus/dbus/v5"
	"github.com/stretchr/testify/require"
)

const (
	managerName = "org.freedesktop.systemd1"
	managerPath = "/org/freedesktop/systemd1"
)

// Manager replaces a user's service manager, on a real bus. Like the real one it starts commands
// outside of this process's group, and only with the variables it was given, and MANAGER=1.
type Manager struct {
	conn *dbus.Conn
	mu   sync.Mutex // guards all other fields: see Behave

	Before  func() *dbus.Error // called before a unit is started; on an error nothing is started
	After   func() *dbus.Error // called after a unit was started; an error is returned all the same
	Forgets *dbus.Error        // the answer to questions about a unit

	Variables []string // KEY=value, for each unit unless it unsets them

	units map[string]map[string]dbus.Variant
}

// Manager starts a service manager on the bus.
func (b *Bus) Manager(t *testing.T) *Manager {
	t.Helper()
	conn, err := dbus.Connect(b.Address)
	require.NoError(t, err)
	nothing := func() *dbus.Error { return nil }
	m := &Manager{Before: nothing, After: nothing, conn: conn, units: make(map[string]map[string]dbus.Variant)}
	t.Cleanup(m.Leave)
	require.NoError(t, conn.Export(managerMethods{m}, managerPath, managerName+".Manager"))
	require.NoError(t, conn.Export(managerProperties{m}, managerPath, "org.freedesktop.DBus.Properties"))
	require.NoError(t, conn.ExportSubtree(unitMethods{m}, managerPath+"/unit", "org.freedesktop.DBus.Properties"))
	_, err = conn.RequestName(managerName, dbus.NameFlagDoNotQueue)
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(b.Dir, "systemd", "private"), 0o700))
	return m
}

// Behave changes the behaviour while the manager runs.
func (m *Manager) Behave(change func(*Manager)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(m)
}

// Leave removes the manager from the bus, even if a caller waits for an answer.
func (m *Manager) Leave() { m.conn.Close() }

type managerMethods struct{ m *Manager }

// property is a property of a unit to start.
type property struct {
	Name  string
	Value dbus.Variant
}

type auxiliary struct {
	Name       string
	Properties []property
}

func (o managerMethods) StartTransientUnit(name, _ string, properties []property, _ []auxiliary) (dbus.ObjectPath, *dbus.Error) {
	var before, after func() *dbus.Error
	o.m.Behave(func(m *Manager) { before, after = m.Before, m.After })
	if failure := before(); failure != nil {
		return "", failure
	}
	result := o.m.start(name, properties)
	if failure := after(); failure != nil {
		return "", failure
	}
	const job = dbus.ObjectPath(managerPath + "/job/7")
	_ = o.m.conn.Emit(managerPath, managerName+".Manager.JobRemoved", uint32(7), job, name, result)
	return job, nil
}

// start starts a unit and returns the result of the job.
func (m *Manager) start(name string, properties []property) string {
	told := make(map[string]dbus.Variant)
	for _, p := range properties {
		told[p.Name] = p.Value
	}
	unit := map[string]dbus.Variant{"LoadState": dbus.MakeVariant("loaded"), "ActiveState": dbus.MakeVariant("active")}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.units[name] = unit
	child, err := start(told, m.Variables)
	if err != nil { // like a manager that cannot fork
		unit["ActiveState"] = dbus.MakeVariant("failed")
		return "failed"
	}
	unit["ExecMainPID"] = dbus.MakeVariant(uint32(child.Process.Pid))
	unit["MainPID"] = unit["ExecMainPID"]
	go m.reap(child, unit)
	return "done"
}

func start(told map[string]dbus.Variant, variables []string) (*exec.Cmd, error) {
	var commands []struct {
		Path   string
		Argv   []string
		Ignore bool
	}
	var env, unset []string
	var dir, output string
	if taken, ok := told["UnsetEnvironment"]; ok {
		_ = taken.Store(&unset) // another type counts as none
	}
	variables = slices.DeleteFunc(slices.Clone(variables), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(unset, name)
	})
	for name, into := range map[string]any{
		"ExecStart": &commands, "Environment": &env, "WorkingDirectory": &dir, "StandardOutputFileToAppend": &output,
	} {
		if err := told[name].Store(into); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	file, err := os.OpenFile(output, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	child := &exec.Cmd{
		Path: commands[0].Path, Dir: dir, Env: append(slices.Concat(variables, env), "MANAGER=1"), Stdout: file, Stderr: file,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	for _, arg := range commands[0].Argv {
		child.Args = append(child.Args, strings.ReplaceAll(arg, "$$", "$"))
	}
	return child, child.Start()
}

func (m *Manager) reap(child *exec.Cmd, unit map[string]dbus.Variant) {
	_ = child.Wait() // see ProcessState
	const exited, killed = 1, 2
	status, _ := child.ProcessState.Sys().(syscall.WaitStatus)
	code, value := int32(exited), int32(status.ExitStatus())
	if status.Signaled() {
		code, value = killed, int32(status.Signal())
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	unit["ActiveState"], unit["MainPID"] = dbus.MakeVariant("inactive"), dbus.MakeVariant(uint32(0))
	unit["ExecMainCode"], unit["ExecMainStatus"] = dbus.MakeVariant(code), dbus.MakeVariant(value)
}

type managerProperties struct{ m *Manager }

func (o managerProperties) Get(_, name string) (dbus.Variant, *dbus.Error) {
	o.m.mu.Lock()
	defer o.m.mu.Unlock()
	if name != "Environment" {
		return dbus.Variant{}, dbus.MakeFailedError(errors.New("there is no " + name))
	}
	return dbus.MakeVariant(slices.Clone(o.m.Variables)), nil
}

type unitMethods struct{ m *Manager }

// GetAll answers like systemd, also for an unknown unit.
func (o unitMethods) GetAll(msg dbus.Message, _ string) (map[string]dbus.Variant, *dbus.Error) {
	o.m.mu.Lock()
	defer o.m.mu.Unlock()
	if o.m.Forgets != nil {
		return nil, o.m.Forgets
	}
	path, _ := msg.Headers[dbus.FieldPath].Value().(dbus.ObjectPath)
	if unit, ok := o.m.units[unitOf(path)]; ok {
		return maps.Clone(unit), nil
	}
	return map[string]dbus.Variant{"LoadState": dbus.MakeVariant("not-found"), "ActiveState": dbus.MakeVariant("inactive")}, nil
}

// Drop drops all units, like a manager when they have ended and have no references.
func (m *Manager) Drop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.units)
}

var escaped = regexp.MustCompile(`_[0-9a-f]{2}`)

// unitOf returns the name of the unit at a path, in which everything but letters and digits is escaped
// as a number.
func unitOf(path dbus.ObjectPath) string {
	return escaped.ReplaceAllStringFunc(filepath.Base(string(path)), func(code string) string {
		c, _ := strconv.ParseUint(code[1:], 16, 8) // two hex digits always parse
		return string(rune(c))
	})
}
