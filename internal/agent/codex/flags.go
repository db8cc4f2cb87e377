package codex

import (
	"slices"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/agent/codex/rollout"
	"resumed/internal/lazy"
	"resumed/internal/leash"
	"resumed/internal/resume"
)

// flags are those of codex and its commands, from 0.58 to 0.166, by their --help.
var flags = leash.Flags{
	// A configuration setting may forbid or allow anything: it is repeated.
	{Takes: leash.One, Names: `-c --config`, By: effectOf, Hides: holdsSecret},
	{Effect: leash.Restricts, Takes: leash.One, Names: `--disable`},
	{Effect: leash.Grants, Takes: leash.One, Names: `--enable --cyber-access-program`},
	{Effect: leash.Restricts, Takes: leash.Alone, Names: `--strict-config --ignore-user-config`},
	// Hooks and rules can both forbid and allow.
	{Effect: leash.Restricts, Takes: leash.Alone, Names: `--dangerously-bypass-hook-trust --ignore-rules`},
	{Effect: leash.Grants, Takes: leash.Alone, Names: searchFlag},

	{Effect: leash.Selects, Takes: leash.One, Names: `-p --profile -m --model`},
	{Effect: leash.Selects, Takes: leash.One | leash.Path, Names: `-C --cd`},
	{Effect: leash.Account, Takes: leash.Alone, Names: `--oss`},
	{Effect: leash.Account, Takes: leash.One, Names: `--local-provider`},

	{Effect: leash.Mode, Takes: leash.One, Names: `-s --sandbox -a --ask-for-approval`},
	{Effect: leash.Mode, Takes: leash.Alone, Names: `--full-auto --approve-for-me --yolo --dangerously-bypass-approvals-and-sandbox`},
	{Effect: leash.Grants, Takes: leash.One | leash.Path, Names: `--add-dir`},

	{Effect: leash.Nothing, Takes: leash.Alone, Names: `--json --experimental-json --no-alt-screen --no-daemon --skip-git-repo-check --include-plan-tool`},
	{Effect: leash.Nothing, Takes: leash.One, Names: `--color -o --output-last-message --thread-source`},
	{Effect: leash.Nothing, Takes: leash.Alone, Names: managedDaemon + ` --analytics-default-enabled --stdio`},
	{Effect: leash.Nothing, Takes: leash.One, Names: `--listen --ws-auth --ws-token-file --ws-token-sha256 --ws-shared-secret-file --ws-issuer --ws-audience
		--ws-max-clock-skew-seconds`},

	{Effect: leash.Once, Takes: leash.Many, Names: `-i --image`},
	{Effect: leash.Once, Takes: leash.Alone, Names: `--last --all --include-non-interactive --worktree --ephemeral --uncommitted -h --help -V --version`},
	{Effect: leash.Once, Takes: leash.One, Names: `--base --commit --title`},

	// The format of an answer is for the program that reads it.
	{Effect: leash.Attended, Takes: leash.One | leash.Path, Names: `--output-schema`},
	{Effect: leash.Attended, Takes: leash.One, Names: `--remote --remote-auth-token-env`},
}

const (
	searchFlag    = "--search"         // for terminals: codex exec accepts it before its name, and ignores it
	managedDaemon = "--managed-daemon" // of the server that terminals share
)

const execCommand = "exec"

// serverCommand is the argument of the process that holds the sessions of all terminals of a home.
const serverCommand = "app-server"

// told are the configuration keys whose current value is in every turn: the newest counts.
var told = []string{
	"model", "model_provider", "model_reasoning_effort", "sandbox_mode", "approval_policy", "approvals_reviewer",
	"sandbox_workspace_write", "default_permissions",
}

var whom = []string{
	"model_providers", "openai_base_url", "chatgpt_base_url", "oss_provider", "forced_login_method", "forced_chatgpt_workspace_id",
	"preferred_auth_method", "cli_auth_credentials_store",
}

func effectOf(setting string) leash.Effect {
	key, _ := pair(setting)
	switch table, _, _ := strings.Cut(key, "."); {
	case slices.Contains(told, table):
		return leash.Mode
	case slices.Contains(whom, table):
		return leash.Account
	default:
		return leash.Restricts
	}
}

// env_http_headers contains only names of variables.
func holdsSecret(setting string) bool {
	return strings.Contains(strings.ReplaceAll(setting, "env_http_headers", ""), "http_headers")
}

func pair(setting string) (key, value string) {
	key, value, _ = strings.Cut(setting, "=")
	return strings.TrimSpace(key), strings.TrimSpace(value)
}

func byExec(args []string) bool { return slices.Contains(flags.Parse(args).Plain(), execCommand) }

var variables = leash.Variables{
	{Effect: leash.Selects, Names: homeVariable + ` CODEX_SQLITE_HOME CODEX_CA_CERTIFICATE`, Plain: true},
	// Set for child processes, by its installers, or for its appearance.
	{Effect: leash.Nothing, Names: `CODEX_THREAD_ID CODEX_SESSION_ID CODEX_TOOL_CALL_ID CODEX_CI CODEX_VERSION CODEX_PERMISSION_PROFILE CODEX_MANAGED_* CODEX_INSTALL_*
		CODEX_INTERNAL_* CODEX_NETWORK_* CODEX_SNAPSHOT_* CODEX_SHELL_SNAPSHOT_* CODEX_ESCALATE_SOCKET CODEX_DAEMON_* CODEX_TUI_* CODEX_DESKTOP_APP
		CODEX_BWRAP_SHA256 CODEX_STARTING_DIFF CODEX_ROLLOUT_TRACE_ROOT CODEX_PLUGIN_METRICS_OUTPUT CODEX_NON_INTERACTIVE`},
	{Effect: leash.Account, Names: execKey + ` CODEX_ACCESS_TOKEN CODEX_CONNECTORS_TOKEN CODEX_*_BASE_URL CODEX_*_URL_OVERRIDE CODEX_OSS_PORT
		OPENAI_BASE_URL OPENAI_ORGANIZATION OPENAI_PROJECT OPENAI_FEDERATION_RULE_ID OPENAI_IDENTITY_TOKEN_FILE CHATGPT_ACCOUNT_ID`},
	{Effect: leash.Account, Names: usualKey + " " + bedrockVariables},
	// CODEX_SANDBOX, CODEX_SANDBOX_NETWORK_DISABLED, and any new variable.
	{Effect: leash.Restricts, Names: `CODEX_*`},
}

const (
	homeVariable = "CODEX_HOME"

	// execKey is used by codex exec alone, instead of the signed-in account.
	execKey = "CODEX_API_KEY"

	// usualKey is used if the configuration names it, and by old versions.
	usualKey = "OPENAI_API_KEY"

	bedrock          = "amazon-bedrock"
	bedrockVariables = `AWS_BEARER_TOKEN_BEDROCK AWS_PROFILE AWS_REGION AWS_DEFAULT_REGION AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN`
)

// Variables are those that matter to Codex, and those that its configuration names.
func (a *Agent) Variables() leash.Variables { return a.variables("", nil) }

func (a *Agent) variables(dir string, args []string) (table leash.Variables) {
	for _, names := range a.named(dir, args) {
		table = append(table, leash.Row{Effect: leash.Account, Names: strings.Join(names, " ")})
	}
	return append(table, a.Base.Variables()...)
}

// spare are the variables of providers that the session does not use. nil: its provider is not known.
func (a *Agent) spare(s resume.Session, h rollout.Head) func(string) bool {
	if h.Provider == "" {
		return nil
	}
	var args []string
	if o := s.StartedWith(); o != nil {
		args = o.Args
	}
	named := a.named(s.Cwd, args)
	needed := slices.Concat(named[h.Provider], named[anyProvider])
	if ignores, _ := h.Since(144); !ignores {
		needed = append(needed, usualKey)
	}
	if h.Provider == bedrock {
		needed = append(needed, strings.Fields(bedrockVariables)...)
	}
	others := append(strings.Fields(bedrockVariables), usualKey)
	for _, names := range named {
		others = append(others, names...)
	}
	return func(name string) bool { return slices.Contains(others, name) && !slices.Contains(needed, name) }
}

// anyProvider is for settings that do not contain the name of their provider.
const anyProvider = "*"

// named returns the variables that are named, by provider; empty: those of a tool.
func (a *Agent) named(dir string, args []string) map[string][]string {
	all := make(map[string][]string)
	for _, text := range a.configurations(dir) {
		nameIn(text, all)
	}
	for _, setting := range flags.Parse(args).Values("-c", "--config") {
		nameIn(setting, all)
	}
	return all
}

func (a *Agent) configurations(dir string) []string {
	files := configurationFiles(dir, append([]string{a.Homes.Usual}, a.Homes.Roots...)...)
	texts := make([]string, len(files))
	for i, file := range files {
		text, _ := agent.ReadSettings(file) // an unreadable file counts as empty
		texts[i] = string(text)
	}
	return texts
}

var (
	// aTable is the header of a TOML table, aSetting a line in it.
	aTable   = lazy.Regexp(`^\s*\[+\s*([^\]]+?)\s*\]`)
	aSetting = lazy.Regexp(`^\s*([\w."'-]+(?:\s*\.\s*[\w."'-]+)*)\s*=\s*(.*)$`)

	// The name of a variable is the value of such a key, or in a table of headers.
	namingKey   = lazy.Regexp(`(?:env_key|bearer_token_env_var)["']?\s*=\s*["']?([A-Za-z_]\w*)`)
	namingTable = lazy.Regexp(`env_http_headers\b[^{=]*=\s*\{([^}]*)\}|env_http_headers\.[^=]*=(.*)`)
	aName       = lazy.Regexp(`["']([A-Za-z_]\w*)["']\s*(?:,|$|#|\})`)
)

func nameIn(text string, all map[string][]string) {
	table := ""
	for line := range strings.Lines(text) {
		if found := aTable().FindStringSubmatch(line); found != nil {
			table = found[1] + "."
			continue
		}
		found := aSetting().FindStringSubmatch(strings.TrimSpace(line))
		if found == nil {
			continue
		}
		setting := table + found[1] + " = " + strings.TrimSpace(found[2])
		parts := strings.FieldsFunc(table+found[1], func(r rune) bool { return strings.ContainsRune(`."' `, r) })
		provider := ""
		if len(parts) > 0 && parts[0] == "model_providers" {
			provider = append(parts, anyProvider)[1]
		}
		for _, name := range namingKey().FindAllStringSubmatch(setting, -1) {
			all[provider] = append(all[provider], name[1])
		}
		for _, headers := range namingTable().FindAllStringSubmatch(setting, -1) {
			for _, name := range aName().FindAllStringSubmatch(headers[1]+headers[2], -1) {
				all[provider] = append(all[provider], name[1])
			}
		}
	}
}
