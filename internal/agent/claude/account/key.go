package account

import (
	"bytes"
	"cmp"
	"encoding/json"
	"iter"
	"maps"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/agent/claude/startup"
	"resumed/internal/resume"
)

// Unpayable says why a run of the session in that environment would not use a key of its
// user's own, or would show it to somebody else; empty: nothing is against it.
func (a *Account) Unpayable(s resume.Session, dir string, environ []string) string {
	variable := func(name string) string {
		for _, entry := range slices.Backward(environ) {
			if value, ok := strings.CutPrefix(entry, name+"="); ok {
				return value
			}
		}
		return ""
	}
	for _, name := range deciding {
		if name != "CLAUDE_CODE_OAUTH_TOKEN" && variable(name) != "" {
			return "it uses no subscription: its environment has " + name
		}
	}
	if at := variable("ANTHROPIC_BASE_URL"); at != "" && !trusted(at) {
		return "your own key would be shown to " + hostOf(at) + ", which is what its ANTHROPIC_BASE_URL says"
	}
	for settings := range a.allSettings(s, dir) {
		if why := settings.divert(true); why != "" {
			return settings.file + " " + why
		}
	}
	for servers := range a.servers(s, dir) {
		if why := servers.divert(false); why != "" {
			return servers.file + " " + why
		}
	}
	return ""
}

// diverting are the settings, and the variables that settings may set, by which a request goes
// elsewhere, or with another key. A project brings settings of its own, written by other people.
var diverting = []string{
	"ANTHROPIC_*", "apiKeyHelper", startup.CloudSwitch + "*", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy",
	"NODE_OPTIONS", "NODE_EXTRA_CA_CERTS", "NODE_TLS_REJECT_UNAUTHORIZED", "SSL_CERT_*",
}

// harmless is what begins like one of them and says only which model is asked.
var harmless = []string{"ANTHROPIC_MODEL", "ANTHROPIC_*_MODEL", "ANTHROPIC_*_MODEL_*"}

// divert says that a key may be shown to somebody else because of these settings; empty: they
// say nothing of the kind. Settings that cannot be understood may say anything. What names the variable
// of the key may have it put there, or read it. own says that they are of the session itself, and not of
// what it starts.
func (g given) divert(own bool) string {
	var all any
	if g.err != nil || json.Unmarshal(g.data, &all) != nil {
		return "cannot be read, and might say to whom your own key is shown"
	}
	if name := diverts(all); name != "" && own {
		return "says by itself whom it asks or with which key (" + name + ")"
	}
	if plain, _ := json.Marshal(all); bytes.Contains(plain, []byte(KeyVariable)) { // without escapes
		return "names " + KeyVariable + ": your own key would be given to what it starts or asks"
	}
	return ""
}

// diverts returns what one of the names in settings is like by which a key may go elsewhere.
func diverts(settings any) string {
	var inside iter.Seq[any]
	switch settings := settings.(type) {
	case map[string]any:
		for name := range settings {
			if what := like(name, diverting); what != "" && like(name, harmless) == "" {
				return what
			}
		}
		inside = maps.Values(settings)
	case []any:
		inside = slices.Values(settings)
	default:
		return ""
	}
	for part := range inside {
		if name := diverts(part); name != "" {
			return name
		}
	}
	return ""
}

// like returns which of the patterns a name is like.
func like(name string, patterns []string) string {
	for _, pattern := range patterns {
		if ok, _ := path.Match(pattern, name); ok {
			return pattern
		}
	}
	return ""
}

// trusted reports whether a key may be sent to the program that answers there: Anthropic, or a
// program of this machine, which sees what the session says anyway.
func trusted(address string) bool {
	host := hostOf(address)
	return host == "api.anthropic.com" || host == "localhost" || host == "127.0.0.1" || host == "::1"
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "another host"
	}
	return u.Hostname()
}

// KeyVariable is the one by which Claude Code takes a key. It wins over the account that is signed in.
const KeyVariable = "ANTHROPIC_API_KEY"

// Keys are the variables of which each decides by a key in whose name a request is made,
// whatever account is signed in.
var Keys = []string{KeyVariable, "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"}

// deciding are those, and the ones that have a cloud asked.
var deciding = slices.Concat(Keys, []string{"CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY"})

// Login returns who is signed in for a Claude Code with these variables: the
// account and its organisation.
func Login(variable func(string) string) string {
	home := cmp.Or(variable(startup.HomeVariable), variable("HOME"))
	if home == "" || slices.ContainsFunc(deciding, func(key string) bool { return variable(key) != "" }) {
		return ""
	}
	var settings struct {
		Account struct {
			ID           string `json:"accountUuid"`
			Organisation string `json:"organizationUuid"`
		} `json:"oauthAccount"`
	}
	if !agent.ReadRewritten(filepath.Join(home, ".claude.json"), &settings) {
		return ""
	}
	return settings.Account.ID + settings.Account.Organisation
}
