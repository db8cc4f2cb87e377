// Package qwen supports Qwen Code: where its chats are, what their lines mean, and how a session is continued.
package qwen

import (
	"context"
	"path/filepath"
	"regexp"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/leash"
	"resumed/internal/resume"
)

// Name is Qwen Code's name in configuration, status and metrics.
const Name = "qwen-code"

// described is Qwen Code.
var described = agent.Description{
	About: agent.About{
		Name: Name, Program: "qwen", Is: agent.ProgramOf("qwen", "cli.js index.js", "qwen-code"), ByHand: "--resume",
		Flags: flags, Variables: variables, Keys: []string{"OPENAI_API_KEY"},
	},
	Title:    "Qwen Code",
	Remedies: agent.Remedies{SignIn: "run qwen and type /auth", Pay: "buy credits or raise the limit on the page of its provider", Shorten: "/compress"},

	Plugin: &agent.Plugin{
		Install: "qwen extensions install DIR:resumed",
		Version: func() string {
			return agent.ManifestVersion(filepath.Join(agent.UsualHome(".qwen", "QWEN_HOME"), "extensions/resumed/qwen-extension.json"))
		},
	},

	Home: ".qwen", HomeVariables: []string{"QWEN_RUNTIME_DIR", "QWEN_HOME"},
	Dir:   "projects",
	Files: agent.Source{Depth: 2, Match: isChat, Sift: sift},
	Glob:  "projects/*/chats/*.jsonl",
	IsID:  agent.IsUUID,

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
		Modes:       []string{"plan", "default", "auto-edit", "auto", "yolo"},
		Output:      []string{"--output-format", "-o"},
		Field:       "session_id",
	},
}

// Builtin is the entry of Qwen Code in the list of agents.
var Builtin = described.Builtin()

// isChat accepts PROJECT/chats/SESSION.jsonl.
func isChat(rel string) bool {
	parts := strings.Split(rel, string(filepath.Separator))
	return len(parts) == 3 && parts[1] == "chats" && strings.HasSuffix(parts[2], ".jsonl") && agent.IsUUID(strings.TrimSuffix(parts[2], ".jsonl"))
}

var kindOfLogin = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

// choose returns the model and login of the session's last request.
func choose(_ context.Context, d *agent.Described, s resume.Session, had agent.RunSettings) (c agent.Choice, err error) {
	if c.Args = leash.WithModel(nil, had.Model); len(c.Args) > 0 {
		c.Newer = append(c.Newer, "-m", "--model")
	}
	if kindOfLogin.MatchString(had.Login) {
		c.Args, c.Newer = append(c.Args, "--auth-type", had.Login), append(c.Newer, "--auth-type")
	}
	if own, known := keysOf[had.Login]; known { // it does not need the keys of other providers
		c.Spare = agent.Spare(append(named(d, s.Cwd), leash.Row{Names: own}), providerVariables)
	}
	return c, nil
}

// envKey matches the variable for a provider's key in the settings.
var envKey = regexp.MustCompile(`"envKey"\s*:\s*"([A-Za-z_][A-Za-z0-9_]*)"`)

// named returns the variables in the settings of the homes and of a directory.
func named(d *agent.Described, dir string) leash.Variables {
	homes := append([]string{d.Homes.Usual}, d.Homes.Roots...)
	if dir != "" {
		homes = append(homes, filepath.Join(dir, ".qwen"))
	}
	var names []string
	for _, home := range homes {
		text, _ := agent.ReadSettings(filepath.Join(home, "settings.json")) // an unreadable file names none
		for _, found := range envKey.FindAllSubmatch(text, -1) {
			names = append(names, string(found[1]))
		}
	}
	return leash.Variables{{Effect: leash.Account, Names: strings.Join(names, " ")}}
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
