package codex

import (
	"slices"

	"resumed/internal/resume"
)

// Origin returns what the process was started with. A server holds the sessions of
// others: the one that terminals share was started with all that they have beyond
// what turns tell, for a terminal with other flags is its own server. What other
// programs tell their servers is in no command line.
func (a *Agent) Origin(pid int, secrets bool) *resume.Origin {
	argv := a.Processes.Argv(pid)
	if len(argv) == 0 {
		return nil
	}
	table := slices.Concat(namedBy(a.named(a.Processes.Cwd(pid), argv[1:])), a.Base.Variables())
	o := a.OriginBy(table, pid, secrets)
	if o == nil {
		return nil
	}
	_, command, _ := flags.Parse(argv[1:]).Cut()
	switch command {
	case serverCommand:
		o.Args = flags.Keep(argv[1:], secrets)
		o.ArgsSeen = o.ArgsSeen && slices.Contains(argv, managedDaemon)
	case execCommand, "e":
		o.Args = append([]string{execCommand}, o.Args...)
	}
	if !byExec(o.Args) { // it is not obeyed there, and would be by the resume
		o.Env = slices.DeleteFunc(o.Env, func(v resume.Variable) bool { return v.Name == execKey })
		if environ, err := a.Processes.Environ(pid); err == nil {
			o.Login = a.Login(append(environ, execKey+"="), o.Salt)
		}
	}
	o.Args = lastOnly(o.Args)
	return o
}
