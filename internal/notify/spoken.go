package notify

import (
	"cmp"
	"encoding/json"
	"strings"
)

// spoken puts the message into the place of the JSON that holds it, as some agents print it.
func spoken(text string) string {
	at := strings.IndexByte(text, '{')
	if at < 0 {
		return text
	}
	var answer struct {
		Message string
		Error   struct{ Message string }
	}
	decoder := json.NewDecoder(strings.NewReader(text[at:]))
	if decoder.Decode(&answer) != nil {
		return text
	}
	message := cmp.Or(answer.Error.Message, answer.Message)
	if message == "" {
		return text
	}
	return text[:at] + message + text[at+int(decoder.InputOffset()):]
}
