package rollout

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/lines"
)

// Trace returns what a line says about tools. confined says that the run has a sandbox.
func Trace(line lines.Line, confined bool) agent.ToolUse {
	r, ok := parse(line.Data)
	if !ok {
		return agent.ToolUse{}
	}
	t := agent.ToolUse{At: r.at(line.ModTime)}
	p := r.Payload
	_, failed := r.failed()
	switch {
	case failed || r.interrupts():
		t.Other = true
	case r.Type != "response_item":
	case strings.HasSuffix(p.Type, "_call_output"):
		text := string(p.Output)
		_ = json.Unmarshal(p.Output, &text) // an object is searched as it is
		bySandbox := confined && failedCommand.MatchString(text) && strings.Contains(text, "Read-only file system")
		if refusedByCodex(text) || bySandbox {
			t.Denied = &agent.Denial{ID: p.CallID}
		}
	case strings.HasSuffix(p.Type, "_call"):
		var arguments map[string]any
		_ = json.Unmarshal([]byte(p.Arguments), &arguments) // a custom tool has plain text
		t.Calls = []agent.Call{{ID: p.CallID, Tool: p.Name, Use: agent.UseOf(arguments)}}
	}
	return t
}

// refusals are how Codex reports a tool that it did not run, because it had to ask and there was
// nobody to ask.
var refusals = []string{
	"approval policy is Never", "rejected by user approval settings", "rejected: blocked by policy",
	"exec command rejected by user", "patch rejected by user",
}

func refusedByCodex(text string) bool {
	return slices.ContainsFunc(refusals, func(words string) bool { return strings.Contains(text, words) }) &&
		!strings.Contains(text, "Process exited with code") // output of a command may contain anything
}

// A command that failed because it wrote where the sandbox forbids it was refused. Other failures may have other causes.
var failedCommand = regexp.MustCompile(`(?i)(process exited with code|exit code:|"exit_code":) ?[1-9]`)
