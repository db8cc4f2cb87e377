// Package hooks has Claude Code call us when something happens to a session: the calls in
// its file of settings, and what it says with each.
package hooks

import "encoding/json"

// Read reads what Claude Code gives to a hook: which session, and where its
// transcript is. What it says of the failure stands in the transcript too, and more
// exactly.
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
