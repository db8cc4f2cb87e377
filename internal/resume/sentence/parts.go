package sentence

import (
	"fmt"
	"strings"
	"time"

	"resumed/internal/resume"
)

const namedSubagents = 3

// SubagentsStopped says which subagents were stopped and by what, for people; empty: none.
func SubagentsStopped(stopped []resume.Subagent) string {
	n := len(stopped)
	if n == 0 {
		return ""
	}
	var names []string
	for _, a := range stopped[:min(n, namedSubagents)] {
		names = append(names, named(a))
	}
	if n > namedSubagents {
		names = append(names, fmt.Sprintf("%d more", n-namedSubagents))
	}
	verb := map[bool]string{true: "was", false: "were"}[n == 1]
	return fmt.Sprintf("%d %s %s stopped by %s: %s", n, plural(n, "subagent"), verb, stopped[n-1].Class.Title(), strings.Join(names, ", "))
}

func named(a resume.Subagent) string {
	switch {
	case a.About == "" && a.Kind == "":
		return a.ID
	case a.About == "":
		return a.Kind
	case a.Kind == "":
		return a.About
	default:
		return fmt.Sprintf("%s (%s)", a.About, a.Kind)
	}
}

// after says from when on subagents can continue; empty: not known.
func after(stopped []resume.Subagent) string {
	var last time.Time
	for _, a := range stopped {
		last = resume.Later(last, a.Reset)
	}
	if last.IsZero() {
		return ""
	}
	return " after " + stamp(last)
}

// place says where a process is, for people.
func place(o *resume.Owner) string {
	if o == nil {
		return "its terminal"
	}
	words := fmt.Sprintf("process %d", o.PID)
	switch {
	case o.App != "":
		return o.App + " (" + words + ")"
	case o.Tmux != "":
		return "tmux " + o.Tmux + " (" + words + ")"
	case o.Kind == resume.Headless:
		return words + ", which has no terminal"
	default:
		return "its terminal (" + words + ")"
	}
}
