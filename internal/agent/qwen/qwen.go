// Package qwen supports Qwen Code: where its chats are, what their lines mean, and how a session is continued.
package qwen

import (
	"cmp"
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/lazy"
	"resumed/internal/leash"
	"resumed/internal/limit"
	"resumed/internal/lines"
	"resumed/internal/resume"
)

// Name is Qwen Code's name in configuration, status and metrics.
const Name = "qwen-code"

var described = agent.Description{
	About: agent.About{
		Name: Name, Program: "qwen", Is: agent.ProgramOf("qwen", "cli.js index.js", "qwen-code"), ByHand: "--resume",
		Flags: flags, Variables: variables, Settings: settingsFiles, Keys: []string{"OPENAI_API_KEY"},
	},
	Title:    "Qwen Code",
	Remedies: agent.Remedies{SignIn: "run qwen and type /auth", Pay: "buy credits or raise the limit on the page of its provider", Shorten: "/compress", Switch: "/model"},

	CommandVariable: "QWEN_CODE",

	Plugin: &agent.Plugin{
		Install: "qwen extensions install DIR/plugins/resumed",
		Version: func() string {
			return agent.ManifestVersion(filepath.Join(agent.UsualHome(".qwen", "QWEN_HOME"), "extensions/resumed/qwen-extension.json"))
		},
	},

	Home: ".qwen", HomeVariables: []string{"QWEN_RUNTIME_DIR", "QWEN_HOME"},
	Glob: "projects/*/chats/*.jsonl", Sift: sift, IsID: agent.IsUUID, PathID: pathID,

	Read:   read,
	Counts: `"usageMetadata"`,
	Choose: choose,
	Enough: func(had agent.RunSettings) bool { return had.Model != "" },
	Named:  named,

	Starts: true,
	Resume: "--resume",
	Line: agent.PromptFlags{
		Plain:       true,
		Subcommands: []string{"mcp", "extensions", "extension", "skills", "skill", "hooks", "hook", "auth", "channel"},
		Terminal:    []string{"-i", "--prompt-interactive"},
		Names:       [][]string{{"--session-id"}, {"-r", "--resume"}},
		Once:        []string{"-r", "--resume", "--session-id", "-c", "--continue", "-p", "--prompt", "--input-format"},
		Mode:        "--approval-mode",
		Modes:       modes,
		Output:      []string{"--output-format", "-o"},
		Field:       "session_id",
		Failed:      failedRun,
	},
}

// Builtin is the entry of Qwen Code in the list of agents.
var Builtin = described.Builtin()

func pathID(path string) string {
	if id, found := strings.CutSuffix(filepath.Base(path), ".jsonl"); found && agent.IsUUID(id) {
		return id
	}
	return ""
}

var kindOfLogin = lazy.Regexp(`^[a-z][a-z0-9-]*$`)

// choose returns the model and login of the session's last request.
func choose(_ context.Context, d *agent.Described, s resume.Session, had agent.RunSettings) (c agent.Choice, err error) {
	if c.Args = leash.WithModel(nil, had.Model); len(c.Args) > 0 {
		c.Newer = append(c.Newer, "-m", "--model")
	}
	if kindOfLogin().MatchString(had.Login) {
		c.Args, c.Newer = append(c.Args, "--auth-type", had.Login), append(c.Newer, "--auth-type")
	}
	if own, known := keysOf[had.Login]; known { // it does not need the keys of other providers
		c.Spare = agent.Optional(append(named(d, s.Cwd), leash.Row{Names: own}), providerVariables)
	}
	return c, nil
}

// envKey matches the variable for a provider's key in the settings.
var envKey = lazy.Regexp(`"envKey"\s*:\s*"([A-Za-z_][A-Za-z0-9_]*)"`)

// named returns the variables in the settings of the homes and of a directory.
func named(d *agent.Described, dir string) leash.Variables {
	files := d.Homes.Files("settings.json")
	if dir != "" {
		files = append(files, filepath.Join(dir, ".qwen", "settings.json"))
	}
	return leash.Variables{agent.VariablesIn(envKey(), files...)}
}

// flags are those of Qwen Code from 0.10 to 0.24, including hidden ones. Chats do not contain what a session may do
// without asking: the flags are repeated unchanged.
var flags = leash.Flags{
	{Effect: leash.Restricts, Takes: leash.Switch, Names: `-s --sandbox --bare --safe-mode --chat-recording --telemetry --telemetry-log-prompts`},
	{Effect: leash.Restricts, Takes: leash.Many, Names: `--core-tools --exclude-tools --allowed-mcp-server-names -e --extensions --disabled-slash-commands`},
	{Effect: leash.Restricts, Takes: leash.Maybe, Names: `--sandbox-image --max-session-turns --max-wall-time --max-tool-calls --max-subagent-depth
		--system-prompt --append-system-prompt --json-schema --telemetry-target --telemetry-otlp-endpoint --telemetry-otlp-protocol`},
	{Effect: leash.Restricts, Takes: leash.Maybe | leash.Path, Names: `--telemetry-outfile`},
	{Takes: leash.Maybe, Names: `--approval-mode`, By: leash.ByValue(leash.Restricts, leash.Grants, "default", "plan")},
	{Effect: leash.Grants, Takes: leash.Switch, Names: `-y --yolo --insecure --experimental-lsp`},
	{Effect: leash.Grants, Takes: leash.Many, Names: `--allowed-tools`},
	{Effect: leash.Grants, Takes: leash.Many | leash.Path, Names: `--include-directories --add-dir`},
	{Effect: leash.Selects, Takes: leash.Maybe, Names: `-m --model --output-style --vlm-switch-mode --web-search-default --google-search-engine-id --proxy`},
	{Effect: leash.Selects, Takes: leash.Many, Names: `--fallback-model`},
	{Effect: leash.Selects, Takes: leash.Maybe | leash.Path, Names: `--mcp-config`},
	{Effect: leash.Account, Takes: leash.Maybe, Names: `--auth-type --openai-base-url`},
	{Effect: leash.Account, Takes: leash.Maybe | leash.Secret, Names: `--openai-api-key --openaiApiKey --tavily-api-key --google-api-key`},
	{Effect: leash.Nothing, Takes: leash.Switch, Names: `-d --debug --screen-reader --include-partial-messages --openai-logging --checkpointing
		--experimental-skills -v --version -h --help`},
	{Effect: leash.Nothing, Takes: leash.Maybe, Names: `-o --output-format --openai-logging-dir`},
	{Effect: leash.Once, Takes: leash.Maybe, Names: `-p --prompt -i --prompt-interactive -r --resume --session-id --sandbox-session-id --worktree`},
	{Effect: leash.Once, Takes: leash.Switch, Names: `-c --continue --fork-session -l --list-extensions`},
	{Effect: leash.Attended, Takes: leash.Switch, Names: `--acp --experimental-acp --restore-ask-user-question`},
	{Effect: leash.Attended, Takes: leash.Maybe, Names: `--channel --input-format --input-file --json-fd --json-file`},
}

var variables = leash.Variables{
	{Effect: leash.Nothing, Names: `QWEN_CODE QWEN_CODE_NO_RELAUNCH QWEN_CODE_RELAUNCH_ARGS QWEN_CODE_CLI QWEN_CODE_MANAGED_NPM_* QWEN_CODE_STARTUP_VERSION
		QWEN_CODE_LAUNCHER_* QWEN_CODE_PRIVATE_* QWEN_CODE_SESSION_ID QWEN_CODE_PROMPT_ID QWEN_CODE_PROJECT_DIR QWEN_CODE_IDE_* QWEN_CODE_PROFILE_*
		QWEN_CODE_CPU_PROFILE QWEN_CODE_WARNINGS_FILE QWEN_CODE_PENDING_COMPILE_CACHE QWEN_DEBUG* QWEN_OPENTUI_DEBUG QWEN_DAEMON_LOG_FILE QWEN_SERVE_*`},
	{Effect: leash.Account, Names: providerVariables},
	{Effect: leash.Restricts, Names: `QWEN_* SANDBOX SANDBOX_* BUILD_SANDBOX SEATBELT_PROFILE`},
}

const providerVariables = `QWEN_DEFAULT_AUTH_TYPE QWEN_CUSTOM_API_KEY* OPENAI_* DASHSCOPE_* BAILIAN_* MODELSCOPE_* OPENROUTER_* DEEPSEEK_* MINIMAX_* MOONSHOT_* ZAI_* IDEALAB_*
	AZURE_OPENAI_* ANTHROPIC_* GEMINI_API_KEY GEMINI_MODEL GOOGLE_* GCLOUD_PROJECT CLOUDSDK_CONFIG`

// keysOf are the variables of each kind of login, besides those in the settings. A session with one of them does not
// need the keys of the others. "openai" is missing: many providers use its protocol.
var keysOf = map[string]string{
	"qwen-oauth": "",
	"anthropic":  "ANTHROPIC_*",
	"gemini":     "GEMINI_* GOOGLE_*",
	"vertex-ai":  "GOOGLE_* GCLOUD_PROJECT CLOUDSDK_CONFIG",
}

type record struct {
	SessionID   string `json:"sessionId"`
	UUID        string `json:"uuid"`
	Version     string `json:"version"`
	Cwd         string `json:"cwd"`
	Timestamp   string `json:"timestamp"`
	Type        string `json:"type"`
	Subtype     string `json:"subtype"`
	Provenance  string `json:"provenance"`
	IsSidechain bool   `json:"isSidechain"`
	Model       string `json:"model"`
	Message     struct {
		Parts agent.Parts `json:"parts"`
	} `json:"message"`
	Payload struct {
		Event telemetry `json:"uiEvent"`
	} `json:"systemPayload"`
	Result struct { // of a tool call
		CallID string `json:"callId"`
		Kind   string `json:"errorType"`
	} `json:"toolCallResult"`
	Usage struct {
		Total int64 `json:"totalTokenCount"`
	} `json:"usageMetadata"`
}

// telemetry is what Qwen Code records about a request.
type telemetry struct {
	Name     string `json:"event.name"`
	Model    string `json:"model"`
	Auth     string `json:"auth_type"` // the kind of login, which tells the kind of provider
	Subagent string `json:"subagent_name"`
	Message  string `json:"error_message"`
	Error    string `json:"error"` // the name of error_message until 0.10
	Kind     string `json:"error_type"`

	// Status is a number, or in 0.10 the provider's own code if there is one.
	Status json.RawMessage `json:"status_code"`
}

func (e telemetry) text() string { return cmp.Or(e.Message, e.Error) }

const apiError = "qwen-code.api_error"

func read(line lines.Line, limits func(time.Time) limit.Reader) (agent.Record, bool) {
	r, ok := lines.Parse[record](line.Data)
	if !ok || r.IsSidechain {
		return agent.Record{}, false
	}
	said := agent.Record{Cwd: r.Cwd, Provider: r.Payload.Event.Auth, Session: r.SessionID, Prompt: r.Message.Parts.Text()}
	said.At = agent.Written(r.Timestamp, line.ModTime)
	if !agent.IsUUID(said.Session) {
		said.Session = pathID(line.Path)
	}
	r.tell(&said)
	failure, failed := r.failed()
	switch {
	case failed:
		said.Event, said.Model, said.Login = failure.event(limits(said.At)), failure.Model, failure.Auth
	case r.moved():
		said.Event = resume.Progressed{At: said.At}
	case r.prompts():
		said.Event = resume.Prompted{At: said.At}
	case r.Type == "system" && r.Subtype == "rewind": // a person went back to an earlier state
		said.Event = resume.Cancelled{At: said.At}
	}
	return said, true
}

func (r record) tell(said *agent.Record) {
	if r.Type == "assistant" {
		said.Model, said.Tokens = r.Model, r.Usage.Total
	}
	if r.Type == "tool_result" {
		said.Done = []string{r.Result.CallID}
	}
	for _, p := range r.Message.Parts {
		var c struct {
			ID   string         `json:"id"`
			Name string         `json:"name"`
			Args map[string]any `json:"args"`
		}
		if r.Type == "assistant" && len(p.Call) > 0 && json.Unmarshal(p.Call, &c) == nil {
			said.Calls = append(said.Calls, agent.Call{ID: c.ID, Tool: c.Name, Use: agent.UseOf(c.Args)})
		}
		denied := r.Result.Kind == "execution_denied" || r.Result.Kind == "" && strings.Contains(string(p.Response), "permission was declined")
		if r.Type == "tool_result" && denied {
			said.Denied = &agent.Denial{ID: r.Result.CallID}
		}
	}
}

// event returns the event of a failed request. The process may retry, and no record says when it gives up: as long as
// it is alive it owns the session, and its next records tell more.
func (e telemetry) event(limits limit.Reader) resume.Event {
	v := e.verdict(limits)
	if v.Class == limit.Cancelled {
		return resume.Cancelled{At: limits.At}
	}
	return resume.Limited{At: limits.At, Verdict: v, Text: agent.Clip(e.text())}
}

func (e telemetry) verdict(limits limit.Reader) limit.Verdict {
	refusal := limit.Refusal{Code: e.Kind, Text: "[API Error: " + e.text() + "]"}
	var code string
	if json.Unmarshal(e.Status, &code) == nil && code != "" {
		refusal.Code = code
	} else {
		_ = json.Unmarshal(e.Status, &refusal.Status) // any other type counts as absent
	}
	return agent.Failed(limits.Refusal(refusal))
}

func (r record) moved() bool {
	calls := func(p agent.Part) bool { return len(p.Call) > 0 }
	return r.Type == "assistant" && (strings.TrimSpace(r.Message.Parts.Text()) != "" || slices.ContainsFunc(r.Message.Parts, calls))
}

// prompts reports whether the record is a prompt. Scheduled prompts and notices of background tasks have a subtype;
// versions with a provenance set it to real_user for prompts of a person or a command line.
func (r record) prompts() bool {
	return r.Type == "user" && r.Subtype == "" && (r.Provenance == "" || r.Provenance == "real_user") && r.Message.Parts.IsPrompt()
}

// failed returns the record of a failed request of the main conversation. Failures of subagents, such as the one that
// extracts memories, do not count.
func (r record) failed() (telemetry, bool) {
	e := r.Payload.Event
	return e, r.Type == "system" && r.Subtype == "ui_telemetry" && e.Name == apiError && e.Subagent == ""
}

var (
	siftByType = agent.SiftByType([]string{"assistant"}, []string{"user", "system"})
	decides    = lines.Any(`"user"`, `"`+apiError+`"`, `"rewind"`)
)

// sift ignores bookkeeping and results of tools.
func sift(line []byte) agent.Weight {
	weight := siftByType(line)
	if weight == agent.Matters && !decides.In(line) {
		return agent.Nothing
	}
	return weight
}

// IsRecord reports whether a line is one that only Qwen Code writes. Other agents write messages without parts.
func IsRecord(line []byte) bool {
	r, ok := lines.Parse[record](line)
	return ok && agent.IsUUID(r.SessionID) && agent.IsUUID(r.UUID) && r.Version != "" &&
		(len(r.Message.Parts) > 0 || strings.HasPrefix(r.Payload.Event.Name, "qwen-code."))
}
