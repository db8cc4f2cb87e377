package startup

import (
	"path"
	"strings"

	"resumed/internal/leash"
)

// Variables are the environment variables that matter to Claude Code. The first row that matches
// a name counts.
var Variables = leash.Variables{
	// What Claude Code sets for its children, and what belongs to one terminal.
	{Effect: leash.Nothing, Names: `CLAUDECODE CLAUDE_PID CLAUDE_EFFORT CLAUDE_SESSION_ID CLAUDE_PROJECT_DIR CLAUDE_ENV_FILE CLAUDE_PLUGIN_* CLAUDE_AX_*
		CLAUDE_CODE_ENTRYPOINT CLAUDE_CODE_EXECPATH CLAUDE_CODE_SSE_PORT CLAUDE_CODE_SESSION_* CLAUDE_CODE_CHILD_SESSION
		CLAUDE_CODE_MESSAGING_* CLAUDE_CODE_TMUX_* CLAUDE_CODE_DEBUG_* CLAUDE_CODE_IDE_* CLAUDE_CODE_AUTO_CONNECT_IDE
		CLAUDE_CODE_RELAUNCH_* CLAUDE_CODE_TERMINAL_RECORDING CLAUDE_CODE_FORCE_TERMINAL_IMAGES CLAUDE_CODE_DISABLE_TERMINAL_TITLE
		CLAUDE_CODE_ALT_SCREEN_* CLAUDE_CODE_DISABLE_ALTERNATE_SCREEN ANTHROPIC_LOG CLAUDE_DEBUG CLAUDE_PTY_* CLAUDE_BG_*`},

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

// clouds are the variables of cloud providers of models. Most people have them for other
// purposes.
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
