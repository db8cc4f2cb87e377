package transcript

import (
	"encoding/json"
	"regexp"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/lines"
	"resumed/internal/resume"
)

// Trace returns what a line says about tools.
func (rd *Reader) Trace(line lines.Line) agent.ToolUse {
	r, ok := parse(line.Data)
	if !ok || r.IsSidechain {
		return agent.ToolUse{}
	}
	t := agent.ToolUse{At: r.at(line.ModTime)}
	event, _ := rd.event(r, line)
	switch event.(type) {
	case resume.Limited, resume.Cancelled:
		t.Other = true
		return t
	}
	for _, b := range r.Message.blocks() {
		switch {
		case b.Type == "tool_use":
			t.Calls = append(t.Calls, agent.Call{ID: b.ID, Tool: b.Name, Use: agent.UseOf(b.Input)})
		case b.Type == "tool_result" && b.Failed && r.denies(b):
			t.Denied = &agent.Denial{ID: b.CallID}
		}
	}
	return t
}

// denialWords are the results in versions that do not mark a refusal: a tool was not allowed, needs
// approval, or is forbidden by the user's rules.
var denialWords = regexp.MustCompile(`^(?:Claude requested permissions? to |Permission (?:to|for) .* has been denied|` +
	`.* (?:requires?|needs) approval|.* was blocked\. For security)`)

// denies reports whether a tool's result says that it was not allowed. An interruption by a person
// is not a question of permission.
func (r record) denies(result block) bool {
	switch r.Denial {
	case "":
	case "interrupted", "cancelled":
		return false
	default:
		return true
	}
	text := Message{Content: result.Content}.Text()
	return denialWords.MatchString(text) && !strings.HasPrefix(text, "Exit code") // output of a command may contain anything
}

// DeniedInResult returns the last refusal in the result of a run, which is the last line of its
// output if it was printed as JSON.
func DeniedInResult(output string) (agent.Denial, bool) {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	var result struct {
		Type    string `json:"type"`
		Denials []struct {
			Tool  string         `json:"tool_name"`
			Input map[string]any `json:"tool_input"`
		} `json:"permission_denials"`
	}
	if json.Unmarshal([]byte(lines[len(lines)-1]), &result) != nil || result.Type != "result" || len(result.Denials) == 0 {
		return agent.Denial{}, false
	}
	last := result.Denials[len(result.Denials)-1]
	return agent.Denial{Tool: last.Tool, Use: agent.UseOf(last.Input)}, true
}
