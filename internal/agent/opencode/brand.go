package opencode

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/dirs"
	"resumed/internal/lazy"
	"resumed/internal/leash"
)

// The names of opencode and of Kilo in configuration, status and metrics.
const (
	Name     = "opencode"
	KiloName = "kilo"
)

// brand is what differs between opencode and its forks.
type brand struct {
	name    string // in configuration, status and metrics
	title   string // for people
	program string // its program, also the name of its directories and databases
	prefix  string // of its environment variables

	binaries []string // further names of its program on disk
	places   []string // directories of the program, below the user's home directory
	configs  []string // names of its configuration files
	project  []string // directories in a project with such files

	aside   string // further variables that do not matter for a resume
	account string // further variables that decide which allowance is used
	hands   agent.Remedies
}

var (
	openCode = &brand{
		name: Name, title: "opencode", program: "opencode", prefix: "OPENCODE",
		binaries: []string{"opencode.exe", ".opencode"},
		places:   []string{".opencode/bin"},
		configs:  []string{"opencode.json", "opencode.jsonc", "config.json"},
		project:  []string{".opencode"},
		hands:    agent.Remedies{SignIn: "run opencode auth login", Pay: "buy credits or raise the limit on the page of its provider", Shorten: "/compact", Switch: "/models"},
	}

	// Kilo is a fork of opencode, and also reads its configuration files.
	kilo = &brand{
		name: KiloName, title: "Kilo", program: "kilo", prefix: "KILO",
		binaries: []string{"kilo.exe", ".kilo", "kilocode"},
		configs:  []string{"kilo.json", "kilo.jsonc", "opencode.json", "opencode.jsonc", "config.json"},
		project:  []string{".kilo", ".kilocode", ".opencode"},
		aside: `KILO_RUN_ID KILO_PROCESS_ROLE KILO_PARENT_PID KILO_LOG_INITIALIZED_RUN_ID KILO_TREE_SITTER_WASM_DIR KILO_TERMINAL_ACTIVITY
			KILO_PTY_* KILO_BACKGROUND_PROCESS_* KILO_CONSOLE_ASSET_DIR KILO_TELEMETRY_LEVEL KILO_UNICODE_LOGO KILO_*_KITTY_KEYBOARD`,
		account: `KILO_ORG_ID KILO_API_URL KILO_API_BASE KILO_OPENROUTER_BASE`,
		hands:   agent.Remedies{SignIn: "run kilo auth login", Pay: "buy credits on the page of its provider", Shorten: "/compact", Switch: "/models"},
	}
)

func (b *brand) variable(name string) string { return b.prefix + "_" + name }

// untried is why only a person's word continues a session of version 2.
func (b *brand) untried() string { return "resumed was not tried with " + b.title + " 2" }

func (b *brand) isProgram(path string) bool {
	name := filepath.Base(path)
	return name == b.program || slices.Contains(b.binaries, name)
}

// isDatabase reports whether a database has that name. Each release channel has its own.
func (b *brand) isDatabase(name string) bool {
	return name == b.usualDatabase() || strings.HasPrefix(name, b.program+"-") && strings.HasSuffix(name, ".db")
}

func (b *brand) usualDatabase() string { return b.program + ".db" }

// variables are those of the program, and those of all providers.
func (b *brand) variables() leash.Variables {
	of := func(names string) string { return strings.ReplaceAll(names, "@", b.prefix) }
	return leash.Variables{
		{Effect: leash.Nothing, Names: of(asideVariables) + " " + b.aside},
		{Effect: leash.Account, Names: of(accountVariables) + " " + b.account},
		{Effect: leash.Restricts, Names: of("@_*")},
		{Effect: leash.Account, Names: providerVariables},
	}
}

func (b *brand) configsIn(dirs ...string) []string {
	var files []string
	for _, dir := range dirs {
		for _, name := range b.configs {
			files = append(files, filepath.Join(dir, name))
		}
	}
	return files
}

func (b *brand) configsOf(dir string) []string {
	dirs := []string{dir}
	for _, name := range b.project {
		dirs = append(dirs, filepath.Join(dir, name))
	}
	return b.configsIn(dirs...)
}

var (
	versionLine = lazy.Regexp(`(?m)^const VERSION = "([^"]+)"`)
	pluginPath  = lazy.Regexp(`"(?:file://)?(/[^"]*/resumed\.js)"`)
)

// pluginVersion returns the version of the plugin in the user's plugin directory, or of the one that a
// configuration file names by its path; "": there is none.
func (b *brand) pluginVersion() string {
	dir := filepath.Join(dirs.Config(os.Getenv), b.program)
	paths := []string{filepath.Join(dir, "plugin", "resumed.js"), filepath.Join(dir, "plugins", "resumed.js")}
	for _, config := range b.configsIn(dir) {
		text, _ := os.ReadFile(config) // most are not there
		for _, found := range pluginPath().FindAllSubmatch(text, -1) {
			paths = append(paths, string(found[1]))
		}
	}
	for _, path := range paths {
		text, _ := os.ReadFile(path)
		if found := versionLine().FindSubmatch(text); found != nil {
			return string(found[1])
		}
	}
	return ""
}

// The variables that each brand reads, by its prefix; all others restrict what a session may do.
const (
	asideVariables = `@ @_PID @_TERMINAL @_ROUTE @_SERVER_* @_LOG_LEVEL @_PRINT_LOGS
		@_DISABLE_MOUSE @_DISABLE_TERMINAL_TITLE @_SHOW_TTFD @_AUTO_HEAP_SNAPSHOT @_DIRECT_TRACE
		@_EDITOR_SSE_PORT @_ZED_DB @_ALWAYS_NOTIFY_UPDATE @_FAST_BOOT @_PLUGIN_META_FILE`
	accountVariables = `@_API_KEY @_AUTH_CONTENT @_CONSOLE_TOKEN @_WORKSPACE_ID`
)

// providerVariables match keys, accounts and addresses of providers. opencode knows hundreds, and most match.
const providerVariables = `*_API_KEY *_API_TOKEN *_AI_KEY *_AI_APIKEY *_BASE_URL AWS_* AZURE_* GOOGLE_* VERTEX_* GCP_PROJECT GCLOUD_PROJECT CLOUDFLARE_* CF_AIG_TOKEN
	AICORE_* SNOWFLAKE_* DATABRICKS_* GITHUB_TOKEN GITLAB_TOKEN GITLAB_INSTANCE_URL GITLAB_AI_GATEWAY_URL HF_TOKEN FRIENDLI_TOKEN DIGITALOCEAN_ACCESS_TOKEN
	CLARIFAI_PAT NEON_AI_GATEWAY_TOKEN MODAL_PROXY_TOKEN RUNINFRA_GATEWAY_KEY ABLIT_KEY SUBMODEL_INSTAGEN_ACCESS_KEY PRIVATEMODE_ENDPOINT
	INFOMANIAK_PRODUCT_ID WATSONX_AI_PROJECT_ID VERCEL_OIDC_TOKEN`

// plainProviders are common providers whose variables begin with their names.
const plainProviders = "anthropic azure cerebras deepseek gitlab groq kilo mistral openai opencode openrouter xai"

// keysOf are the variables of other common providers.
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
