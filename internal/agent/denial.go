package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"resumed/internal/lines"
	"resumed/internal/sanitize"
)

// Ran is a finished resumed run.
type Ran struct {
	Since  time.Time // when it began
	Output string    // the end of what it printed
}

// Denial is a call of a tool that an agent was not allowed to use. If the record of the refusal has only its ID, the rest
// is found in that of the call.
type Denial Call

// longestUse bounds how much of a command is shown to a person.
const longestUse = 120

// String returns a sentence for people.
func (d Denial) String() string {
	return "the resumed run was refused permission to use " + Call(d).String() + ", and nobody was there to give it: " +
		"allow it in the agent's own settings, or continue the session yourself"
}

// Call is a tool that an agent called.
type Call struct{ ID, Tool, Use string }

// String names the tool and what it is to do, for people.
func (c Call) String() string {
	what := "a tool"
	if c.Tool != "" {
		what = sanitize.Short(c.Tool, longestUse)
	}
	if use := strings.TrimSpace(c.Use); use != "" {
		what += fmt.Sprintf(" (%s)", sanitize.Short(use, longestUse))
	}
	return what
}

// ToolUse is what one record says about a run's tools. The zero ToolUse is a record without
// tools, such as an answer in words.
type ToolUse struct {
	At     time.Time
	Calls  []Call
	Denied *Denial
	Other  bool // something else stopped the run, or another run began
}

// LastDenial reads a transcript from its end back to the beginning of a run. A denial counts if
// no tool was called after it: otherwise the agent continued without the tool. told reports
// whether the run called any tool at all.
func LastDenial(ctx context.Context, path string, since time.Time, read func(lines.Line) ToolUse) (d Denial, denied, told bool, err error) {
	err = lines.Back(ctx, path, func(line lines.Line) bool {
		t := read(line)
		if !t.At.IsZero() && t.At.Before(since.Add(-slack)) {
			return false
		}
		told = told || len(t.Calls) > 0 || t.Denied != nil
		if t.Denied != nil && !denied {
			d, denied = *t.Denied, true
		}
		if denied {
			return !d.names(t.Calls)
		}
		return len(t.Calls) == 0 && !t.Other
	})
	return d, denied, told, err
}

// names copies the tool's name from its call, and reports whether it is known.
func (d *Denial) names(calls []Call) bool {
	if at := slices.IndexFunc(calls, func(c Call) bool { return c.ID == d.ID }); d.Tool == "" && at >= 0 {
		*d = Denial(calls[at])
	}
	return d.Tool != ""
}

// UseOf returns what a tool was to do, from its arguments: the command, or the file it works on.
func UseOf(arguments map[string]any) string {
	for _, name := range []string{"command", "cmd", "file_path", "filePath", "absolute_path", "path", "url"} {
		switch value := arguments[name].(type) {
		case string:
			return value
		case []any:
			return strings.Trim(fmt.Sprint(value...), "[]")
		}
	}
	return ""
}
