package qwen

import "resumed/internal/leash"

// flags are those of Qwen Code from 0.10 to 0.24, the hidden ones too. No chat
// tells what a session may do without asking: that is repeated as it was.
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

// keysOf are the variables that each kind of login reads, beside those that the
// settings name. A session of one does without the keys of the others. Whoever
// speaks as OpenAI does may be any of the many providers that do so.
var keysOf = map[string]string{
	"qwen-oauth": "",
	"anthropic":  "ANTHROPIC_*",
	"gemini":     "GEMINI_* GOOGLE_*",
	"vertex-ai":  "GOOGLE_* GCLOUD_PROJECT CLOUDSDK_CONFIG",
}
