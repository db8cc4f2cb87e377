package runner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	systemd "github.com/coreos/go-systemd/v22/dbus"
	"github.com/godbus/dbus/v5"

	"resumed/internal/childenv"
	"resumed/internal/dirs"
	"resumed/internal/procfs"
	"resumed/internal/sessionbus"
)

// Under a service manager a command is a unit of its own. It does not live in
// the daemon's sandbox, nor does its memory count as the daemon's; and nothing
// that it starts can leave its control group, so that it ends as a whole.

const (
	// managerPatience is how long the manager may take to answer, and to begin
	// a unit.
	managerPatience = 10 * time.Second

	// firstLook is when a unit is looked at for its end first. The looks grow
	// rarer, up to lookEvery.
	firstLook = 5 * time.Millisecond
)

// unitName returns the name of a command's unit. The mark is one that no other
// command has.
func unitName(mark string) string {
	return "resumed-" + notInNames.ReplaceAllString(mark, "_") + ".service"
}

var notInNames = regexp.MustCompile(`[^A-Za-z0-9:_.-]`)

// underManager reports whether a user's service manager started this daemon. A
// shell that a manager's unit opened passes its variables on, so they must name
// this very process.
func underManager() bool {
	if os.Getenv("INVOCATION_ID") == "" {
		return false
	}
	self, told := os.LookupEnv("SYSTEMD_EXEC_PID") // since 248
	if told && self != strconv.Itoa(os.Getpid()) || !told && os.Getenv("NOTIFY_SOCKET") == "" {
		return false
	}
	login, told := dirs.Login(os.Getenv)
	_, err := os.Stat(filepath.Join(login, "systemd", "private"))
	return told && err == nil
}

// dialManager connects to the user's service manager.
func dialManager(ctx context.Context) (*systemd.Conn, error) {
	return systemd.NewConnection(func() (*dbus.Conn, error) { return sessionbus.Dial(ctx) })
}

// startUnit has the manager start the command, and waits until it runs. It
// returns nil where there is no manager, or it refused: nothing was started.
func startUnit(program string, cmd Command, env []string) (*Process, error) {
	if ok, _ := startable(program); !ok {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), managerPatience)
	defer cancel()
	manager, err := dialManager(ctx)
	if err != nil {
		return nil, nil
	}
	p := &Process{cmd: cmd, started: time.Now(), ended: make(chan struct{})}
	cmd.Unset = append(slices.Clone(cmd.Unset), managerVariables(manager)...)
	err = p.begin(ctx, manager, unitProperties(program, cmd, env))
	if err == nil {
		go p.followUnit(manager)
		return p, nil
	}
	manager.Close()
	if refused(err) {
		return nil, nil
	}
	return p.findOrdered(err, managerPatience), nil
}

// managerVariables returns the names of the variables that the manager gives to
// each of its units: a person may have put a key there, of another account. Where
// it does not tell, only those are taken away that are known to be wrong.
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

// errNotBegun says that a unit came to nothing before it had a process.
var errNotBegun = errors.New("the unit was not begun")

// begin orders the unit and waits until its main process is there.
func (p *Process) begin(ctx context.Context, manager *systemd.Conn, properties []systemd.Property) error {
	job := make(chan string, 1)
	if _, err := manager.StartTransientUnitContext(ctx, unitName(p.cmd.Mark), "fail", properties, job); err != nil {
		return err
	}
	select {
	case <-job:
	case <-ctx.Done(): // it is slow: the unit is there all the same
	}
	unit, err := askUnit(manager, p.cmd.Mark)
	switch {
	case err != nil:
		return errors.New("ask for the unit: " + err.Error()) // not wrapped: the order was taken, so no answer is a refusal any more
	case unit.pid == 0 && unit.over:
		return errNotBegun
	}
	p.PID = unit.pid
	if start, err := StartTime(p.PID); err == nil && unit.living {
		p.Start = start
	}
	return nil
}

// refused reports whether an error means that the manager has started nothing.
// Where its answer was lost it may have; and so where the unit is there already.
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

// findOrdered returns the command that was ordered when the answer was lost. One
// that is not found may be over already, or never have begun: it is not started
// again, and nobody can tell how it ended.
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

// followUnit waits until the unit is over, with all that is in it, and takes its
// exit status. The manager keeps it as long as the connection lives.
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

// unit is what the manager says of a command's unit.
type unit struct {
	over         bool // with all that was in it
	pid          int  // of its main process, also when that has ended; 0: none was started
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

// exit returns how the main process ended, in the words of a child's end.
func (u unit) exit() (unknown bool, err error) {
	const exited, killed, dumped = 1, 2, 3 // CLD_EXITED and so on, of waitid(2)
	switch {
	case u.code == exited && u.status == 0:
		return false, nil
	case u.code == exited:
		return false, fmt.Errorf("exit status %d", u.status)
	case u.code == killed || u.code == dumped:
		return false, fmt.Errorf("signal: %v", syscall.Signal(u.status))
	default:
		return true, nil
	}
}

// startable reports whether a program is one that a manager can start. It would
// only say that the unit failed: what is wrong with others is told by starting
// them here, but for a script whose interpreter is not there, which is an error.
func startable(program string) (bool, error) {
	f, err := os.Open(program)
	if err != nil {
		return true, nil // what cannot be read can still be run
	}
	defer f.Close()
	head := make([]byte, 256)
	n, _ := io.ReadFull(f, head) // most programs are longer; what is there counts
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

// machO reports whether a file that begins so is a program of macOS.
func machO(head []byte) bool {
	return bytes.HasPrefix(head, []byte{0xcf, 0xfa, 0xed, 0xfe}) || bytes.HasPrefix(head, []byte{0xca, 0xfe, 0xba, 0xbe})
}

// unitProperties describe the unit. Values of variables may be secret: the
// manager is told them over the bus, and they are in nobody's arguments.
func unitProperties(program string, cmd Command, env []string) []systemd.Property {
	argv := []string{program}
	for _, arg := range cmd.Argv[1:] {
		argv = append(argv, strings.ReplaceAll(arg, "$", "$$")) // the manager would put variables in
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
		property("CollectMode", "inactive-or-failed"), // it leaves nothing behind,
		property("AddRef", true),                      // but not before its end was seen here
	}
	if gone := missing(cmd.Unset, env); len(gone) > 0 { // the manager has an environment, too
		all = append(all, property("UnsetEnvironment", gone))
	}
	if cmd.Output != "" {
		all = append(all, property("StandardOutputFileToAppend", cmd.Output), property("StandardErrorFileToAppend", cmd.Output))
	}
	return all
}

// missing returns the names that an environment does not have.
func missing(names, env []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return !variableName.MatchString(name) || slices.ContainsFunc(env, func(entry string) bool { return strings.HasPrefix(entry, name+"=") })
	})
}

func property(name string, value any) systemd.Property {
	return systemd.Property{Name: name, Value: dbus.MakeVariant(value)}
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// passes reports whether a manager takes the variable. It refuses a unit with
// one that it does not, such as an exported function of a shell.
func passes(name, value string, _ bool) bool {
	return variableName.MatchString(name) && utf8.ValidString(value) &&
		!strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' && r != '\n' || r == 0x7f })
}

// endUnit ends the command's unit, where it has one, with all that is in it.
// What it leaves is found by the sweep, and so is what a manager leaves that is gone.
func (p *Process) endUnit(ctx context.Context) {
	if p.cmd.Mark == "" || !inUnit(p.PID, unitName(p.cmd.Mark)) {
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

// inUnit reports whether the process lives in the unit's control group.
func inUnit(pid int, unit string) bool {
	groups, err := os.ReadFile(procfs.Proc.Path(pid, "cgroup"))
	return err == nil && (bytes.Contains(groups, []byte("/"+unit+"\n")) || bytes.Contains(groups, []byte("/"+unit+"/")))
}
