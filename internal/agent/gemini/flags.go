package gemini

import "resumed/internal/leash"

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
