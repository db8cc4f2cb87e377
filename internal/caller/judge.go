package caller

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"resumed/internal/lazy"
	"resumed/internal/peer"
	"resumed/internal/procfs"
	"resumed/internal/resume"
)

// Judge judges callers by what the kernel shows of their processes.
type Judge struct {
	Proc procfs.FS

	// Daemon is the process of the daemon; 0: there is none, and a command judges itself.
	Daemon int

	// Agent returns the agent whose program a process runs; "": none.
	Agent func(pid int) string

	// Variables are those that agents set for the commands that they run, by the name of the agent.
	Variables map[string]string

	// Hook reports whether the process is a program of the user that the daemon itself started, such as a notifier's
	// command: it orders like a person.
	Hook func(pid int) bool

	// Started reports whether the session of that number is one of a command that the daemon started.
	Started func(session int) bool

	// TrustConfined reports whether the user trusts processes that are more restricted than the daemon.
	TrustConfined func() bool
}

var errGone = errors.New("it has ended, or it is not of this machine")

// Seen judges the caller of a request that only reads: the daemon must see its process, and checks nothing else.
func (j Judge) Seen(p peer.Process) Caller {
	if err := j.visible(p); err != nil && j.Proc.Readable() {
		return Caller{Why: err.Error()}
	}
	return Caller{Kind: Confined}
}

// Of judges the process at the other end of a socket. While it is judged it must live, else what is
// read may be another's that was given the same number.
func (j Judge) Of(p peer.Process) Caller {
	c, err := j.judge(p)
	if err == nil && !p.Alive() {
		err = errGone
	}
	if err != nil {
		return Caller{Why: err.Error()}
	}
	return c
}

// Self judges this process, where no daemon does.
func (j Judge) Self() Caller {
	j.Daemon = 0
	return j.Of(peer.At(os.Getpid(), os.Getuid()))
}

func (j Judge) judge(p peer.Process) (Caller, error) {
	if !j.Proc.Readable() {
		return j.unlessTrusted("the daemon cannot see processes here"), nil
	}
	if err := j.visible(p); err != nil {
		return Caller{}, err
	}
	c := j.belongs(p.PID)
	if c.Kind == Run || c.Kind == Agent || j.Daemon == 0 {
		return c, nil
	}
	words, err := j.restrictions(p)
	if err != nil {
		return Caller{}, err
	}
	if words == "" {
		return c, nil
	}
	return j.unlessTrusted("this command is more restricted than the daemon: " + words), nil
}

// unlessTrusted returns a caller that is confined, or may be so, for all that the daemon sees.
func (j Judge) unlessTrusted(why string) Caller {
	if j.TrustConfined != nil && j.TrustConfined() {
		return Caller{Kind: Person}
	}
	return Caller{Kind: Confined, Why: why + "; control.trust_confined = true allows it"}
}

// visible returns an error unless the process lives and shows itself.
func (j Judge) visible(p peer.Process) error {
	stat, err := j.Proc.Stat(p.PID)
	if err != nil || stat.Start != p.Start || !stat.Living() {
		return errors.Join(errGone, err)
	}
	if p.UID == 0 && os.Getuid() != 0 {
		return nil
	}
	if _, err := j.Proc.Environ(p.PID); err != nil {
		return fmt.Errorf("it hides itself: %w", err)
	}
	return nil
}

// forebears returns the ancestors of the daemon. They say nothing against a caller: the daemon cannot do more than the
// process that started it.
func (j Judge) forebears() []int {
	var all []int
	for stat, err := j.Proc.Stat(j.Daemon); err == nil && stat.Parent > 1; stat, err = j.Proc.Stat(stat.Parent) {
		all = append(all, stat.Parent)
	}
	return all
}

// kin returns a process, its ancestors, and the leaders of their sessions and groups with their ancestors. For a
// process whose ancestors have ended, company are those that share its session or group, with theirs. One that leaves
// all of these is known only by what it has of an agent's environment.
func (j Judge) kin(pid int) (kin, company []procfs.Stat) {
	var all []procfs.Stat
	ours := append(j.forebears(), j.Daemon)
	seen := append(slices.Clone(ours), 0, 1)
	var visit func(pid int)
	visit = func(pid int) {
		stat, err := j.Proc.Stat(pid)
		if slices.Contains(seen, pid) || err != nil { // it has ended
			return
		}
		seen, all = append(seen, pid), append(all, stat)
		visit(stat.Parent)
		visit(stat.Session)
		visit(stat.Group)
	}
	visit(pid)
	if len(all) == 0 || !j.orphan(all[0], ours) {
		return all, nil
	}
	first, near := all[0], len(all)
	for stat := range j.Proc.Stats() {
		if stat.Session == first.Session || stat.Group == first.Group {
			visit(stat.PID)
		}
	}
	return all[:near], all[near:]
}

// orphan reports whether an ancestor of a process has ended: neither the leader of its session is one, nor a process of that
// session that started the daemon. What takes orphans over is of another session.
func (j Judge) orphan(stat procfs.Stat, ours []int) bool {
	session, err := stat.Session, error(nil)
	for stat.PID != session && (stat.Session != session || !slices.Contains(ours, stat.PID)) {
		if stat, err = j.Proc.Stat(stat.Parent); err != nil || stat.PID <= 1 {
			return session > 1
		}
	}
	return false
}

// belongs says which runs and agents a process belongs to.
func (j Judge) belongs(pid int) Caller {
	c := Caller{Kind: Person}
	kin, company := j.kin(pid)
	hook := j.hookOf(pid)
	for _, stat := range slices.Concat(kin, company) {
		if stat.Parent == j.Daemon && j.Daemon != 0 && stat.PID != hook || j.Started != nil && j.Started(stat.Session) {
			c.is(Run, fmt.Sprintf("process %d belongs to a resumed agent", stat.PID))
		}
	}
	for _, stat := range kin {
		j.look(&c, stat.PID, hook != 0)
	}
	marks, holders := c.Marks, c.Holders
	for _, stat := range company {
		j.look(&c, stat.PID, false)
	}
	c.Marks, c.Holders = marks, holders // it need not belong to these
	return c
}

// hookOf returns the program that tells of a notice, if a process is one or was started by it; 0: none.
func (j Judge) hookOf(pid int) int {
	for stat, err := j.Proc.Stat(pid); j.Hook != nil && err == nil && stat.PID > 1; stat, err = j.Proc.Stat(stat.Parent) {
		if stat.Parent == j.Daemon && j.Hook(stat.PID) {
			return stat.PID
		}
	}
	return 0
}

// look adds what one process says about who the caller is. A hook is in the daemon's own unit.
func (j Judge) look(c *Caller, pid int, hook bool) {
	environ, _ := j.Proc.Environ(pid) // not shown: another user's, or it has ended
	if mark := procfs.Variable(environ, resume.MarkVariable); mark != "" && mark != j.variable(resume.MarkVariable) {
		c.Marks = append(c.Marks, mark)
		c.is(Run, fmt.Sprintf("process %d belongs to a resumed agent", pid))
	}
	if !hook && j.inUnit(pid) {
		c.is(Run, fmt.Sprintf("process %d is in the unit of a resumed agent", pid))
	}
	if j.Agent != nil {
		if name := j.Agent(pid); name != "" {
			c.Holders = append(c.Holders, Process{name, pid})
			c.is(Agent, fmt.Sprintf("process %d is %s", pid, name))
		}
	}
	for name, variable := range j.Variables {
		if value := procfs.Variable(environ, variable); value != "" && value != j.variable(variable) {
			c.is(Agent, fmt.Sprintf("process %d was started by %s: it has %s", pid, name, variable))
		}
	}
}

// variable returns the daemon's own value: whoever started the daemon may order.
func (j Judge) variable(name string) string {
	if j.Daemon == 0 {
		return ""
	}
	return os.Getenv(name)
}

// is sets the kind, unless another one is known that counts more.
func (c *Caller) is(kind Kind, why string) {
	if c.Kind == Person || c.Kind == Agent && kind == Run {
		c.Kind, c.Why = kind, why
	}
}

// units matches the units of the daemon and of the commands that it runs, which are named after their marks.
var units = lazy.Regexp(`/resumed(@[^/\n]*|-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})?\.service[/\n]`)

func (j Judge) inUnit(pid int) bool {
	groups, err := os.ReadFile(j.Proc.Path(pid, "cgroup"))
	return err == nil && units().Match(groups)
}

// restrictions says in which ways a process is more restricted than the daemon; "": in none. Root does not show others in
// which namespaces it is, and may do anything unless it is in a container, which takes capabilities from it.
func (j Judge) restrictions(p peer.Process) (string, error) {
	words := j.Proc.Tighter(p.PID, j.Daemon)
	if p.UID == 0 && os.Getuid() != 0 {
		return strings.Join(words, ", "), nil
	}
	apart, err := j.Proc.Apart(p.PID)
	if err != nil {
		return "", fmt.Errorf("it hides itself: %w", err)
	}
	if len(apart) > 0 {
		words = slices.Insert(words, 0, strings.Join(apart, ", ")+" of its own")
	}
	return strings.Join(words, ", "), nil
}
