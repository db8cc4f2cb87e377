package codex

import "encoding/json"

// readNotify reads what Codex gives to its notify program: which session had a turn
// that ended. It does not say where its rollout is.
func readNotify(said []byte) (session, transcript string) {
	var input struct {
		Thread string `json:"thread-id"`
	}
	if json.Unmarshal(said, &input) != nil {
		return "", ""
	}
	return input.Thread, ""
}
