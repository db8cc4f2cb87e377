// Package prompt makes the text that continues a session: it chooses the user's prompt by what stopped
// the session, and replaces its placeholders.
package prompt

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"resumed/internal/lazy"
	"resumed/internal/limit"
)

// Usual is the prompt of a user who has configured none.
const Usual = "continue"

// builtIn are the prompts for classes of which the agent knows nothing by itself, unless the user has
// configured another one.
var builtIn = map[string]string{
	"cut_off": "Your process ended in the middle of your work ({reason}). Interrupted: {interrupted_tool}, {subagents}. Check what is already done before you repeat anything, then continue.",
}

// Prompts are the prompts of a user.
type Prompts struct {
	Usual string
	For   map[limit.Class]string // those of some classes
}

// Of returns the prompt for a session that was stopped by that class, with its placeholders.
func (p Prompts) Of(class limit.Class) string {
	if text, ok := p.For[class]; ok {
		return text
	}
	if text, ok := builtIn[class.String()]; ok && p.Usual == Usual {
		return text
	}
	return p.Usual
}

// Facts are what a prompt can tell about an interruption. Names come from transcripts, which anybody may
// have written: Fill uses only those of a plain form.
type Facts struct {
	Class     limit.Class
	Reset     time.Time // zero: not stated
	Attempt   int
	Tool      string   // the tool that had no result yet; empty: none
	Subagents []string // the kinds of the subagents that were stopped too
}

var values = []struct {
	name  string
	value func(Facts) string
}{
	{"{reason}", func(f Facts) string {
		if f.Class == limit.None {
			return "a request to continue"
		}
		return f.Class.Title()
	}},
	{"{reset_time}", func(f Facts) string {
		if f.Reset.IsZero() {
			return "an unknown time"
		}
		return f.Reset.UTC().Format("2006-01-02 15:04 MST")
	}},
	{"{attempt}", func(f Facts) string { return strconv.Itoa(f.Attempt) }},
	{InterruptedTool, func(f Facts) string {
		if f.Tool == "" {
			return "no tool"
		}
		return plain(f.Tool, "a tool")
	}},
	{"{subagents}", func(f Facts) string { return stopped(f.Subagents) }},
}

// Placeholders returns all placeholders.
func Placeholders() []string {
	var names []string
	for _, v := range values {
		names = append(names, v.name)
	}
	return names
}

var placeholder = lazy.Regexp(`\{[A-Za-z_][A-Za-z0-9_]*\}`)

// Unknown returns the first placeholder of a prompt that is none; "": all are known.
func Unknown(text string) string {
	for _, name := range placeholder().FindAllString(text, -1) {
		if !slices.Contains(Placeholders(), name) {
			return name
		}
	}
	return ""
}

// InterruptedTool is the placeholder of Facts.Tool, which is not always known.
const InterruptedTool = "{interrupted_tool}"

// Fill replaces the placeholders.
func Fill(text string, f Facts) string {
	return placeholder().ReplaceAllStringFunc(text, func(name string) string {
		for _, v := range values {
			if v.name == name {
				return v.value(f)
			}
		}
		return name
	})
}

var plainName = lazy.Regexp(`^[A-Za-z][A-Za-z0-9_.:-]{0,39}$`)

// plain returns a name that has a plain form, and otherwise other words.
func plain(name, otherwise string) string {
	if plainName().MatchString(name) {
		return name
	}
	return otherwise
}

// mostNamed is how many subagents are named: a prompt that is typed must stay short.
const mostNamed = 3

// stopped says how many subagents were stopped, and which.
func stopped(kinds []string) string {
	switch len(kinds) {
	case 0:
		return "no subagents"
	case 1:
		return "1 subagent (" + plain(kinds[0], "unnamed") + ")"
	}
	var names []string
	for _, kind := range kinds[:min(mostNamed, len(kinds))] {
		names = append(names, plain(kind, "unnamed"))
	}
	if more := len(kinds) - mostNamed; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("%d subagents (%s)", len(kinds), strings.Join(names, ", "))
}
