package transcript

import (
	"bytes"
	"context"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/lines"
)

// CommandsFollow reports whether the last refusal of a transcript is followed by a command that was
// carried out without the model, such as /context.
func CommandsFollow(ctx context.Context, transcript string) (follow bool) {
	may := func(line []byte) bool {
		return bytes.Contains(line, commandName) || bytes.Contains(line, apiErrorMessage)
	}
	err := lookBack(ctx, lines.Whole(transcript), may, func(r record, _ lines.Line) bool {
		follow = !r.IsAPIError
		return false
	})
	return err == nil && follow
}

var commandName = []byte("<command-name>")

// Cleared reports whether a transcript begins with /clear and has no prompt: its process has left
// another session for it.
func Cleared(ctx context.Context, transcript string) bool {
	cleared, prompted := false, false
	err := lookBack(ctx, lines.Whole(transcript), func(line []byte) bool { return bytes.Contains(line, quotedUser) }, func(r record, _ lines.Line) bool {
		cleared = cleared || strings.HasPrefix(r.Message.Text(), "<command-name>/clear<")
		prompted = prompted || r.prompts()
		return !prompted
	})
	return err == nil && cleared && !prompted
}

// OpenCall returns the first tool at the end of a transcript that was called and has no result: it
// runs, or waits for a permission.
func OpenCall(ctx context.Context, transcript string) (open agent.Call) {
	done := make(map[string]bool)
	may := func(line []byte) bool {
		return bytes.Contains(line, []byte("tool_use")) || bytes.Contains(line, quotedUser)
	}
	_ = lookBack(ctx, lines.Whole(transcript), may, func(r record, _ lines.Line) bool { // what cannot be read is not named
		calls := false
		for _, b := range r.Message.blocks() {
			done[b.CallID] = true
			if b.Type == "tool_use" && !done[b.ID] {
				open, calls = agent.Call{ID: b.ID, Tool: b.Name, Use: agent.UseOf(b.Input)}, true
			}
		}
		return calls || open.ID == "" && !r.prompts()
	})
	return open
}
