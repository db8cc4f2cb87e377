package codex

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"time"

	"resumed/internal/agent"
)

// login returns who is signed in for a process with these variables; empty: nobody,
// nobody can tell, or it is not asked in their name. Tokens are renewed all the
// time, the account stays.
func login(variable func(name string) string) string {
	home := cmp.Or(variable(homeVariable), filepath.Join(variable("HOME"), ".codex"))
	for range 3 { // it may be written just now
		text, err := agent.ReadSettings(filepath.Join(home, "auth.json"))
		if err != nil || variable(execKey) != "" {
			return ""
		}
		var auth struct {
			Key    string `json:"OPENAI_API_KEY"`
			Tokens struct {
				Account string `json:"account_id"`
			} `json:"tokens"`
		}
		if json.Unmarshal(text, &auth) == nil {
			return cmp.Or(auth.Tokens.Account, auth.Key)
		}
		time.Sleep(50 * time.Millisecond)
	}
	return ""
}
