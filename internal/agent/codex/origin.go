package codex

import (
	"slices"

	"resumed/internal/resume"
)

// Origin returns what the process was started with. The server that terminals share has all flags of
// their sessions except those in turns, because a terminal with other flags becomes its own server.
// What other programs tell their servers is in no command line.
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
	if !byExec(o.Args) { // the process ignores it, but the resume would use it
		o.Env = slices.DeleteFunc(o.Env, func(v resume.Variable) bool { return v.Name == execKey })
		if environ, err := a.Processes.Environ(pid); err == nil {
			o.Login = a.Login(append(environ, execKey+"="), o.Salt)
		}
	}
	o.Args = lastOnly(o.Args)
	return o
}
