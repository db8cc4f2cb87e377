package account

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"time"

	"resumed/internal/agent"
	"resumed/internal/agent/claude/startup"
)

// KeyVariable is the one by which Claude Code takes a key. It wins over whoever is signed in.
const KeyVariable = "ANTHROPIC_API_KEY"

// Keys are the variables of which each decides by a key in whose name a request is made,
// whoever is signed in.
var Keys = []string{KeyVariable, "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"}

// deciding are those, and the ones that have a cloud asked.
var deciding = slices.Concat(Keys, []string{"CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY"})

// Login returns who is signed in for a Claude Code with these variables: the
// account and its organisation.
func Login(variable func(string) string) string {
	for _, key := range deciding {
		if variable(key) != "" {
			return ""
		}
	}
	home := variable(startup.HomeVariable)
	if home == "" {
		home = variable("HOME")
	}
	for range 3 { // it is written all the time
		data, err := agent.ReadSettings(filepath.Join(home, ".claude.json"))
		if err != nil || home == "" {
			return ""
		}
		var settings struct {
			Account struct {
				ID           string `json:"accountUuid"`
				Organisation string `json:"organizationUuid"`
			} `json:"oauthAccount"`
		}
		if json.Unmarshal(data, &settings) == nil {
			return settings.Account.ID + settings.Account.Organisation
		}
		time.Sleep(50 * time.Millisecond)
	}
	return ""
}
