// Package gemini supports Gemini CLI: where its chats are, what their lines mean, how a session is continued, and
// what must be removed after that.
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

// homeName is the name of every home of Gemini CLI: only its parent directory can be chosen.
const homeName = ".gemini"

// homeVariable names the parent directory of the home.
const homeVariable = "GEMINI_CLI_HOME"

// chatGlob matches chats below a home.
const chatGlob = "tmp/*/chats/session-*.jsonl"

// described is Gemini CLI.
var described = agent.Description{
	About: agent.About{
		Name: Name, Program: "gemini", Is: isProgram, ByHand: "--resume", Flags: flags, Variables: variables, Account: account,
		Keys: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"},
	},
	Title:    "Gemini CLI",
	Remedies: agent.Remedies{SignIn: "run gemini and type /auth", Pay: "look at plan and billing of its Google account", Shorten: "/compress"},

	Plugin: &agent.Plugin{
		Install: "gemini extensions install DIR/plugins/gemini",
		Version: func() string {
			const manifest = "extensions/resumed/gemini-extension.json"
			usual := agent.UsualHome(homeName, homeVariable)
			return agent.ManifestVersion(filepath.Join(usual, manifest), filepath.Join(usual, homeName, manifest))
		},
	},

	Home: homeName, HomeVariables: []string{homeVariable}, Around: true,
	Dir:   "tmp",
	Files: agent.Source{Depth: 2, Match: isChat, Sift: sift},
	Glob:  chatGlob,
	IsID:  IsID,

	Read:   read,
	Place:  place,
	Counts: `"tokens"`,
	Choose: choose,
	Enough: func(had agent.RunSettings) bool { return had.Model != "" },
	Tidy:   tidy,

	Starts: true,
	Resume: "--resume",
	Gone:   Name + " deletes chats that it cannot read; copies lie in the daemon's state directory",
	Line: agent.PromptFlags{
		Plain:       true,
		Subcommands: []string{"mcp", "extensions", "extension", "skills", "skill", "hooks", "hook", "gemma"},
		Terminal:    []string{"-i", "--prompt-interactive", "--list-sessions"},
		Names:       [][]string{{"--session-id"}, {"-r", "--resume"}},
		Once:        []string{"-r", "--resume", "--session-id", "-p", "--prompt"},
		Mode:        "--approval-mode",
		Modes:       []string{"plan", "default", "auto_edit", "yolo"},
		Output:      []string{"--output-format", "-o"},
		Field:       "session_id",
		Left:        left,
	},
}

// Builtin is the entry of Gemini CLI in the list of agents.
var Builtin = described.Builtin()

// isProgram accepts its command, its bundle, and the script of older versions.
var isProgram = agent.ProgramOf("gemini gemini.js", "index.js", "gemini-cli")

// chatName is the name of a session's file: the minute it began, and the first 8 digits of its id.
var chatName = regexp.MustCompile(`^session-.+-([0-9A-Za-z_-]{8})\.jsonl$`)

// isChat accepts PROJECT/chats/session-TIME-ID.jsonl. Subagents write deeper.
func isChat(rel string) bool {
	parts := strings.Split(rel, string(filepath.Separator))
	return len(parts) == 3 && parts[1] == "chats" && chatName.MatchString(parts[2])
}

// byGoogle reports whether that home is signed in with a Google account.
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

// account returns the signed-in Google account; empty: there is none, or another login is used.
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

// flags are those of Gemini CLI from 0.40 to 0.61, including hidden ones. Chats do not contain what a session may
// do without asking: the flags are repeated unchanged.
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
