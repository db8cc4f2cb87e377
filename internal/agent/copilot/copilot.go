// Package copilot supports GitHub Copilot CLI: where the events of its sessions are, what they mean,
// which process holds a session, and how a session is continued.
package copilot

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/headless"
	"resumed/internal/lazy"
	"resumed/internal/leash"
	"resumed/internal/limit"
	"resumed/internal/lines"
	"resumed/internal/process"
	"resumed/internal/resume"
)

// Name is GitHub Copilot CLI's name in configuration, status and metrics.
const Name = "copilot"

const (
	home         = ".copilot"
	homeVariable = "COPILOT_HOME"
	eventsFile   = "events.jsonl"
)

var described = agent.Description{
	About: agent.About{
		Name: Name, Program: "copilot", Is: isProgram, ByHand: "--resume", Flags: flags, Variables: variables, Keys: keys,
	},
	Title:    "GitHub Copilot CLI",
	Remedies: agent.Remedies{SignIn: "run copilot login", Pay: "raise the budget at github.com/settings/billing", Shorten: "/compact", Switch: "/model"},

	CommandVariable: "COPILOT_CLI",

	Plugin: &agent.Plugin{
		Install: "copilot plugin marketplace add DIR && copilot plugin install resumed@resumed",
		Version: pluginVersion,
	},

	Home: home, HomeVariables: []string{homeVariable},
	Glob: "session-state/*/" + eventsFile, Sift: sift, IsID: agent.IsUUID, PathID: pathID,

	Read:   read,
	Place:  place,
	Counts: `"session.usage_record"`,
	Choose: choose,
	Owner:  owner,

	Starts: true,
	Resume: "--resume",
	Line: agent.PromptFlags{
		Names:  [][]string{{"--session-id"}, {"-r", "--resume"}},
		Gives:  []string{"--session-id", "-r", "--resume", "--continue", "--connect"},
		Once:   []string{"-r", "--resume", "--session-id", "--continue", "-n", "--name", "-p", "--prompt", "--attachment"},
		Mode:   "--mode",
		Modes:  modes,
		Output: []string{"--output-format"},
		Stream: true,
		Field:  "sessionId",
		Left:   left,
	},
}

// Builtin is the entry of GitHub Copilot CLI in the list of agents.
var Builtin = described.Builtin()

// pluginVersion returns the version that is enabled; "": none. A plugin from a directory is not copied.
func pluginVersion() string {
	root := agent.UsualHome(home, homeVariable)
	dir, enabled := agent.EnabledPlugin(filepath.Join(root, "settings.json"))
	if !enabled {
		return ""
	}
	const manifest = ".claude-plugin/plugin.json"
	return agent.ManifestVersion(filepath.Join(dir, "plugins/resumed", manifest), filepath.Join(root, "installed-plugins/resumed/resumed", manifest))
}

var isProgram = agent.ProgramOf("copilot copilot-linux-x64 copilot-linux-arm64", "npm-loader.js index.js", "@github/copilot")

func pathID(path string) string {
	if id := filepath.Base(filepath.Dir(path)); agent.IsUUID(id) {
		return id
	}
	return ""
}

// left returns a session with a known id, if a run has begun it.
func left(_ context.Context, d *agent.Described, t headless.Continuation, _ headless.Ended, _ string) headless.Continuation {
	transcript := filepath.Join(d.Homes.Usual, "session-state", t.Session, eventsFile)
	if _, err := os.Stat(transcript); t.Transcript != "" || err == nil && agent.IsUUID(t.Session) {
		return headless.Continuation{Session: t.Session, Transcript: cmp.Or(t.Transcript, transcript)}
	}
	return headless.Continuation{}
}

// modes are ordered by what they allow without asking, least first.
var modes = []string{"plan", "interactive", "autopilot"}

// choose returns the last mode of the session, if it allows no more than its start. The session keeps
// its own model. Events contain permissions only if they were changed: a session whose start was not
// seen gets none.
func choose(_ context.Context, _ *agent.Described, s resume.Session, had agent.RunSettings) (c agent.Choice, err error) {
	c.Newer = []string{"--model"}
	o := s.StartedWith()
	if o != nil && o.ArgsSeen {
		if start := startedIn(o.Args); slices.Index(modes, had.Mode) > slices.Index(modes, start) {
			c.Left = []leash.Omission{{What: had.Mode, Why: "the session was started with less: continued in " + start}}
			had.Mode = ""
		}
	}
	if had.Mode != "" {
		c.Newer = append(c.Newer, "--mode", "--plan", "--autopilot")
	}
	if had.Mode == "plan" || had.Mode == "autopilot" {
		c.Args = []string{"--mode", had.Mode}
	}
	if asks := had.Permission == "manual" || had.Permission == "assisted"; asks { // a person withdrew permissions
		c.Newer = append(c.Newer, "--allow-all-tools", "--allow-all-paths", "--allow-all-urls", "--allow-all", "--yolo")
		if o != nil && slices.ContainsFunc(o.Env, func(v resume.Variable) bool { return v.Name == allowAll }) {
			c.Skip = agent.Parked("it was started with %s and was told to ask since: go on there", allowAll).Skip
		}
	}
	return c, nil
}

func startedIn(args []string) string {
	line := flags.Parse(args)
	for _, mode := range []string{"plan", "autopilot"} {
		if line.Has("--" + mode) {
			return mode
		}
	}
	return cmp.Or(line.Value("--mode"), "interactive")
}

// owner returns the live process that holds the session. A process marks the sessions that it holds
// with inuse.PID.lock in their directories; a killed process leaves the file behind. A process without
// such a file is just starting, and may take any session of its directory.
func owner(ctx context.Context, a *agent.Described, s resume.Session) (*resume.Owner, error) {
	running, err := a.Processes.Running(process.WithSnapshot(ctx), isProgram)
	if err != nil || len(running) == 0 {
		return nil, err
	}
	kind := func(p process.Live) string { return p.Kind(agent.PromptOptions...) }
	dir, place := filepath.Dir(s.Transcript), process.PlaceOf(s.Cwd)
	holders, busy := holdersIn(dir), holdersIn(filepath.Join(filepath.Dir(dir), "*"))
	var noted, free []process.Live
	for _, p := range running {
		switch {
		case p.CannotHold(s, kind(p)):
		case holders[p.PID]:
			noted = append(noted, p)
		case !holdsOther(a, p, running, busy) && (p.LivesIn(place) || p.Names(s.Key.ID)):
			free = append(free, p)
		}
	}
	if len(noted) > 0 {
		return process.OneOf(noted, s, kind), nil
	}
	return process.OneOf(free, s, kind), nil
}

// holdsOther reports whether a process, or one that it started as a script, holds another session.
func holdsOther(a *agent.Described, p process.Live, running []process.Live, busy map[int]bool) bool {
	return busy[p.PID] || slices.ContainsFunc(running, func(child process.Live) bool {
		return busy[child.PID] && child.PID != p.PID && len(a.Processes.WithoutDescendants([]int{p.PID, child.PID})) == 1 && slices.Equal(p.Args, child.Args)
	})
}

// holdersIn returns the processes with a lock file in directories that match the pattern.
func holdersIn(pattern string) map[int]bool {
	notes, _ := filepath.Glob(filepath.Join(pattern, "inuse.*.lock")) // errs on a bad pattern only
	pids := make(map[int]bool)
	for _, note := range notes {
		var pid int
		if _, err := fmt.Sscanf(filepath.Base(note), "inuse.%d.lock", &pid); err == nil {
			pids[pid] = true
		}
	}
	return pids
}

// flags are those of GitHub Copilot CLI 1.0. Events contain what a session may do without asking only
// if it was changed: the flags are repeated unchanged.
var flags = leash.Flags{
	{Effect: leash.Restricts, Takes: leash.Alone, Names: `--disable-client-telemetry --disallow-temp-dir --disable-builtin-mcps --assisted-approval
		--no-custom-instructions --no-auto-update --no-ask-user --no-remote --no-remote-export --no-eager-powershell-resolution`},
	{Effect: leash.Restricts, Takes: leash.Many, Names: `--deny-tool --available-tools --excluded-tools --secret-env-vars --deny-url`},
	{Effect: leash.Restricts, Takes: leash.One, Names: `--disable-mcp-server --max-autopilot-continues --max-ai-credits`},
	{Takes: leash.One, Names: `--mode`, By: leash.ByValue(leash.Grants, leash.Restricts, "autopilot")},
	{Effect: leash.Restricts, Takes: leash.Alone, Names: `--plan`},
	{Effect: leash.Grants, Takes: leash.Alone, Names: `--allow-all-tools --allow-all-paths --allow-all-urls --allow-all --yolo --autopilot
		--enable-all-github-mcp-tools --allow-all-mcp-server-instructions`},
	{Effect: leash.Grants, Takes: leash.Many, Names: `--allow-tool --allow-url`},
	{Effect: leash.Grants, Takes: leash.One | leash.Path, Names: `--add-dir`},
	{Effect: leash.Grants, Takes: leash.One, Names: `--add-github-mcp-toolset --add-github-mcp-tool --enable-mcp-server --mcp-github-auth`},
	{Effect: leash.Selects, Takes: leash.One, Names: `--model --reasoning-effort --context --auto-tier --agent --additional-mcp-config --dynamic-retrieval --prefer-version`},
	{Effect: leash.Selects, Takes: leash.One | leash.Path, Names: `--plugin-dir --extension-sdk-path`},
	{Effect: leash.Selects, Takes: leash.Maybe, Names: `--bash-env`},
	{Effect: leash.Selects, Takes: leash.Alone, Names: `--enable-memory --experimental --no-experimental --no-bash-env`},
	{Effect: leash.Nothing, Takes: leash.One | leash.Path, Names: `-C`}, // the session has its own
	{Effect: leash.Nothing, Takes: leash.One, Names: `--log-dir --log-level --stream --output-format --usage-output-file`},
	{Effect: leash.Nothing, Takes: leash.Maybe, Names: `--mouse`},
	{Effect: leash.Nothing, Takes: leash.Alone, Names: `-s --silent --banner --screen-reader --plain-diff --no-color --no-mouse -v --version -h --help`},
	{Effect: leash.Once, Takes: leash.Maybe, Names: `-r --resume --share --worktree`},
	{Effect: leash.Once, Takes: leash.One, Names: `-p --prompt -i --interactive -n --name --session-id --attachment`},
	{Effect: leash.Once, Takes: leash.Alone, Names: `--continue --fleet --trust-folder --share-gist`},
	{Effect: leash.Attended, Takes: leash.Alone, Names: `--acp --remote --remote-export`},
	{Effect: leash.Attended, Takes: leash.Maybe, Names: `--connect`},
	{Effect: leash.Attended, Takes: leash.One, Names: `--environment-host --environment-compute-id`},
}

const allowAll = "COPILOT_ALLOW_ALL"

// keys are variables with a key. Each one decides which allowance is used.
var keys = []string{"COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN", "COPILOT_PROVIDER_API_KEY", "COPILOT_PROVIDER_BEARER_TOKEN"}

var variables = leash.Variables{
	{Effect: leash.Nothing, Names: `COPILOT_CLI COPILOT_AGENT_SESSION_ID COPILOT_LOADER_PID COPILOT_RUN_APP COPILOT_EDITOR COPILOT_MULTIPLEXER COPILOT_OTEL_* COPILOT_CLI_VERSION
		COPILOT_CLI_BINARY_VERSION COPILOT_CLI_RESOLVED_DIST_DIR COPILOT_PACKAGE_IDENTITY COPILOT_SEA_EXTRACT_ONLY`},
	{Effect: leash.Account, Names: `COPILOT_GITHUB_TOKEN GH_TOKEN GITHUB_TOKEN GH_HOST COPILOT_GH_HOST COPILOT_PROVIDER_*`},
	{Effect: leash.Restricts, Names: `COPILOT_*`},
}

// record is one line of a session's events.
type record struct {
	Type      string `json:"type"`
	Timestamp string `json:"timestamp"`
	AgentID   string `json:"agentId"` // of a subagent that the model started
	Data      data   `json:"data"`
}

type data struct {
	SessionID string `json:"sessionId"`
	Context   struct {
		Cwd string `json:"cwd"`
	} `json:"context"`

	// of prompts and answers
	Content   string    `json:"content"`
	Source    string    `json:"source"` // of a prompt that no person typed
	Autopilot bool      `json:"isAutopilotContinuation"`
	AgentMode string    `json:"agentMode"`
	Requests  []request `json:"toolRequests"`
	Parent    string    `json:"parentToolCallId"` // of output of a subagent

	// of failures
	Kind    string `json:"errorType"`
	Code    string `json:"errorCode"`
	Message string `json:"message"`
	Status  int    `json:"statusCode"`

	// of changes, and of results of tools
	NewMode    string `json:"newMode"`
	Permission string `json:"mode"`
	CallID     string `json:"toolCallId"`
	Error      struct {
		Code string `json:"code"`
	} `json:"error"`
	Usage struct {
		Input       int64  `json:"inputTokens"`
		Output      int64  `json:"outputTokens"`
		Interaction string `json:"interactionType"`
	} `json:"usage"`
}

type request struct {
	ID        string         `json:"toolCallId"`
	Name      string         `json:"name"`
	Arguments map[string]any `json:"arguments"`
}

// sift ignores bookkeeping, results of tools, and events that are only for display.
var sift = agent.SiftByType([]string{"assistant.message"}, []string{"session.error", "user.message", "abort", "session.snapshot_rewind"})

// read returns what an event means. A failure is written after the last retry.
func read(line lines.Line, limits func(time.Time) limit.Reader) (agent.Record, bool) {
	r, ok := lines.Parse[record](line.Data)
	if helper := r.AgentID != "" || r.Data.Parent != ""; !ok || helper { // the session waits for its subagent
		return agent.Record{}, false
	}
	d := r.Data
	said := agent.Record{Prompt: d.Content}
	said.At = agent.Written(r.Timestamp, line.ModTime)
	switch r.Type {
	case "session.error":
		said.Event = resume.Limited{At: said.At, Verdict: d.verdict(limits(said.At)), Text: agent.Clip(d.Message)}
	case "assistant.message":
		if strings.TrimSpace(d.Content) != "" || len(d.Requests) > 0 {
			said.Event = resume.Progressed{At: said.At}
		}
		for _, c := range d.Requests {
			said.Calls = append(said.Calls, agent.Call{ID: c.ID, Tool: c.Name, Use: agent.UseOf(c.Arguments)})
		}
	case "user.message":
		said.Event, said.Mode = resume.Prompted{At: said.At, By: d.by()}, d.AgentMode
	case "abort", "session.snapshot_rewind":
		said.Event = resume.Cancelled{At: said.At}
	case "session.mode_changed":
		said.Mode = d.NewMode
	case "session.permissions_changed":
		said.Permission = d.Permission
	case "tool.execution_complete":
		said.Done = []string{d.CallID}
		if d.Error.Code == "denied" {
			said.Denied = &agent.Denial{ID: d.CallID}
		}
	case "session.usage_record":
		if d.Usage.Interaction == "conversation-agent" {
			said.Tokens = d.Usage.Input + d.Usage.Output
		}
	}
	return said, true
}

// by returns the source of a prompt; empty: a person, or a command line.
func (d data) by() string {
	if d.Autopilot || d.Source != "" && d.Source != "user" {
		return "GitHub Copilot CLI itself"
	}
	return ""
}

// waited is the text about its own retries, whose times are not resets.
var waited = lazy.Regexp(`; retried \d+ times \(total retry wait time: [^)]*\)(?: Last error:)?`)

// verdict judges a failure by its status, code and text, and by its kind.
func (d data) verdict(limits limit.Reader) limit.Verdict {
	v := limits.Refusal(limit.Refusal{Status: d.Status, Code: d.Code, Text: waited().ReplaceAllString(d.Message, "")})
	switch {
	case d.Kind == "rate_limit" && strings.HasPrefix(d.Code, "user_"): // limits per week, for all models or for one
		v.Class, v.WaitHelps = limit.UsageLimit, true
	case d.Kind == "rate_limit" && !v.Class.Transient():
		v.Class, v.WaitHelps = limit.RateLimit, true
	case d.Kind == "quota" && !v.Reset.Stated(): // it must be bought, or ends with the month
		v.Class, v.WaitHelps = limit.Billing, false
	case d.Kind == "authentication" || d.Kind == "authorization" || d.Kind == "policy":
		v.Class, v.WaitHelps = limit.Auth, false
	case d.Kind == "context_limit":
		v.Class, v.WaitHelps = limit.ContextOverflow, false
	}
	return agent.Failed(v)
}

// place returns the session of a file and its directory, from its first event. If the beginning of the
// file is missing, the session is that of the directory's name.
func place(line lines.Line) (session, cwd string) {
	first, ok := lines.Parse[record](line.First())
	if !ok || first.Type != "session.start" || !agent.IsUUID(first.Data.SessionID) {
		return pathID(line.Path), ""
	}
	return first.Data.SessionID, first.Data.Context.Cwd
}
