// Package startup describes how Claude Code is started: its flags, and the environment variables
// that matter.
package startup

import (
	"path"
	"strings"

	"resumed/internal/leash"
)

// Flags are those of Claude Code 2.0 to 2.1.325, from its --help and the declarations in the program.
var Flags = leash.Flags{
	{Effect: leash.Restricts, Takes: leash.Many, Names: `--disallowedTools --disallowed-tools --tools`},
	{Effect: leash.Restricts, Takes: leash.Alone, Names: `--restricted --bare --safe-mode --disable-slash-commands --no-chrome --strict-mcp-config`},
	{Effect: leash.Restricts, Takes: leash.One, Names: `--setting-sources --max-turns --max-budget-usd --max-thinking-tokens --task-budget
		--permission-prompts --managed-settings --agent`},
	{Effect: leash.Restricts, Takes: leash.One | leash.Path, Names: `--settings --agents --plugin-dir --plugin-dir-no-mcp --project-config-root`},
	{Effect: leash.Restricts, Takes: leash.One, Names: `--plugin-url --client-data-url`},
	{Takes: leash.One, Names: `--permission-prompt-tool`, By: func(value string) leash.Effect {
		if value == stdio {
			return leash.Attended
		}
		return leash.Restricts
	}},
	// Instructions for the whole session: people write there what the model must not do.
	{Effect: leash.Restricts, Takes: leash.One, Names: `--system-prompt --append-system-prompt --append-subagent-system-prompt --plan-mode-instructions`},
	{Effect: leash.Restricts, Takes: leash.One | leash.Path, Names: `--system-prompt-file --append-system-prompt-file --append-subagent-system-prompt-file`},

	{Effect: leash.Grants, Takes: leash.Many, Names: `--allowedTools --allowed-tools --channels`},
	{Effect: leash.Grants, Takes: leash.Many | leash.Path, Names: `--add-dir --mcp-config`},
	{Effect: leash.Grants, Takes: leash.Alone, Names: `--brief --chrome --allow-other-models`},

	{Effect: leash.Selects, Takes: leash.One, Names: `--model --fallback-model --effort --advisor --thinking --autocompact --fast-mode
		--system-prompt-snapshot --json-schema`},
	{Effect: leash.Selects, Takes: leash.Alone, Names: `--exclude-dynamic-system-prompt-sections`},
	{Effect: leash.Selects, Takes: leash.Many, Names: `--betas`},

	{Effect: leash.Mode, Takes: leash.One, Names: `--permission-mode --inherit-permission-mode`},
	{Effect: leash.Mode, Takes: leash.Alone, Names: `--dangerously-skip-permissions --allow-dangerously-skip-permissions --enable-auto-mode`},

	{Effect: leash.Nothing, Takes: leash.Alone, Names: `-p --print --verbose --mcp-debug -d2e --debug-to-stderr --include-partial-messages
		--include-hook-events --forward-subagent-text --enable-auth-status --session-mirror --ax-screen-reader --include-unsupported-models`},
	{Effect: leash.Nothing, Takes: leash.One, Names: `--output-format --debug-file -n --name --thinking-display --workload --parent-session-id
		--remote-control-session-name-prefix --result-format`},
	{Effect: leash.Nothing, Takes: leash.Maybe, Names: `-d --debug --prompt-suggestions`},

	{Effect: leash.Once, Takes: leash.Alone, Names: `-c --continue --fork-session --reply-on-resume --no-session-persistence --init --init-only
		--maintenance --tmux --bg --background --desktop --deep-link-origin -h --help -v --version`},
	{Effect: leash.Once, Takes: leash.One, Names: `--session-id --resume-session-at --resume-drops-turn --rewind-files --session-began-as-copy
		--prefill --prefill-b64 --deep-link-cwd-b64 --deep-link-last-fetch --deep-link-repo --environment --pool --ref --on-branch
		--correlation-id --forward-home-settings`},
	{Effect: leash.Once, Takes: leash.Maybe, Names: `-r --resume --from-pr -w --worktree --teleport --cloud --remote`},
	{Effect: leash.Once, Takes: leash.Many, Names: `--file`},

	{Effect: leash.Attended, Takes: leash.Alone, Names: `--ide --replay-user-messages --await-claim --await-initialize
		--managed-settings-in-initialize --host-auth-is-org-sign-in --plan-mode-required`},
	{Effect: leash.Attended, Takes: leash.One, Names: `--sdk-url --attach-serve --watch-artifact --watch-artifact-no-autoreact --agent-id
		--agent-name --agent-type --agent-color --team-name --teammate-mode --lead-verify-key --bg-spare --bg-pty-host --daemon-worker`},
	{Effect: leash.Attended, Takes: leash.Maybe, Names: `--remote-control --rc`},
	{Effect: leash.Attended, Takes: leash.Many, Names: `--dangerously-load-development-channels`},
	{Takes: leash.One, Names: `--input-format`, By: func(value string) leash.Effect {
		if value == streamed {
			return leash.Attended
		}
		return leash.Nothing
	}},
}

const (
	stdio    = "stdio"       // of --permission-prompt-tool: the program that drives the session is asked
	streamed = "stream-json" // of --input-format: another program drives the session
)

// driving are the flags of a session that another program drives, possibly Claude Code itself.
// The command line does not contain what that program forbids with its answers and hooks, nor
// what a process learned while it waited for its session.
var driving = []string{
	"--bg-spare", "--bg-pty-host", "--daemon-worker", "--sdk-url", "--await-claim", "--await-initialize", "--managed-settings-in-initialize", "--agent-id", "--agent-type", "--plan-mode-required",
}

// Driven reports whether another program drives a session with these arguments.
func Driven(args []string) bool {
	line := Flags.Parse(args)
	return line.Has(driving...) || line.Value("--input-format") == streamed || line.Value("--permission-prompt-tool") == stdio
}

// Variables are those that matter to Claude Code. The first row that matches a name counts.
var Variables = leash.Variables{
	// What Claude Code sets for its children, and what belongs to one terminal.
	{Effect: leash.Nothing, Names: `CLAUDECODE CLAUDE_PID CLAUDE_EFFORT CLAUDE_SESSION_ID CLAUDE_PROJECT_DIR CLAUDE_ENV_FILE CLAUDE_PLUGIN_* CLAUDE_AX_*
		CLAUDE_CODE_ENTRYPOINT CLAUDE_CODE_EXECPATH CLAUDE_CODE_SSE_PORT CLAUDE_CODE_SESSION_* CLAUDE_CODE_CHILD_SESSION
		CLAUDE_CODE_MESSAGING_* CLAUDE_CODE_TMUX_* CLAUDE_CODE_DEBUG_* CLAUDE_CODE_IDE_* CLAUDE_CODE_AUTO_CONNECT_IDE
		CLAUDE_CODE_RELAUNCH_* CLAUDE_CODE_TERMINAL_RECORDING CLAUDE_CODE_FORCE_TERMINAL_IMAGES CLAUDE_CODE_DISABLE_TERMINAL_TITLE
		CLAUDE_CODE_ALT_SCREEN_* CLAUDE_CODE_DISABLE_ALTERNATE_SCREEN ANTHROPIC_LOG CLAUDE_DEBUG CLAUDE_PTY_* CLAUDE_BG_*`},

	// What the programs that host it set for a start of theirs.
	{Effect: leash.Acts, Names: `CLAUDE_CODE_RESUME_INTERRUPTED_TURN* CLAUDE_CODE_RESUME_PROMPT CLAUDE_CODE_RESUME_REASON CLAUDE_CODE_RESUME_SHOWS_CUT_OFF_CALLS
		CLAUDE_CODE_RESUME_FROM_SESSION CLAUDE_CODE_RESUME_SOURCE_ALIVE CLAUDE_CODE_PROACTIVE CLAUDE_CODE_YOU_SHOULD_KNOW_AUTO_SEND`, Plain: true},

	// A key that a parent passes in an open file cannot be passed again.
	{Effect: leash.Attended, Names: `*_FILE_DESCRIPTOR CLAUDE_CODE_HOST_CREDS_FILE CLAUDE_CODE_PROVIDER_MANAGED_BY_HOST`},

	{Effect: leash.Selects, Names: `CLAUDE_CONFIG_DIR CLAUDE_SECURESTORAGE_CONFIG_DIR ANTHROPIC_CONFIG_DIR ANTHROPIC_PROFILE`, Plain: true},
	{Effect: leash.Selects, Names: `ANTHROPIC_MODEL ANTHROPIC_SMALL_FAST_MODEL ANTHROPIC_DEFAULT_* ANTHROPIC_CUSTOM_MODEL_* ANTHROPIC_BETAS
		CLAUDE_CODE_SUBAGENT_MODEL`, Plain: true},

	// The provider and the account.
	{Effect: leash.Account, Names: `ANTHROPIC_* CLAUDE_API_KEY CLAUDE_AI_* CLAUDE_CODE_*TOKEN CLAUDE_CODE_OAUTH_* CLAUDE_CODE_*_URL CLAUDE_CODE_USE_*
		CLAUDE_CODE_SKIP_*_AUTH CLAUDE_CODE_ACCOUNT_* CLAUDE_CODE_ORGANIZATION_* CLAUDE_CODE_USER_EMAIL CLAUDE_CODE_CLIENT_CERT CLAUDE_CODE_CLIENT_KEY*
		CLAUDE_CODE_PROXY_* CLAUDE_LOCAL_OAUTH_* CLAUDE_TRUSTED_DEVICE_TOKEN USE_LOCAL_OAUTH USE_STAGING_OAUTH AWS_BEARER_TOKEN_BEDROCK CLOUD_ML_*
		VERTEX_REGION_*`},
	{Effect: leash.Account, Names: `GOOGLE_APPLICATION_CREDENTIALS`, Plain: true},
	{Effect: leash.Account, Names: clouds},

	// Lets root continue without permission checks.
	{Effect: leash.Grants, Names: `IS_SANDBOX`, Plain: true},
	{Effect: leash.Restricts, Names: `CLAUDE_CODE_* CLAUDE_* DISABLE_* BASH_DEFAULT_TIMEOUT_MS BASH_MAX_* MAX_THINKING_TOKENS MAX_MCP_OUTPUT_TOKENS
		MAX_STRUCTURED_OUTPUT_RETRIES MCP_* ENABLE_* API_TIMEOUT_MS SLASH_COMMAND_TOOL_CHAR_BUDGET TASK_MAX_OUTPUT_LENGTH USE_BUILTIN_RIPGREP`},
}

// clouds are the variables of cloud providers of models. Most people have them for other purposes.
const clouds = `AWS_* GOOGLE_* GCLOUD_PROJECT CLOUDSDK_* AZURE_*`

// CloudSwitch is the prefix of the variables that make Claude Code use a cloud.
const CloudSwitch = "CLAUDE_CODE_USE_"

// HomeVariable names the home in which Claude Code stores its settings and sessions.
const HomeVariable = "CLAUDE_CONFIG_DIR"

// IsCloud reports whether a variable belongs to a cloud, and is mostly used for other purposes.
func IsCloud(name string) bool {
	for pattern := range strings.FieldsSeq(clouds) {
		if ok, _ := path.Match(pattern, name); ok && name != "AWS_BEARER_TOKEN_BEDROCK" {
			return true
		}
	}
	return false
}
