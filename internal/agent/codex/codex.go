// Package codex supports the Codex CLI: where its rollouts are, which process holds a session,
// and how a session is continued. Package rollout parses the lines.
package codex

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"

	"resumed/internal/agent"
	"resumed/internal/agent/codex/rollout"
	"resumed/internal/headless"
	"resumed/internal/lazy"
	"resumed/internal/leash"
	"resumed/internal/lines"
	"resumed/internal/resume"
	"resumed/internal/usage"
)

// Name is Codex's name in configuration, status and metrics.
const Name = "codex"

// Builtin is the entry of Codex in the list of agents.
var Builtin = agent.Builtin{
	Name:            Name,
	Title:           "Codex",
	Headless:        "codex exec",
	Variables:       []string{homeVariable},
	CommandVariable: "CODEX_THREAD_ID",
	Remedies:        agent.Remedies{SignIn: "run codex login", Pay: "buy credits or raise the limit at chatgpt.com/codex/settings/usage", Shorten: "/compact", Switch: "/model"},
	New:             func(o agent.Options) (agent.Agent, error) { return New(o) },
	Plugin: &agent.Plugin{
		Install:  "codex plugin marketplace add DIR && codex plugin add resumed@resumed",
		Then:     "trust the hooks when Codex asks, or in /hooks",
		Requests: true,
		Version: func() string {
			return agent.ManifestVersion(filepath.Join(agent.UsualHome(".codex", homeVariable), "plugins/cache/resumed/resumed/*/.claude-plugin/plugin.json"))
		},
	},
}

// Options selects a Codex: without Roots its home is $CODEX_HOME, else ~/.codex.
type Options = agent.Options

// Agent is Codex with its homes. A continued session stays in its first file.
type Agent struct {
	agent.Transcripts
	reader rollout.Reader
}

var (
	_ agent.FileAgent = (*Agent)(nil)
	_ agent.Turns     = (*Agent)(nil)
)

// New returns the agent. It reads the environment, but no file.
func New(o Options) (*Agent, error) {
	homes, err := agent.NewHomes(Name, agent.UsualHome(".codex", homeVariable), o.Roots)
	a := &Agent{Transcripts: agent.Transcripts{
		Base:  agent.NewBase(agent.About{Name: Name, Program: "codex", Is: isProgram, ByHand: "resume", Flags: flags, Variables: variables, Login: login, Settings: settingsFiles, Keys: []string{execKey}}, o),
		Homes: homes,
		Dir:   "sessions",
		Files: agent.Source{
			Depth:  3,
			Match:  rollout.Match,
			Sift:   rollout.Sift,
			Packed: rollout.MatchPacked,
		},
		Elsewhere: func(home string) string { return homeVariable + "=" + home },
	}}
	a.reader.LimitsAt = a.LimitsAt
	a.Read, a.Size = a.reader.Read, rollout.Size
	return a, err
}

// Subagents returns the threads of the session that were stopped since it began its current work.
func (a *Agent) Subagents(ctx context.Context, s resume.Session) ([]resume.Subagent, error) {
	return a.reader.Subagents(ctx, filepath.Join(a.Homes.Of(s.Transcript), "sessions"), s.Key.ID, s.WorkSince())
}

// OpenTool returns the tool that was called last and has no result.
func (a *Agent) OpenTool(ctx context.Context, s resume.Session) string {
	return agent.OpenCall(ctx, s, func(line lines.Line) agent.ToolUse { return rollout.Trace(line, false) }).Tool
}

// Usage returns the last state of the weekly window.
func (a *Agent) Usage(ctx context.Context, s resume.Session) (resume.Usage, bool, error) {
	return rollout.Usage(ctx, s.Transcript)
}

// Readings returns the states of the windows in the last part of the session.
func (a *Agent) Readings(ctx context.Context, s resume.Session) ([]usage.Reading, error) {
	return rollout.Readings(ctx, s.Transcript)
}

func isProgram(path string) bool { return filepath.Base(path) == "codex" }

// login returns the signed-in account of a process with these variables; empty: nobody is signed
// in, it cannot be determined, or a key is used instead. Tokens change often, the account does not.
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

// Denied returns the last refusal of a run. A run without a terminal never asks: Codex refuses what
// would leave its sandbox, or it fails there.
func (a *Agent) Denied(ctx context.Context, s resume.Session, run agent.Ran) (agent.Denial, bool, error) {
	had, _, err := rollout.LastTurn(ctx, s.Transcript)
	if err != nil {
		return agent.Denial{}, false, err
	}
	confined := had.Sandbox.Name() != fullAccess
	d, denied, _, err := agent.LastDenial(ctx, s.Transcript, run.Since, func(line lines.Line) agent.ToolUse {
		return rollout.Trace(line, confined)
	})
	return d, denied, err
}

var _ headless.CommandLine = (*Agent)(nil)

type invocation struct {
	before, options leash.Arguments // on either side of exec
	resumes         bool            // resume follows
	plain           []string        // the plain arguments after that
	room            *Agent
}

// Invocation parses a command line that runs Codex with exec.
func (a *Agent) Invocation(args []string) (headless.Invocation, bool) {
	before, command, after := flags.Parse(args).Cut()
	i := invocation{before: before, options: after, plain: after.Plain(), room: a}
	if command != execCommand && command != "e" || len(i.plain) > 0 && i.plain[0] == "review" {
		return nil, false
	}
	if len(i.plain) > 0 && i.plain[0] == "resume" {
		i.resumes, i.plain = true, i.plain[1:]
	}
	return i, true
}

// names reports whether the first plain argument is a session.
func (i invocation) names() bool {
	return i.resumes && !slices.Concat(i.before, i.options).Has("--last") && len(i.plain) > 0
}

func (i invocation) Prompted() bool {
	plain := i.plain
	if i.names() {
		plain = plain[1:]
	}
	return len(plain) > 0 && plain[0] != "-"
}

func (i invocation) Session() string {
	if !i.names() {
		return ""
	}
	return headless.PlainID(i.plain[0])
}

func (i invocation) SessionIDArgs(string) []string { return nil }

var bannerID = lazy.Regexp(`(?m)^session id: ([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})\s*$`)

// Track reads the id that Codex prints first: in JSON on standard output, else for people on
// standard error. Without one no session began. Later output is the model's, and may mention any
// session.
func (i invocation) Track(string) func(context.Context, headless.Ended) headless.Continuation {
	return func(_ context.Context, run headless.Ended) headless.Continuation {
		if i.options.Has("--ephemeral") {
			return headless.Continuation{}
		}
		t := headless.Continuation{Session: run.Session}
		if i.options.Has("--json", "--experimental-json") {
			t.Session = cmp.Or(headless.ToldID(run.Printed, "thread_id"), t.Session)
		} else {
			t.Session = cmp.Or(i.room.ParseSessionID(cmp.Or(run.Stderr, run.Stdout)), t.Session)
		}
		if t.Session != "" {
			t.Transcript = i.room.Homes.File("sessions/*/*/*/rollout-*-" + t.Session + ".jsonl")
		}
		return t
	}
}

// Resume repeats every option: a continued session keeps neither its model nor its sandbox. Options
// stay before or after exec, where their meaning may differ. A work tree that was created for the
// session is not created again.
func (i invocation) Resume(t headless.Continuation, prompt string) []string {
	const made = "--worktree"
	args := slices.Concat(i.before.Options(made), []string{execCommand}, i.options.Options("--last", "--all", "-i", "--image", made))
	if slices.Concat(i.before, i.options).Has(made) {
		if had, found, _ := rollout.LastTurn(context.Background(), t.Transcript); found { // else it continues here
			args = append(args, "-C", had.Cwd)
		}
	}
	return leash.WithPrompt(append(args, "resume", t.Session), prompt)
}
