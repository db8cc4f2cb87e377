// Package gemini knows Gemini CLI: where its chats are, what a line of them
// means, how a session is continued, and what must be cleared away after that.
package gemini

import (
	"cmp"
	"path/filepath"
	"regexp"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/leash"
)

// Name is Gemini CLI's name in configuration, status and metrics.
const Name = "gemini"

// homeName is what every home of Gemini CLI is called: only the directory
// around it can be chosen.
const homeName = ".gemini"

// homeVariable names the directory around the home.
const homeVariable = "GEMINI_CLI_HOME"

// described is Gemini CLI.
var described = agent.Description{
	About: agent.About{
		Name: Name, Program: "gemini", Is: isProgram, ByHand: "--resume", Flags: flags, Variables: variables, Account: account,
		Keys: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"},
	},
	Title:    "Gemini CLI",
	Remedies: agent.Remedies{SignIn: "run gemini and type /auth", Pay: "look at plan and billing of its Google account", Shorten: "/compress"},

	Home: homeName, HomeVariables: []string{homeVariable}, Around: true,
	Dir:   "tmp",
	Files: agent.Source{Depth: 2, Match: isChat, Sift: sift},
	Glob:  "tmp/*/chats/session-*.jsonl",
	IsID:  IsID,

	Read:   read,
	Place:  place,
	Counts: `"tokens"`,
	Choose: choose,
	Enough: func(had agent.RunSettings) bool { return had.Model != "" },

	Resume: "--resume",
	Gone:   Name + " deletes chats that it cannot read; copies lie in the daemon's state directory",
	Line: agent.PromptFlags{
		Plain:       true,
		Subcommands: []string{"mcp", "extensions", "extension", "skills", "skill", "hooks", "hook", "gemma"},
		Terminal:    []string{"-i", "--prompt-interactive", "--list-sessions"},
		Names:       [][]string{{"--session-id"}, {"-r", "--resume"}},
		IsName:      agent.IsDashedID,
		Once:        []string{"-r", "--resume", "--session-id", "-p", "--prompt"},
		Mode:        "--approval-mode",
		Output:      []string{"--output-format", "-o"},
		Field:       "session_id",
	},
}

// Builtin is Gemini CLI in the list of agents.
var Builtin = described.Builtin(func(o agent.Options) (agent.Agent, error) { return New(o) })

// Options says which Gemini CLI is meant: Roots are each called .gemini; without
// any it is the one in $GEMINI_CLI_HOME, else in ~.
type Options = agent.Options

// Agent is Gemini CLI with its homes.
type Agent struct{ agent.Telling }

var _ agent.CommandLine = (*Agent)(nil)

// New returns the agent. It looks at the environment, not at any file.
func New(o Options) (*Agent, error) {
	a := &Agent{}
	return a, a.Describe(described, o)
}

// isProgram knows it as it is called, as it is bundled, or as older versions were put
// together.
var isProgram = agent.ProgramOf("gemini gemini.js", "index.js", "gemini-cli")

// chatName is how a session's file is called: when it began, to the minute,
// and the first 8 digits of its id.
var chatName = regexp.MustCompile(`^session-.+-([0-9A-Za-z_-]{8})\.jsonl$`)

// isChat accepts PROJECT/chats/session-TIME-ID.jsonl. Subagents write deeper.
func isChat(rel string) bool {
	parts := strings.Split(rel, string(filepath.Separator))
	return len(parts) == 3 && parts[1] == "chats" && chatName.MatchString(parts[2])
}

// byGoogle reports whether a person of that home has signed in with a Google account.
func byGoogle(home string) bool {
	var settings struct {
		Security struct {
			Auth struct {
				Type string `json:"selectedType"`
			} `json:"auth"`
		} `json:"security"`
	}
	return agent.ReadJSON(filepath.Join(home, "settings.json"), &settings) && settings.Security.Auth.Type == "oauth-personal"
}

// account returns the Google account that is signed in; empty: none is, or something else is asked.
func account(variable func(name string) string) string {
	home := filepath.Join(cmp.Or(variable(homeVariable), variable("HOME")), homeName)
	var accounts struct {
		Active string `json:"active"`
	}
	if !agent.ReadJSON(filepath.Join(home, "google_accounts.json"), &accounts) || !byGoogle(home) {
		return ""
	}
	return accounts.Active
}

// flags are those of Gemini CLI from 0.40 to 0.61, the hidden ones too. No chat
// tells what a session may do without asking: that is repeated as it was.
var flags = leash.Flags{
	{Effect: leash.Restricts, Takes: leash.Switch, Names: `-s --sandbox`},
	{Effect: leash.Restricts, Takes: leash.Maybe, Names: `--allowed-mcp-server-names -e --extensions`},
	{Effect: leash.Restricts, Takes: leash.Maybe | leash.Path, Names: `--policy --admin-policy`},
	{Takes: leash.Maybe, Names: `--approval-mode`, By: leash.ByValue(leash.Restricts, leash.Grants, "default", "plan")},
	{Effect: leash.Grants, Takes: leash.Switch, Names: `-y --yolo --skip-trust`},
	{Effect: leash.Grants, Takes: leash.Maybe, Names: `--allowed-tools`},
	{Effect: leash.Grants, Takes: leash.Maybe | leash.Path, Names: `--include-directories`},
	{Effect: leash.Selects, Takes: leash.Maybe, Names: `-m --model`},
	{Effect: leash.Selects, Takes: leash.Maybe | leash.Path, Names: `--fake-responses --fake-responses-non-strict --record-responses`},
	{Effect: leash.Nothing, Takes: leash.Switch, Names: `-d --debug --screen-reader --raw-output --accept-raw-output-risk -v --version -h --help`},
	{Effect: leash.Nothing, Takes: leash.Maybe, Names: `-o --output-format`},
	{Effect: leash.Once, Takes: leash.Maybe, Names: `-p --prompt -i --prompt-interactive -r --resume --session-id --session-file --delete-session -w --worktree`},
	{Effect: leash.Once, Takes: leash.Switch, Names: `-l --list-extensions --list-sessions`},
	{Effect: leash.Attended, Takes: leash.Switch, Names: `--acp --experimental-acp`},
}

var variables = leash.Variables{
	{Effect: leash.Nothing, Names: `GEMINI_CLI GEMINI_CLI_NO_RELAUNCH GEMINI_CLI_IDE_* GEMINI_CLI_SURFACE GEMINI_CLI_ACTIVITY_LOG_TARGET GEMINI_CLI_WORKTREE_HANDLED
		GEMINI_DEBUG_LOG_FILE GEMINI_PTY_INFO GEMINI_MEMORY_MONITOR_INTERVAL GEMINI_CONTEXT_TRACE_DIR`},
	{Effect: leash.Account, Names: `GEMINI_API_KEY GEMINI_API_KEY_AUTH_MECHANISM GEMINI_DEFAULT_AUTH_TYPE GEMINI_CLI_USE_COMPUTE_ADC GEMINI_CLI_CUSTOM_HEADERS
		GOOGLE_* CODE_ASSIST_* GCLOUD_PROJECT CLOUDSDK_CONFIG`},
	{Effect: leash.Restricts, Names: `GEMINI_* SANDBOX SANDBOX_* BUILD_SANDBOX SEATBELT_PROFILE`},
}
