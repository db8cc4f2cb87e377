package termui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"resumed/internal/humanize"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
	"resumed/internal/sanitize"
)

type group struct {
	title string
	rows  []*row
}

// grouped puts rows together that need the same for the same cause. The order of the groups is that of
// their first rows.
func grouped(rows []*row) (groups []*group) {
	known := make(map[string]*group)
	for _, r := range rows {
		title := humanize.Heading(r.view)
		g := known[title]
		if g == nil {
			g = &group{title: title}
			known[title] = g
			groups = append(groups, g)
		}
		g.rows = append(g.rows, r)
	}
	return groups
}

// mostNamed bounds how many sessions a printed command names.
const mostNamed = 3

// toDo returns what a person can do for all sessions of the group; empty: nothing, or each has its own.
func (g *group) toDo() string {
	first := g.rows[0].view
	if g.rows[0].need != humanize.You {
		return ""
	}
	same := func(of func(view.Session) string) bool {
		return !slices.ContainsFunc(g.rows, func(r *row) bool { return of(r.view) != of(first) })
	}
	var names []string
	for _, r := range g.rows[:min(len(g.rows), mostNamed)] {
		names = append(names, r.name)
	}
	if len(g.rows) > mostNamed {
		names = append(names, "…")
	}
	need := func(v view.Session) string {
		if v.Needs == nil {
			return ""
		}
		return *v.Needs
	}
	switch {
	case !same(need):
		return ""
	case need(first) == string(resume.StartUnseen):
		return "resumed retry --unseen continues them with your settings as they are now"
	case !same(func(v view.Session) string { return v.Remedy }):
		return "resumed status SESSION says what helps"
	case first.Unreached != "" || need(first) != "retry" && need(first) != "sign_in" && need(first) != "billing":
		return sanitize.Line(first.Remedy)
	case first.Remedy != "":
		return sanitize.Line(first.Remedy) + "; then resumed retry " + strings.Join(names, " ")
	default:
		return "resumed retry " + strings.Join(names, " ")
	}
}

// heading is the line, or the two lines, above the rows of a group.
func (p Page) heading(g *group) []string {
	_, colour := stateOf(g.rows[0].view)
	if g.rows[0].need == humanize.You {
		colour = Red
	}
	lines := []string{p.cut(p.Paint.In(colour, fmt.Sprintf("%s (%d)", g.title, len(g.rows))))}
	if todo := g.toDo(); todo != "" {
		for _, line := range Words("to do: "+todo, p.Width-gutter) {
			lines = append(lines, p.cut(strings.Repeat(" ", gutter)+line))
		}
	}
	return lines
}

// summary is one line about all sessions: how many need a person, how many go on by themselves, and when
// the next one does.
func (p Page) summary(b *board) string {
	text := humanize.Count(len(b.order), "session") + ": " + p.tally(b)
	var next *time.Time
	for _, r := range b.order {
		at := r.view.NextAt
		if r.need == humanize.Time && at != nil && at.After(p.Now) && (next == nil || at.Before(*next)) {
			next = at
		}
	}
	if next != nil {
		text += "; next " + humanize.Until(*next, p.Now)
	}
	return text
}

// tally counts the sessions by what they need, most urgent first.
func (p Page) tally(b *board) string {
	counts := b.needs
	var parts []string
	for _, each := range []struct {
		need   humanize.Need
		words  string
		colour Colour
	}{
		{humanize.You, humanize.Verb(counts[humanize.You], "needs you", "need you"), Red},
		{humanize.Trying, "resuming", Magenta},
		{humanize.Time, "waiting", Yellow},
		{humanize.Unpause, "paused", Cyan},
		{humanize.Nothing, "watching", Green},
	} {
		if n := counts[each.need]; n > 0 {
			parts = append(parts, p.Paint.In(each.colour, fmt.Sprintf("%d %s", n, each.words)))
		}
	}
	if len(parts) == 0 {
		return "no session is interrupted"
	}
	return strings.Join(parts, ", ")
}

// ByState returns which sessions are in a state, as status --json names it, paused, or needs_you.
func ByState(name string) (func(view.Session) bool, error) {
	switch name {
	case "needs_you":
		return func(s view.Session) bool { return humanize.Needs(s) == humanize.You }, nil
	case "paused":
		return func(s view.Session) bool { return s.Paused }, nil
	}
	var state resume.State
	if err := state.UnmarshalText([]byte(name)); err != nil {
		return nil, fmt.Errorf("state %q is not known; it is one of %s", sanitize.Line(name), strings.Join(StateNames(), ", "))
	}
	return func(s view.Session) bool { return s.State == state }, nil
}

// StateNames returns the names that ByState knows.
func StateNames() []string {
	names := []string{"needs_you", "paused"}
	for _, state := range resume.States() {
		names = append(names, state.String())
	}
	return names
}
