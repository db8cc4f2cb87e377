package claude

import "encoding/json"

// readHook reads what Claude Code gives to a hook: which session, and where its
// transcript is. What it says of the failure stands in the transcript too, and more
// exactly.
func readHook(said []byte) (session, transcript string) {
	var input struct {
		Session    string `json:"session_id"`
		Transcript string `json:"transcript_path"`
	}
	if json.Unmarshal(said, &input) != nil {
		return "", ""
	}
	return input.Session, input.Transcript
}
