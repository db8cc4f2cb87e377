// Package hooks has Codex call us when a turn of a session has ended: the notify program in its
// configuration, and what it is told.
package hooks

import "encoding/json"

// Read reads what Codex gives to its notify program: which session had a turn
// that ended. It does not say where its rollout is.
func Read(said []byte) (session, transcript string) {
	var input struct {
		Thread string `json:"thread-id"`
	}
	if json.Unmarshal(said, &input) != nil {
		return "", ""
	}
	return input.Thread, ""
}
