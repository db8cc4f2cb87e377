package gemini

import (
	"cmp"
	"encoding/json"
	"path/filepath"

	"resumed/internal/agent"
)

// byGoogle is how settings call a login with a Google account.
const byGoogle = "oauth-personal"

// account returns the Google account that is signed in; empty: nobody is, or something else is asked.
func account(variable func(name string) string) string {
	home := filepath.Join(cmp.Or(variable(homeVariable), variable("HOME")), homeName)
	var settings struct {
		Security struct {
			Auth struct {
				Type string `json:"selectedType"`
			} `json:"auth"`
		} `json:"security"`
	}
	text, err := agent.ReadSettings(filepath.Join(home, "settings.json"))
	if err != nil || json.Unmarshal(text, &settings) != nil || settings.Security.Auth.Type != byGoogle {
		return ""
	}
	var accounts struct {
		Active string `json:"active"`
	}
	text, err = agent.ReadSettings(filepath.Join(home, "google_accounts.json"))
	if err != nil || json.Unmarshal(text, &accounts) != nil {
		return ""
	}
	return accounts.Active
}
