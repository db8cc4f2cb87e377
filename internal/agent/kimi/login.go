package kimi

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"resumed/internal/agent"
)

// login returns who is signed in for a process with these variables, by the subject of
// the token that Kimi Code keeps: it stays the same when the token is renewed. Empty:
// nobody, or a key decides.
func login(variable func(name string) string) string {
	if slices.ContainsFunc(keys, func(key string) bool { return variable(key) != "" }) {
		return ""
	}
	home := cmp.Or(variable(homeVariable), filepath.Join(variable("HOME"), ".kimi-code"))
	text, err := agent.ReadSettings(filepath.Join(home, "credentials", "kimi-code.json"))
	var kept struct {
		Token string `json:"access_token"`
	}
	if err != nil || json.Unmarshal(text, &kept) != nil {
		return ""
	}
	return subject(kept.Token)
}

// subject returns whom a token was given to; empty: it does not say.
func subject(token string) string {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return ""
	}
	var claims struct {
		Subject string `json:"sub"`
		User    string `json:"user_id"`
	}
	text, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	if err != nil || json.Unmarshal(text, &claims) != nil {
		return ""
	}
	return cmp.Or(claims.Subject, claims.User)
}
