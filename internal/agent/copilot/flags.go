package copilot

import "resumed/internal/leash"

// flags are those of GitHub Copilot CLI 1.0. No event tells what a session may do without
// asking, unless that was changed: it is repeated as it was.
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
	{Effect: leash.Nothing, Takes: leash.One | leash.Path, Names: `-C`}, // it is the session's own
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

// allowAll allows everything without asking.
const allowAll = "COPILOT_ALLOW_ALL"

// keys are variables of which each decides whose allowance is used.
var keys = []string{"COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN", "COPILOT_PROVIDER_API_KEY", "COPILOT_PROVIDER_BEARER_TOKEN"}

var variables = leash.Variables{
	{Effect: leash.Nothing, Names: `COPILOT_CLI COPILOT_AGENT_SESSION_ID COPILOT_LOADER_PID COPILOT_RUN_APP COPILOT_EDITOR COPILOT_MULTIPLEXER COPILOT_OTEL_* COPILOT_CLI_VERSION
		COPILOT_CLI_BINARY_VERSION COPILOT_CLI_RESOLVED_DIST_DIR COPILOT_PACKAGE_IDENTITY COPILOT_SEA_EXTRACT_ONLY`},
	{Effect: leash.Account, Names: `COPILOT_GITHUB_TOKEN GH_TOKEN GITHUB_TOKEN GH_HOST COPILOT_GH_HOST COPILOT_PROVIDER_*`},
	{Effect: leash.Restricts, Names: `COPILOT_*`},
}
