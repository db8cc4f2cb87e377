package opencode

// The variables that each brand reads, by its prefix; all others restrict what a session may do.
const (
	asideVariables = `@ @_PID @_TERMINAL @_ROUTE @_SERVER_* @_LOG_LEVEL @_PRINT_LOGS
		@_DISABLE_MOUSE @_DISABLE_TERMINAL_TITLE @_SHOW_TTFD @_AUTO_HEAP_SNAPSHOT @_DIRECT_TRACE
		@_EDITOR_SSE_PORT @_ZED_DB @_ALWAYS_NOTIFY_UPDATE @_FAST_BOOT @_PLUGIN_META_FILE`
	accountVariables = `@_API_KEY @_AUTH_CONTENT @_CONSOLE_TOKEN @_WORKSPACE_ID`
)

// providerVariables are the patterns of variables for keys, accounts and addresses of providers. opencode knows
// hundreds, and most match.
const providerVariables = `*_API_KEY *_API_TOKEN *_AI_KEY *_AI_APIKEY *_BASE_URL AWS_* AZURE_* GOOGLE_* VERTEX_* GCP_PROJECT GCLOUD_PROJECT CLOUDFLARE_* CF_AIG_TOKEN
	AICORE_* SNOWFLAKE_* DATABRICKS_* GITHUB_TOKEN GITLAB_TOKEN GITLAB_INSTANCE_URL GITLAB_AI_GATEWAY_URL HF_TOKEN FRIENDLI_TOKEN DIGITALOCEAN_ACCESS_TOKEN
	CLARIFAI_PAT NEON_AI_GATEWAY_TOKEN MODAL_PROXY_TOKEN RUNINFRA_GATEWAY_KEY ABLIT_KEY SUBMODEL_INSTAGEN_ACCESS_KEY PRIVATEMODE_ENDPOINT
	INFOMANIAK_PRODUCT_ID WATSONX_AI_PROJECT_ID VERCEL_OIDC_TOKEN`

// plainProviders are common providers whose variables begin with their names.
const plainProviders = "anthropic azure cerebras deepseek gitlab groq kilo mistral openai opencode openrouter xai"

// keysOf are the variables of other common providers. A session with a known provider does not need the keys of the
// others.
var keysOf = map[string]string{
	"amazon-bedrock":          "AWS_*",
	"cloudflare-ai-gateway":   "CLOUDFLARE_* CF_AIG_TOKEN",
	"cloudflare-workers-ai":   "CLOUDFLARE_*",
	"github-copilot":          "GITHUB_TOKEN",
	"github-models":           "GITHUB_TOKEN",
	"google":                  "GOOGLE_* GEMINI_*",
	"google-vertex":           "GOOGLE_* VERTEX_* GCP_PROJECT GCLOUD_PROJECT",
	"google-vertex-anthropic": "GOOGLE_* VERTEX_* GCP_PROJECT GCLOUD_PROJECT",
	"huggingface":             "HF_TOKEN",
	"kimi-for-coding":         "KIMI_*",
	"moonshotai":              "MOONSHOT_*",
	"vercel":                  "AI_GATEWAY_* VERCEL_*",
	"zai":                     "ZHIPU_*",
	"zai-coding-plan":         "ZHIPU_*",
}
