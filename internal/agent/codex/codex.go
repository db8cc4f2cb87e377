// Package codex knows the Codex CLI: where its rollouts are, which process holds a
// session, and how a session is continued. Its room rollout knows what a line means.
package codex

import (
	"cmp"
	"context"
	"path/filepath"

	"resumed/internal/agent"
	"resumed/internal/agent/codex/hooks"
	"resumed/internal/agent/codex/rollout"
	"resumed/internal/resume"
	"resumed/internal/usage"
)

// Name is Codex's name in configuration, status and metrics.
const Name = "codex"

// Builtin is Codex in the list of agents.
var Builtin = agent.Builtin{
	Name:      Name,
	Title:     "Codex",
	Headless:  "codex exec",
	Variables: []string{homeVariable},
	Remedies:  agent.Remedies{SignIn: "run codex login", Pay: "buy credits or raise the limit at chatgpt.com/codex/settings/usage", Shorten: "/compact"},
	New:       func(o agent.Options) (agent.Agent, error) { return New(o) },
	Hook:      &agent.Hook{Read: hooks.Read, File: configFile, Add: hooks.Add, Remove: hooks.Remove, Calls: hooks.Calls},
}

// Options says which Codex is meant: without Roots its home is $CODEX_HOME,
// else ~/.codex.
type Options = agent.Options

// Agent is Codex with its homes. A session is continued in the file, and so in
// the directory of the day, that it began in.
type Agent struct {
	agent.Transcripts
	reader rollout.Reader
}

var _ agent.Reader = (*Agent)(nil)

// New returns the agent. It looks at the environment, not at any file.
func New(o Options) (*Agent, error) {
	homes, err := agent.NewHomes(Name, agent.UsualHome(".codex", homeVariable), o.Roots)
	a := &Agent{Transcripts: agent.Transcripts{
		Base:  agent.NewBase(agent.About{Name: Name, Program: "codex", Is: isProgram, ByHand: "resume", Flags: flags, Variables: variables, Login: login, Keys: []string{execKey}}, o),
		Homes: homes,
		Dir:   "sessions",
		Files: agent.Source{
			Depth: 3,
			Match: rollout.Match,
			Sift:  rollout.Sift,
		},
		Elsewhere: func(home string) string { return homeVariable + "=" + home },
	}}
	a.reader.LimitsAt = a.LimitsAt
	a.Read, a.Size = a.reader.Read, rollout.Size
	return a, err
}

// configFile is the file of a person's own configuration, the notify program in it.
func configFile() string {
	return filepath.Join(agent.UsualHome(".codex", homeVariable), "config.toml")
}

// Usage returns what the provider last said of the week.
func (a *Agent) Usage(ctx context.Context, s resume.Session) (resume.Usage, bool, error) {
	return rollout.Usage(ctx, s.Transcript)
}

// Readings returns what the provider said of the windows in the last of the session.
func (a *Agent) Readings(ctx context.Context, s resume.Session) ([]usage.Reading, error) {
	return rollout.Readings(ctx, s.Transcript)
}

func isProgram(path string) bool { return filepath.Base(path) == "codex" }

// login returns who is signed in for a process with these variables; empty: nobody is,
// it cannot be told, or another account is asked. Tokens are renewed all the
// time, the account stays.
func login(variable func(name string) string) string {
	home := cmp.Or(variable(homeVariable), filepath.Join(variable("HOME"), ".codex"))
	var auth struct {
		Key    string `json:"OPENAI_API_KEY"`
		Tokens struct {
			Account string `json:"account_id"`
		} `json:"tokens"`
	}
	if variable(execKey) != "" || !agent.ReadRewritten(filepath.Join(home, "auth.json"), &auth) {
		return ""
	}
	return cmp.Or(auth.Tokens.Account, auth.Key)
}

// Denied returns what a run was refused at last. A run without a terminal never
// asks: what would leave its sandbox is refused by Codex, or fails in it.
func (a *Agent) Denied(ctx context.Context, s resume.Session, run agent.Ran) (agent.Denial, bool, error) {
	if err := ctx.Err(); err != nil {
		return agent.Denial{}, false, err
	}
	had, _, err := rollout.LastTurn(ctx, s.Transcript)
	if err != nil {
		return agent.Denial{}, false, err
	}
	confined := had.Sandbox.Name() != fullAccess
	d, denied, _, err := agent.LastDenial(ctx, s.Transcript, run.Since, func(line agent.Line) agent.ToolUse {
		return rollout.Trace(line, confined)
	})
	return d, denied, err
}
