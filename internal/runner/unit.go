package runner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	systemd "github.com/coreos/go-systemd/v22/dbus"
	"github.com/godbus/dbus/v5"

	"resumed/internal/childenv"
	"resumed/internal/lazy"
	"resumed/internal/procfs"
	"resumed/internal/sessionbus"
	"resumed/internal/usermanager"
)

// Under a service manager a command is a unit of its own: it does not run in the daemon's
// sandbox, its memory does not count as the daemon's, and no process that it starts can
// leave its control group, so that it is ended as a whole.

const (
	// managerPatience is how long the manager may take to answer, and to start a unit.
	managerPatience = 10 * time.Second

	// firstLook is the first interval at which a unit is checked for its end. It doubles
	// with each check, up to lookEvery.
	firstLook = 5 * time.Millisecond
)

// unitName returns the name of a command's unit. Each command has its own mark.
func unitName(mark string) string {
	return "resumed-" + notInNames().ReplaceAllString(mark, "_") + ".service"
}

var notInNames = lazy.Regexp(`[^A-Za-z0-9:_.-]`)

func dialManager(ctx context.Context) (*systemd.Conn, error) {
	return systemd.NewConnection(func() (*dbus.Conn, error) { return sessionbus.Dial(ctx) })
}

// startUnit makes the manager start the command, and waits until it runs. It returns nil if
// there is no manager or it refused: then nothing was started.
func startUnit(program string, cmd Command, env []string) *Process {
	if ok, _ := startable(program); !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), managerPatience)
	defer cancel()
	manager, err := dialManager(ctx)
	if err != nil {
		return nil
	}
	p := &Process{cmd: cmd, started: time.Now(), ended: make(chan struct{})}
	cmd.Unset = append(slices.Clone(cmd.Unset), managerVariables(manager)...)
	err = p.begin(ctx, manager, unitProperties(program, cmd, env))
	if err == nil {
		go p.followUnit(manager)
		return p
	}
	manager.Close()
	if refused(err) {
		return nil
	}
	return p.findOrdered(err, managerPatience)
}

// managerVariables returns the names of the variables that the manager gives to each unit:
// there may be a key of another account among them. If the manager does not answer, only
// the names in Command.Unset are removed.
func managerVariables(manager *systemd.Conn) []string {
	text, err := manager.GetManagerProperty("Environment")
	if err != nil {
		return nil
	}
	variant, err := dbus.ParseVariant(text, dbus.SignatureOf([]string{}))
	if err != nil {
		return nil
	}
	entries, _ := variant.Value().([]string)
	return childenv.Names(entries)
}

// errNotBegun says that a unit ended before it had a process.
var errNotBegun = errors.New("the unit was not begun")

// begin requests the unit and waits until its main process exists.
func (p *Process) begin(ctx context.Context, manager *systemd.Conn, properties []systemd.Property) error {
	job := make(chan string, 1)
	if _, err := manager.StartTransientUnitContext(ctx, unitName(p.cmd.Mark), "fail", properties, job); err != nil {
		return err
	}
	select {
	case <-job:
	case <-ctx.Done(): // the manager is slow; the unit exists already
	}
	unit, err := askUnit(manager, p.cmd.Mark)
	switch {
	case err != nil:
		return errors.New("ask for the unit: " + err.Error()) // not wrapped: the request was accepted, so no error means a refusal any more
	case unit.pid == 0 && unit.over:
		return errNotBegun
	}
	p.PID = unit.pid
	if start, err := StartTime(p.PID); err == nil && unit.living {
		p.Start = start
	}
	return nil
}

// refused reports whether an error means that the manager started nothing. It may have
// started the unit if its answer was lost, or if the unit exists already.
func refused(err error) bool {
	if _, unsendable := errors.AsType[dbus.FormatError](err); unsendable || errors.Is(err, errNotBegun) {
		return true
	}
	answer, ok := errors.AsType[dbus.Error](err)
	return ok && !slices.Contains([]string{
		"org.freedesktop.DBus.Error.Disconnected",
		"org.freedesktop.DBus.Error.NoReply",
		"org.freedesktop.DBus.Error.TimedOut",
		"org.freedesktop.DBus.Error.Timeout",
		"org.freedesktop.systemd1.UnitExists",
	}, answer.Name)
}

// findOrdered finds a requested command after the manager's answer was lost. If it is not
// found, it may have ended already or never have started: it is not started again, and its
// result is unknown.
func (p *Process) findOrdered(lost error, patience time.Duration) *Process {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(sweepEvery) {
		if found, ok := Find(p.cmd.Mark); ok {
			found.Bind(p.cmd)
			return found
		}
	}
	p.exitErr, p.unknown = fmt.Errorf("whether the service manager started the command is not known: %w", lost), true
	close(p.ended)
	return p
}

// followUnit reads the exit status, which the manager stores as long as the connection is open.
func (p *Process) followUnit(manager *systemd.Conn) {
	defer close(p.ended)
	defer manager.Close()
	for wait := firstLook; ; wait = min(2*wait, lookEvery) {
		if !alive(p.Process) {
			unit, err := askUnit(manager, p.cmd.Mark)
			if err != nil {
				p.unknown = true
				return
			}
			if unit.over {
				p.unknown, p.exitErr = unit.exit()
				return
			}
		}
		time.Sleep(wait)
	}
}

type unit struct {
	over         bool // all its processes have ended
	pid          int  // of its main process, also after that has ended; 0: none was started
	living       bool // the main process has not ended yet
	code, status int32
}

func askUnit(manager *systemd.Conn, mark string) (unit, error) {
	ctx, cancel := context.WithTimeout(context.Background(), managerPatience)
	defer cancel()
	all, err := manager.GetAllPropertiesContext(ctx, unitName(mark))
	if err != nil {
		return unit{}, err
	}
	if all["LoadState"] == "not-found" {
		return unit{}, errors.New("it is forgotten already")
	}
	state, _ := all["ActiveState"].(string)
	pid, _ := all["ExecMainPID"].(uint32)
	main, _ := all["MainPID"].(uint32)
	u := unit{over: state == "inactive" || state == "failed", pid: int(pid), living: pid != 0 && pid == main}
	u.code, _ = all["ExecMainCode"].(int32)
	u.status, _ = all["ExecMainStatus"].(int32)
	return u, nil
}

// exit returns how the main process ended, in the same words as for a child process.
func (u unit) exit() (unknown bool, err error) {
	const exited, killed, dumped = 1, 2, 3 // CLD_EXITED and so on, of waitid(2)
	switch u.code {
	case exited:
		return false, exitError(int(u.status))
	case killed, dumped:
		return false, exitError(bySignal + int(u.status))
	default:
		return true, nil
	}
}

// startable reports whether the manager can start a program. The manager would only answer that
// the unit failed, so other programs are started by the daemon, for a better error. A script
// without its interpreter is an error.
func startable(program string) (bool, error) {
	f, err := os.Open(program)
	if err != nil {
		return true, nil // a file that cannot be read may still be executable
	}
	defer f.Close()
	head := make([]byte, 256)
	n, _ := io.ReadFull(f, head) // a short program is read as far as it goes
	line, _, _ := strings.Cut(string(head[:n]), "\n")
	script, ok := strings.CutPrefix(line, "#!")
	if !ok {
		return strings.HasPrefix(line, "\x7fELF") || machO(head[:n]), nil
	}
	if fields := strings.Fields(script); len(fields) > 0 {
		if err := executable(fields[0]); err != nil {
			return false, missingInterpreter(program, err)
		}
	}
	return true, nil
}

func machO(head []byte) bool {
	return bytes.HasPrefix(head, []byte{0xcf, 0xfa, 0xed, 0xfe}) || bytes.HasPrefix(head, []byte{0xca, 0xfe, 0xba, 0xbe})
}

// unitProperties contain values of variables, which may be secret: they are never arguments of a process.
func unitProperties(program string, cmd Command, env []string) []systemd.Property {
	argv := []string{program}
	for _, arg := range cmd.Argv[1:] {
		argv = append(argv, strings.ReplaceAll(arg, "$", "$$")) // the manager would expand variables
	}
	variables := slices.DeleteFunc(slices.Clone(env), func(entry string) bool { return !passes(strings.Cut(entry, "=")) })
	all := []systemd.Property{
		systemd.PropDescription("A session that resumed continues"),
		systemd.PropType("exec"),
		systemd.PropExecStart(argv, false),
		property("WorkingDirectory", cmd.Dir),
		property("Environment", variables),
		property("KillMode", "control-group"),
		property("TimeoutStopUSec", uint64(max(time.Millisecond, cmd.grace()).Microseconds())),
		property("CollectMode", "inactive-or-failed"), // the unit is removed after its end,
		property("AddRef", true),                      // but only after the daemon has read how it ended
	}
	if gone := missing(cmd.Unset, env); len(gone) > 0 { // the manager adds its own variables
		all = append(all, property("UnsetEnvironment", gone))
	}
	if cmd.Output != "" {
		all = append(all, property("StandardOutputFileToAppend", cmd.Output), property("StandardErrorFileToAppend", cmd.Output))
	}
	return all
}

func missing(names, env []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return !variableName().MatchString(name) || slices.ContainsFunc(env, func(entry string) bool { return strings.HasPrefix(entry, name+"=") })
	})
}

func property(name string, value any) systemd.Property {
	return systemd.Property{Name: name, Value: dbus.MakeVariant(value)}
}

var variableName = lazy.Regexp(`^[A-Za-z_][A-Za-z0-9_]*$`)

// passes reports whether a manager accepts the variable: otherwise it would refuse the unit.
func passes(name, value string, _ bool) bool {
	return variableName().MatchString(name) && utf8.ValidString(value) &&
		!strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' && r != '\n' || r == 0x7f })
}

// NotPassed returns the names of the variables of an environment that a command does not get, because a
// service manager starts it and refuses them.
func NotPassed(env []string) []string {
	if !usermanager.Started() {
		return nil
	}
	return childenv.Names(slices.DeleteFunc(slices.Clone(env), func(entry string) bool { return passes(strings.Cut(entry, "=")) }))
}

// endUnit stops the command's unit, if it has one. The sweep ends processes that are left.
func (p *Process) endUnit(ctx context.Context) {
	if !inUnit(p.PID, unitName(p.cmd.Mark)) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, p.cmd.grace()+killPatience)
	defer cancel()
	manager, err := dialManager(ctx)
	if err != nil {
		return
	}
	defer manager.Close()
	job := make(chan string, 1)
	if _, err := manager.StopUnitContext(ctx, unitName(p.cmd.Mark), "replace", job); err != nil {
		return
	}
	select {
	case <-job:
	case <-ctx.Done():
	}
}

func inUnit(pid int, unit string) bool {
	groups, err := os.ReadFile(procfs.Proc.Path(pid, "cgroup"))
	return err == nil && (bytes.Contains(groups, []byte("/"+unit+"\n")) || bytes.Contains(groups, []byte("/"+unit+"/")))
}
