package opencode

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/resume"
)

// Identity returns the stored credential of the session's provider, which identifies the account on
// every machine: its key, or the account id of its login.
func (a *Agent) Identity(s resume.Session, environ []string) string {
	at := slices.IndexFunc(a.homes.Roots, func(root string) bool { return a.homes.Account(root) == s.Account })
	instead := slices.ContainsFunc(environ, func(entry string) bool { // it replaces the file
		value, given := strings.CutPrefix(entry, a.brand.variable("AUTH_CONTENT")+"=")
		return given && value != ""
	})
	if at < 0 || a.server != nil || s.Provider == "" || instead {
		return ""
	}
	text, err := agent.ReadSettings(filepath.Join(a.homes.Roots[at], "auth.json"))
	var stored map[string]struct {
		Type    string `json:"type"`
		Key     string `json:"key"`
		Account string `json:"accountId"`
	}
	if err != nil || json.Unmarshal(text, &stored) != nil {
		return ""
	}
	switch login := stored[s.Provider]; {
	case login.Type == "api" && login.Key != "":
		return "key " + login.Key
	case login.Type == "oauth" && login.Account != "":
		return "login " + login.Account
	default:
		return ""
	}
}
