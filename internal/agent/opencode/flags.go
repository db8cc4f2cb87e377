package opencode

import "resumed/internal/leash"

// flags are those of the terminal interface, run, serve, web, attach and acp, from
// 1.2 to 1.18, the hidden ones too. A session is continued by run, which refuses
// what it does not know: what is carried is known to it.
var flags = leash.Flags{
	{Effect: leash.Restricts, Takes: leash.Switch, Names: `--pure`},
	{Effect: leash.Grants, Takes: leash.Switch, Names: `--auto --yolo --dangerously-skip-permissions`},
	{Effect: leash.Selects, Takes: leash.Maybe, Names: `-m --model --agent --variant`},
	{Effect: leash.Nothing, Takes: leash.Maybe | leash.Path, Names: `--dir --cwd`}, // it is the session's own
	{Effect: leash.Nothing, Takes: leash.Maybe, Names: `--format --log-level --replay-limit`},
	{Effect: leash.Nothing, Takes: leash.Switch, Names: `--thinking --print-logs --replay --no-replay -h --help -v --version`},
	{Effect: leash.Once, Takes: leash.Switch, Names: `-c --continue --fork --cloud-fork --share --demo`},
	{Effect: leash.Once, Takes: leash.Maybe, Names: `-s --session --title --prompt --command --worktree`},
	{Effect: leash.Once, Takes: leash.Many, Names: `-f --file`},
	{Effect: leash.Attended, Takes: leash.Switch, Names: `-i --interactive --mini --mdns`},
	{Effect: leash.Attended, Takes: leash.Maybe, Names: `--port --hostname --mdns-domain --attach -u --username`},
	{Effect: leash.Attended, Takes: leash.Many, Names: `--cors`},
	{Effect: leash.Attended, Takes: leash.Maybe | leash.Secret, Names: `-p --password`},
}

// The variables that each program of the kind reads, by its prefix; what is named
// in neither list bounds what a session may do.
const (
	asideVariables = `@ @_PID @_TERMINAL @_ROUTE @_SERVER_* @_LOG_LEVEL @_PRINT_LOGS
		@_DISABLE_MOUSE @_DISABLE_TERMINAL_TITLE @_SHOW_TTFD @_AUTO_HEAP_SNAPSHOT @_DIRECT_TRACE
		@_EDITOR_SSE_PORT @_ZED_DB @_ALWAYS_NOTIFY_UPDATE @_FAST_BOOT @_PLUGIN_META_FILE`
	accountVariables = `@_API_KEY @_AUTH_CONTENT @_CONSOLE_TOKEN @_WORKSPACE_ID`
)

// providerVariables are the names by which opencode's providers are given keys,
// accounts and addresses. It knows hundreds, and most are called so.
const providerVariables = `*_API_KEY *_API_TOKEN *_AI_KEY *_AI_APIKEY *_BASE_URL AWS_* AZURE_* GOOGLE_* VERTEX_* GCP_PROJECT GCLOUD_PROJECT CLOUDFLARE_* CF_AIG_TOKEN
	AICORE_* SNOWFLAKE_* DATABRICKS_* GITHUB_TOKEN GITLAB_TOKEN GITLAB_INSTANCE_URL GITLAB_AI_GATEWAY_URL HF_TOKEN FRIENDLI_TOKEN DIGITALOCEAN_ACCESS_TOKEN
	CLARIFAI_PAT NEON_AI_GATEWAY_TOKEN MODAL_PROXY_TOKEN RUNINFRA_GATEWAY_KEY ABLIT_KEY SUBMODEL_INSTAGEN_ACCESS_KEY PRIVATEMODE_ENDPOINT
	INFOMANIAK_PRODUCT_ID WATSONX_AI_PROJECT_ID VERCEL_OIDC_TOKEN`

// keysOf are the variables of providers that most people use. Whoever asks one of
// them does without the keys of all others.
var keysOf = map[string]string{
	"amazon-bedrock":          "AWS_*",
	"anthropic":               "ANTHROPIC_*",
	"azure":                   "AZURE_*",
	"cerebras":                "CEREBRAS_*",
	"cloudflare-ai-gateway":   "CLOUDFLARE_* CF_AIG_TOKEN",
	"cloudflare-workers-ai":   "CLOUDFLARE_*",
	"deepseek":                "DEEPSEEK_*",
	"github-copilot":          "GITHUB_TOKEN",
	"github-models":           "GITHUB_TOKEN",
	"gitlab":                  "GITLAB_*",
	"google":                  "GOOGLE_* GEMINI_*",
	"google-vertex":           "GOOGLE_* VERTEX_* GCP_PROJECT GCLOUD_PROJECT",
	"google-vertex-anthropic": "GOOGLE_* VERTEX_* GCP_PROJECT GCLOUD_PROJECT",
	"groq":                    "GROQ_*",
	"huggingface":             "HF_TOKEN",
	"kilo":                    "KILO_*",
	"kimi-for-coding":         "KIMI_*",
	"mistral":                 "MISTRAL_*",
	"moonshotai":              "MOONSHOT_*",
	"openai":                  "OPENAI_*",
	"opencode":                "OPENCODE_*",
	"openrouter":              "OPENROUTER_*",
	"vercel":                  "AI_GATEWAY_* VERCEL_*",
	"xai":                     "XAI_*",
	"zai":                     "ZHIPU_*",
	"zai-coding-plan":         "ZHIPU_*",
}
