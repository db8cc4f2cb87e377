package opencode

import (
	"encoding/json"
	"path/filepath"
	"slices"

	"resumed/internal/agent"
	"resumed/internal/resume"
)

// Identity tells by what is kept for the session's provider: its key, or the account of a login
// that names one.
func (a *Agent) Identity(s resume.Session, environ []string) string {
	at := slices.IndexFunc(a.homes, func(h home) bool { return h.account == s.Account })
	given := a.brand.variable("AUTH_CONTENT") + "=" // it takes the file's place
	if at < 0 || a.server != nil || s.Provider == "" || slices.ContainsFunc(environ, func(entry string) bool { return len(entry) > len(given) && entry[:len(given)] == given }) {
		return ""
	}
	text, err := agent.ReadSettings(filepath.Join(a.homes[at].dir, "auth.json"))
	var kept map[string]struct {
		Type    string `json:"type"`
		Key     string `json:"key"`
		Account string `json:"accountId"`
	}
	if err != nil || json.Unmarshal(text, &kept) != nil {
		return ""
	}
	switch of := kept[s.Provider]; {
	case of.Type == "api" && of.Key != "":
		return "key " + of.Key
	case of.Type == "oauth" && of.Account != "":
		return "login " + of.Account
	default:
		return ""
	}
}
