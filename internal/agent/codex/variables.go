package codex

import "resumed/internal/leash"

// variables are those that Codex obeys, by what 0.144 and 0.166 do.
var variables = leash.Variables{
	{Effect: leash.Selects, Names: homeVariable + ` CODEX_SQLITE_HOME CODEX_CA_CERTIFICATE`, Plain: true},
	// What it sets for what it starts, what its installers do, and how things look.
	{Effect: leash.Nothing, Names: `CODEX_THREAD_ID CODEX_SESSION_ID CODEX_TOOL_CALL_ID CODEX_CI CODEX_VERSION CODEX_PERMISSION_PROFILE CODEX_MANAGED_* CODEX_INSTALL_*
		CODEX_INTERNAL_* CODEX_NETWORK_* CODEX_SNAPSHOT_* CODEX_SHELL_SNAPSHOT_* CODEX_ESCALATE_SOCKET CODEX_DAEMON_* CODEX_TUI_* CODEX_DESKTOP_APP
		CODEX_BWRAP_SHA256 CODEX_STARTING_DIFF CODEX_ROLLOUT_TRACE_ROOT CODEX_PLUGIN_METRICS_OUTPUT CODEX_NON_INTERACTIVE`},
	{Effect: leash.Account, Names: execKey + ` CODEX_ACCESS_TOKEN CODEX_CONNECTORS_TOKEN CODEX_*_BASE_URL CODEX_*_URL_OVERRIDE CODEX_OSS_PORT
		OPENAI_BASE_URL OPENAI_ORGANIZATION OPENAI_PROJECT OPENAI_FEDERATION_RULE_ID OPENAI_IDENTITY_TOKEN_FILE CHATGPT_ACCOUNT_ID`},
	{Effect: leash.Account, Names: usualKey + " " + bedrockVariables},
	// CODEX_SANDBOX, CODEX_SANDBOX_NETWORK_DISABLED, and whatever is new.
	{Effect: leash.Restricts, Names: `CODEX_*`},
}

const (
	// homeVariable moves Codex's home.
	homeVariable = "CODEX_HOME"

	// execKey is obeyed by codex exec, before whoever is signed in. A terminal and
	// a server pass over it.
	execKey = "CODEX_API_KEY"

	// usualKey is obeyed where the configuration names it, and by old versions.
	usualKey = "OPENAI_API_KEY"

	bedrock          = "amazon-bedrock"
	bedrockVariables = `AWS_BEARER_TOKEN_BEDROCK AWS_PROFILE AWS_REGION AWS_DEFAULT_REGION AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN`
)
