// Package claude supports Claude Code, and decides how its sessions are continued. Subpackages
// handle transcripts, owners, terminal screens, accounts and startup flags.
package claude

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/agent/claude/account"
	"resumed/internal/agent/claude/holders"
	"resumed/internal/agent/claude/startup"
	"resumed/internal/agent/claude/transcript"
	"resumed/internal/headless"
	"resumed/internal/leash"
	"resumed/internal/limit"
	"resumed/internal/lines"
	"resumed/internal/resume"
)

// Name is Claude Code's name in configuration, status and metrics.
const Name = "claude-code"

// Builtin is the entry of Claude Code in the list of agents.
var Builtin = agent.Builtin{
	Name:            Name,
	Title:           "Claude Code",
	Headless:        "claude -p",
	Models:          true,
	Variables:       []string{startup.HomeVariable},
	CommandVariable: "CLAUDECODE",
	Remedies:        agent.Remedies{SignIn: "run claude and type /login", Pay: "raise the spend limit or buy credits at claude.ai/settings/usage", Shorten: "/compact", Switch: "/model"},
	New:             func(o agent.Options) (agent.Agent, error) { return New(o) },

	StatusLine: account.StatusLine,
	Plugin:     &agent.Plugin{Install: "claude plugin install resumed --marketplace DIR", Version: pluginVersion},
}

// Options selects a Claude Code: without Roots its home is $CLAUDE_CONFIG_DIR, else ~/.claude.
type Options = agent.Options

// Agent is Claude Code with its homes.
type Agent struct {
	agent.Transcripts
	holders.Holders
	*account.Account
	reader   transcript.Reader
	fallback string // the model for a resume after an overload; empty: only the session's own
}

var (
	_ agent.FileAgent = (*Agent)(nil)
	_ agent.Turns     = (*Agent)(nil)
)

// New returns the agent. It reads the environment, but no file.
func New(o Options) (*Agent, error) {
	homes, err := agent.NewHomes(Name, agent.UsualHome(".claude", startup.HomeVariable), o.Roots)
	a := &Agent{Transcripts: agent.Transcripts{
		Base: agent.NewBase(agent.About{
			Name: Name, Program: "claude", Is: holders.IsClaude, ByHand: "--resume",
			Flags: startup.Flags, Variables: startup.Variables, Login: account.Login, Keys: account.Keys, Settings: settingsFiles, Places: []string{".claude/local"},
		}, o),
		Homes: homes,
		Dir:   "projects",
		Files: agent.Source{Depth: 1, Match: transcript.Match, Sift: transcript.Sift},
	}, fallback: o.Model}
	a.Holders, a.Account = holders.New(&a.Transcripts), account.New(&a.Transcripts)
	a.reader.LimitsAt = a.LimitsAt
	a.Read, a.Size = a.reader.Read, transcript.Size
	a.Elsewhere = func(home string) string {
		if home == filepath.Join(a.UserDir, ".claude") {
			return "" // setting the variable would move .claude.json, and with it the login
		}
		return startup.HomeVariable + "=" + home
	}
	return a, err
}

func pluginVersion() string {
	var installed struct {
		Plugins map[string][]struct {
			Version string `json:"version"`
		} `json:"plugins"`
	}
	agent.ReadJSON(filepath.Join(agent.UsualHome(".claude", startup.HomeVariable), "plugins", "installed_plugins.json"), &installed)
	for _, plugin := range installed.Plugins[agent.PluginName+"@"+agent.PluginName] {
		return plugin.Version
	}
	return ""
}

// Denied returns the last refusal of a run, from the transcript, else from a result in JSON.
func (a *Agent) Denied(ctx context.Context, s resume.Session, run agent.Ran) (agent.Denial, bool, error) {
	d, denied, told, err := agent.LastDenial(ctx, s.Transcript, run.Since, a.reader.Trace)
	if !denied && !told && err == nil {
		d, denied = transcript.DeniedInResult(run.Output)
	}
	return d, denied, err
}

// OpenTurn reports whether the last turn of the session has certainly not ended. What its process has
// registered counts too, also if that was killed.
func (a *Agent) OpenTurn(ctx context.Context, s resume.Session) (at time.Time, open bool, err error) {
	turn, at, err := transcript.LastTurn(ctx, s.Transcript)
	switch a.Registered(s) {
	case "idle":
		return at, false, err
	case "busy":
		return at, turn != transcript.TurnOver, err
	default:
		return at, turn == transcript.TurnOpen, err
	}
}

// Records returns all transcripts: in 2.0 those of subagents are beside the session's, and do not name it.
func (a *Agent) Records(s resume.Session) []string {
	files := []string{s.Transcript}
	for _, pattern := range []string{strings.TrimSuffix(s.Transcript, ".jsonl") + "/*/*.jsonl", filepath.Dir(s.Transcript) + "/agent-*.jsonl"} {
		found, _ := filepath.Glob(pattern) // errs on a bad pattern only: then they are not found
		files = append(files, found...)
	}
	return files
}

// Ended returns how the session's process ended. On Ctrl-C a run without a terminal writes nothing
// about the turn, so a process that took its entry from the registry may have been ended by its user.
func (a *Agent) Ended(s resume.Session) resume.End {
	if a.Killed(s, resume.Owner{PID: s.Origin.Process.PID}) {
		return resume.Killed
	}
	return resume.Vanished
}

// OpenTool returns the tool that was called last and has no result.
func (a *Agent) OpenTool(ctx context.Context, s resume.Session) string {
	return transcript.OpenCall(ctx, s).Tool
}

// Subagents returns the subagents that were stopped since the session began its current work.
func (a *Agent) Subagents(ctx context.Context, s resume.Session) ([]resume.Subagent, error) {
	return a.reader.Subagents(ctx, s.Transcript, s.WorkSince())
}

var _ headless.CommandLine = (*Agent)(nil)

type invocation struct {
	leash.Arguments
	room *Agent
}

// Invocation parses a command line that runs Claude Code with --print.
func (a *Agent) Invocation(args []string) (headless.Invocation, bool) {
	i := invocation{startup.Flags.Parse(args), a}
	return i, i.Has("-p", "--print")
}

func (i invocation) Prompted() bool {
	return len(i.Plain()) > 0 && i.Value("--input-format") != "stream-json"
}

func (i invocation) Document() bool { return i.Value("--output-format") == "json" }

func (i invocation) Session() string {
	id := i.Value("--session-id")
	if id == "" && !i.Has("--fork-session") {
		id = strings.TrimSuffix(filepath.Base(i.Value("-r", "--resume")), ".jsonl") // it may also be the path of a transcript
	}
	return headless.PlainID(id)
}

func (i invocation) SessionIDArgs(id string) []string {
	continues := i.Has("-c", "--continue", "-r", "--resume", "--from-pr") && !i.Has("--fork-session")
	if i.keepsNothing() || i.Has("--session-id") || continues {
		return nil
	}
	return []string{"--session-id", id}
}

func (i invocation) keepsNothing() bool { return i.Has("--no-session-persistence", "-w", "--worktree") }

// Track uses the id in the JSON output of Claude Code: old versions continue a session under a
// new id. Without it, the id that the run was given counts if it has a transcript, or if the
// transcripts cannot be searched.
func (i invocation) Track(string) func(context.Context, headless.Ended) headless.Continuation {
	return func(_ context.Context, run headless.Ended) headless.Continuation {
		if strings.HasSuffix(i.Value("--output-format"), "json") {
			if told := headless.ToldID(run.Printed, "session_id"); told != "" {
				return headless.Continuation{Session: told, Transcript: i.room.transcript(told)}
			}
		}
		if run.Session == "" || i.keepsNothing() {
			return headless.Continuation{}
		}
		t := headless.Continuation{Session: run.Session, Transcript: i.room.transcript(run.Session)}
		if _, err := os.Stat(filepath.Join(i.room.Homes.Usual, "projects")); t.Transcript == "" && err == nil {
			return headless.Continuation{}
		}
		return t
	}
}

// result is a record that says how a run ended, or why.
type result struct {
	Type     string           `json:"type"`
	Subtype  string           `json:"subtype"`
	Terminal string           `json:"terminal_reason"`
	IsError  bool             `json:"is_error"`
	Status   int              `json:"api_error_status"`
	Result   string           `json:"result"`
	Turns    int              `json:"num_turns"`
	Limit    transcript.Quota `json:"rate_limit_info"` // of the record before a refusal
}

func (r result) failed() bool {
	return r.IsError && !strings.HasPrefix(r.Subtype, "error_max_") && !strings.HasPrefix(r.Terminal, "aborted")
}

// Failed returns why the run failed, as its result says whatever its exit code is; of class none: it says nothing.
func (invocation) Failed(limits limit.Reader, run headless.Printed) (v limit.Verdict, words string) {
	var refused transcript.Quota
	for data := range headless.Records(run.Stdout) {
		r, _ := lines.Parse[result](data)
		switch {
		case r.Limit.Status == "rejected":
			refused = r.Limit
		case r.Type != "result":
		case r.failed():
			v, words = transcript.Refusal{Text: r.Result, Status: r.Status}.Verdict(limits), r.Result
			if at, stated := refused.Reset(); stated && v.Class == limit.UsageLimit {
				v.Reset = limit.Reset{At: at, Source: limit.Structured} // the words have only the minute
			}
		case r.Turns > 0: // the answer to a subagent's notice has none, and may follow a failure
			v, words = limit.Verdict{}, ""
		}
	}
	return v, words
}

func (a *Agent) transcript(id string) string { return a.Homes.File("projects/*/" + id + ".jsonl") }

func (i invocation) Resume(t headless.Continuation, prompt string) []string {
	args := i.Options("-c", "--continue", "-r", "--resume", "--session-id", "--fork-session", "--from-pr",
		"--input-format", "--replay-user-messages")
	return leash.WithPrompt(append(args, "--resume", t.Session), prompt)
}
