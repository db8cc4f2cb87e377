// Package hooks makes Claude Code call resumed when something happens to a session. It edits the
// settings file and parses the input of a hook.
package hooks

import "encoding/json"

// Read parses the input of a hook: the session and its transcript. The transcript has the
// failure too, in more detail.
func Read(said []byte) (session, transcript string) {
	var input struct {
		Session    string `json:"session_id"`
		Transcript string `json:"transcript_path"`
	}
	if json.Unmarshal(said, &input) != nil {
		return "", ""
	}
	return input.Session, input.Transcript
}
