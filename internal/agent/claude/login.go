package claude

import (
	"encoding/json"
	"path/filepath"
	"time"

	"resumed/internal/agent"
)

// keys are the variables of which each decides in whose name a request is made,
// whoever is signed in.
var keys = []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY"}

// login returns who is signed in for a Claude Code with these variables: the
// account and its organisation.
func login(variable func(string) string) string {
	for _, key := range keys {
		if variable(key) != "" {
			return ""
		}
	}
	home := variable(homeVariable)
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
