package codex

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"

	"resumed/internal/leash"
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
	}
	o.Args = lastOnly(o.Args)
	home := cmp.Or(a.Processes.Variable(pid, homeVariable), filepath.Join(a.Processes.Variable(pid, "HOME"), ".codex"))
	if who := signedIn(home); who != "" && o.Salt != "" {
		o.Login = leash.Hash(o.Salt, who)
	}
	return o
}

// byExec reports whether these arguments are of a run without a terminal.
func byExec(args []string) bool { return slices.Contains(flags.Parse(args).Plain(), execCommand) }

// signedIn returns who is signed in to a home; empty: nobody, or nobody can tell.
// Tokens are renewed all the time, the account stays.
func signedIn(home string) string {
	text, err := os.ReadFile(filepath.Join(home, "auth.json"))
	if err != nil {
		return ""
	}
	var auth struct {
		Key    string `json:"OPENAI_API_KEY"`
		Tokens struct {
			Account string `json:"account_id"`
		} `json:"tokens"`
	}
	if json.Unmarshal(text, &auth) != nil {
		return ""
	}
	return cmp.Or(auth.Tokens.Account, auth.Key)
}

// otherLogin says that somebody else is signed in by now than when the session was
// seen, where that is who is asked.
func (a *Agent) otherLogin(s resume.Session, provider string) []leash.Omission {
	o := s.StartedWith()
	if o == nil || o.Login == "" || len(a.named(s.Cwd, o.Args)[provider]) > 0 ||
		slices.ContainsFunc(o.Env, func(v resume.Variable) bool { return v.Name == execKey }) {
		return nil
	}
	who := signedIn(a.Homes.Of(s.Transcript))
	if who == "" || leash.Hash(o.Salt, who) == o.Login {
		return nil
	}
	return []leash.Omission{{What: "auth.json", Why: "another account would be asked: another one was signed in when the session was seen"}}
}
