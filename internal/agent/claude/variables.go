package claude

import (
	"bytes"
	"errors"
	"io/fs"
	"iter"
	"path"
	"path/filepath"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/leash"
	"resumed/internal/resume"
)

// variables are those of the environment that matter to Claude Code. The first row
// that has a name counts.
var variables = leash.Variables{
	// What Claude Code tells its children, and what belongs to one terminal.
	{Effect: leash.Nothing, Names: `CLAUDECODE CLAUDE_PID CLAUDE_EFFORT CLAUDE_SESSION_ID CLAUDE_PROJECT_DIR CLAUDE_ENV_FILE CLAUDE_PLUGIN_* CLAUDE_AX_*
		CLAUDE_CODE_ENTRYPOINT CLAUDE_CODE_EXECPATH CLAUDE_CODE_SSE_PORT CLAUDE_CODE_SESSION_* CLAUDE_CODE_CHILD_SESSION
		CLAUDE_CODE_MESSAGING_* CLAUDE_CODE_TMUX_* CLAUDE_CODE_DEBUG_* CLAUDE_CODE_IDE_* CLAUDE_CODE_AUTO_CONNECT_IDE
		CLAUDE_CODE_RELAUNCH_* CLAUDE_CODE_TERMINAL_RECORDING CLAUDE_CODE_FORCE_TERMINAL_IMAGES CLAUDE_CODE_DISABLE_TERMINAL_TITLE
		CLAUDE_CODE_ALT_SCREEN_* CLAUDE_CODE_DISABLE_ALTERNATE_SCREEN ANTHROPIC_LOG CLAUDE_DEBUG CLAUDE_PTY_* CLAUDE_BG_*`},

	// A key that a parent hands over by an open file cannot be handed over again.
	{Effect: leash.Attended, Names: `*_FILE_DESCRIPTOR CLAUDE_CODE_HOST_CREDS_FILE CLAUDE_CODE_PROVIDER_MANAGED_BY_HOST`},

	{Effect: leash.Selects, Names: `CLAUDE_CONFIG_DIR CLAUDE_SECURESTORAGE_CONFIG_DIR ANTHROPIC_CONFIG_DIR ANTHROPIC_PROFILE`, Plain: true},
	{Effect: leash.Selects, Names: `ANTHROPIC_MODEL ANTHROPIC_SMALL_FAST_MODEL ANTHROPIC_DEFAULT_* ANTHROPIC_CUSTOM_MODEL_* ANTHROPIC_BETAS
		CLAUDE_CODE_SUBAGENT_MODEL`, Plain: true},

	// Who is asked, and in whose name.
	{Effect: leash.Account, Names: `ANTHROPIC_* CLAUDE_API_KEY CLAUDE_AI_* CLAUDE_CODE_*TOKEN CLAUDE_CODE_OAUTH_* CLAUDE_CODE_*_URL CLAUDE_CODE_USE_*
		CLAUDE_CODE_SKIP_*_AUTH CLAUDE_CODE_ACCOUNT_* CLAUDE_CODE_ORGANIZATION_* CLAUDE_CODE_USER_EMAIL CLAUDE_CODE_CLIENT_CERT CLAUDE_CODE_CLIENT_KEY*
		CLAUDE_CODE_PROXY_* CLAUDE_LOCAL_OAUTH_* CLAUDE_TRUSTED_DEVICE_TOKEN USE_LOCAL_OAUTH USE_STAGING_OAUTH AWS_BEARER_TOKEN_BEDROCK CLOUD_ML_*
		VERTEX_REGION_*`},
	{Effect: leash.Account, Names: `GOOGLE_APPLICATION_CREDENTIALS`, Plain: true},
	{Effect: leash.Account, Names: clouds},

	// It may go on without permission checks although it is root's.
	{Effect: leash.Grants, Names: `IS_SANDBOX`, Plain: true},
	{Effect: leash.Restricts, Names: `CLAUDE_CODE_* CLAUDE_* DISABLE_* BASH_DEFAULT_TIMEOUT_MS BASH_MAX_* MAX_THINKING_TOKENS MAX_MCP_OUTPUT_TOKENS
		MAX_STRUCTURED_OUTPUT_RETRIES MCP_* ENABLE_* API_TIMEOUT_MS SLASH_COMMAND_TOOL_CHAR_BUDGET TASK_MAX_OUTPUT_LENGTH USE_BUILTIN_RIPGREP`},
}

// clouds are the variables of clouds, of which one may be asked for the model. Most
// people have them for other things.
const clouds = `AWS_* GOOGLE_* GCLOUD_PROJECT CLOUDSDK_* AZURE_*`

// cloudSwitch begins the name of each variable that makes Claude Code ask a cloud.
const cloudSwitch = "CLAUDE_CODE_USE_"

// spare says which variables the session does without that it had: those of clouds,
// where none of its settings has it ask one.
func (a *Agent) spare(s resume.Session, dir string) func(string) bool {
	return func(name string) bool {
		return isCloud(name) && !a.asksCloud(s, dir)
	}
}

func isCloud(name string) bool {
	for pattern := range strings.FieldsSeq(clouds) {
		if ok, _ := path.Match(pattern, name); ok && name != "AWS_BEARER_TOKEN_BEDROCK" {
			return true
		}
	}
	return false
}

// asksCloud reports whether the session may ask a cloud: by its environment, or by
// that which settings give it.
func (a *Agent) asksCloud(s resume.Session, dir string) bool {
	if o := s.StartedWith(); o != nil {
		for _, variable := range o.Env {
			if strings.HasPrefix(variable.Name, cloudSwitch) {
				return true
			}
		}
	}
	for settings := range a.allSettings(s, dir) {
		if bytes.Contains(settings.data, []byte(cloudSwitch)) {
			return true
		}
	}
	return false
}

// given are settings of a session, and where they stand. They are not there: nothing is given.
type given struct {
	file string
	data []byte
	err  error // they are there, and could not be read
}

// allSettings yields what settings a session has.
func (a *Agent) allSettings(s resume.Session, dir string) iter.Seq[given] {
	return func(yield func(given) bool) {
		files := []string{managedSettings}
		if o := s.StartedWith(); o != nil {
			if value := flags.Parse(o.Args).Value("--settings"); strings.HasPrefix(strings.TrimSpace(value), "{") {
				if !yield(given{file: "--settings", data: []byte(value)}) {
					return
				}
			} else if value != "" {
				files = append(files, value)
			}
		}
		for _, place := range []string{a.Homes.Of(s.Transcript), filepath.Join(dir, ".claude")} {
			files = append(files, filepath.Join(place, "settings.json"), filepath.Join(place, "settings.local.json"))
		}
		for _, file := range files {
			data, err := agent.ReadSettings(file)
			if !errors.Is(err, fs.ErrNotExist) && !yield(given{file, data, err}) {
				return
			}
		}
	}
}

const managedSettings = "/etc/claude-code/managed-settings.json"
