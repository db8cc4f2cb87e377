// Package hooks makes Codex call resumed when a turn has ended. It edits the notify program in the
// configuration and parses its input.
package hooks

import "encoding/json"

// Read parses the input of the notify program: the session whose turn ended. The input does not
// contain the path of the rollout.
func Read(said []byte) (session, transcript string) {
	var input struct {
		Thread string `json:"thread-id"`
	}
	if json.Unmarshal(said, &input) != nil {
		return "", ""
	}
	return input.Thread, ""
}
