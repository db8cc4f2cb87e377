package codex

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"slices"
	"time"

	"resumed/internal/agent"
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

// byExec reports whether these arguments are of a run without a terminal.
func byExec(args []string) bool { return slices.Contains(flags.Parse(args).Plain(), execCommand) }

// login returns who is signed in for a process with these variables; empty: nobody,
// nobody can tell, or it is not asked in their name. Tokens are renewed all the
// time, the account stays.
func login(variable func(name string) string) string {
	home := cmp.Or(variable(homeVariable), filepath.Join(variable("HOME"), ".codex"))
	for range 3 { // it may be written just now
		text, err := agent.ReadSettings(filepath.Join(home, "auth.json"))
		if err != nil || variable(execKey) != "" {
			return ""
		}
		var auth struct {
			Key    string `json:"OPENAI_API_KEY"`
			Tokens struct {
				Account string `json:"account_id"`
			} `json:"tokens"`
		}
		if json.Unmarshal(text, &auth) == nil {
			return cmp.Or(auth.Tokens.Account, auth.Key)
		}
		time.Sleep(50 * time.Millisecond)
	}
	return ""
}
