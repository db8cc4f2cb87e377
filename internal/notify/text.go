package notify

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"resumed/internal/humanize"
	"resumed/internal/limit"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
	"resumed/internal/sanitize"
)

// The bounds of what people read. Push services cut or refuse a text of more
// than about a thousand characters.
const (
	maxText         = 1000
	maxTextSessions = 10 // listed in a text
	maxViewAttempts = 50 // kept in a notice, the last ones
	maxReason       = 500
	maxWhat         = 160 // of what happened, and of what to do
	maxAttemptError = 300
	longestName     = 100 // of a session: one that is cut cannot be typed
)

// trimView bounds what one session takes in a notice and makes the words that
// others wrote harmless.
func trimView(v view.Session) view.Session {
	v.Reason = sanitize.Short(v.Reason, maxReason)
	v.Started.Argv, v.Plan = []string{}, nil // what people told their agents stays on this machine
	v.Carried.LeftOut = notCarried(v.Carried.LeftOut)
	v.Attempts = slices.Clone(v.Attempts[max(0, len(v.Attempts)-maxViewAttempts):])
	if v.Attempts == nil {
		v.Attempts = []view.Attempt{}
	}
	for i := range v.Attempts {
		v.Attempts[i].Error = sanitize.Short(v.Attempts[i].Error, maxAttemptError)
	}
	return v
}

// notCarried names what of its start a resume did not repeat, without the values
// of flags and without reasons.
func notCarried(leftOut []string) []string {
	names := make([]string, 0, len(leftOut))
	for _, words := range leftOut {
		what, _, _ := strings.Cut(words, ": ")
		if strings.HasPrefix(what, "-") {
			what, _, _ = strings.Cut(what, " ")
			what, _, _ = strings.Cut(what, "=")
		}
		names = append(names, sanitize.Short(what, 80))
	}
	return names
}

// compose makes the notice of a group.
func compose(g *group, host string, zone *time.Location, agents Titles) Notice {
	notice := Notice{
		Version:   Version,
		ID:        g.ID,
		Event:     g.Event,
		At:        g.At,
		Host:      host,
		Account:   g.Account,
		Provider:  g.Provider,
		Allowance: g.Allowance,
		Sessions:  make([]view.Session, 0, len(g.Members)),
		Omitted:   g.Total - len(g.Members),
	}
	for _, m := range g.Members {
		notice.Sessions = append(notice.Sessions, m.View)
	}
	say(&notice, g, zone, agents)
	return notice
}

// say writes title, text and command of a notice: what a person understands at
// three in the morning.
func say(notice *Notice, g *group, zone *time.Location, agents Titles) {
	w := words{notice: notice, group: g, zone: zone, agents: agents}
	notice.RetryCommand = w.retryCommand()
	switch {
	case g.Event == ConfigError:
		notice.Title = "resumed: the changed configuration has errors"
		notice.Text = fit(sanitize.Text(g.Detail), "The previous configuration stays in use. To see all errors: resumed config check")
	case g.Event == StateError:
		notice.Title = "resumed: its saved state is damaged or gone"
		notice.Text = fit(sanitize.Text(g.Detail), "To see how your sessions stand: resumed status")
	case g.Event == Digest, g.Event == Usage:
		title, body, _ := strings.Cut(g.Detail, "\n")
		notice.Title, notice.Text = title, fit(body, "")
	case g.Event == Test:
		notice.Title = "resumed: test notice from " + sanitize.Short(notice.Host, 80)
		notice.Text = "If you can read this, notices arrive."
	case g.Total == 1:
		notice.Title, notice.Text = w.title(), fit(w.bodyOfOne(g.Members[0]), w.advice())
	default:
		notice.Title, notice.Text = w.title(), fit(w.bodyOfMany(), w.advice())
	}
}

// fit joins body and advice within maxText; the advice is never cut.
func fit(body, advice string) string {
	body = strings.TrimSpace(body)
	if advice == "" {
		return sanitize.Cut(body, maxText)
	}
	return strings.TrimSpace(sanitize.Cut(body, maxText-len(advice)-1) + "\n" + advice)
}

type words struct {
	notice *Notice
	group  *group
	zone   *time.Location
	agents Titles
}

// retryCommand is one line for a shell.
func (w words) retryCommand() string {
	if w.group.Event != GaveUp && w.group.Event != Parked {
		return ""
	}
	var commands []string
	for _, m := range w.group.Members[:min(len(w.group.Members), maxTextSessions)] {
		if m.View.State == resume.Waiting {
			continue // it is tried again by itself
		}
		commands = append(commands, retryOf(m))
	}
	return strings.Join(commands, "; ")
}

// retryOf is the command that tries a session again. It names it by its whole id.
func retryOf(m member) string { return "resumed retry " + shellWord(m.View.Typed()) }

// title says who it is about and what happened.
func (w words) title() string {
	v := w.group.Members[0].View
	who := project(v)
	if w.group.Total > 1 {
		who = fmt.Sprintf("%d sessions", w.group.Total)
	}
	if w.group.Event == GaveUp {
		return fmt.Sprintf("%s: resumed %s", who, w.happened(v)) // the agent has not: it was not asked again
	}
	return fmt.Sprintf("%s: %s %s", who, w.agents.of(v.Agent), w.happened(v))
}

// happened says what happened; of one session it knows more.
func (w words) happened(v view.Session) string {
	one := w.group.Total == 1
	switch w.group.Event {
	case GaveUp:
		if one {
			return "gave up after " + humanize.Count(v.Attempt, "try") + because(v.Class)
		}
		return "gave up" + because(v.Class)
	case Parked:
		if v.State == resume.Waiting && v.GivesUpAt != nil && v.Owner == nil {
			return "is still being tried" + because(v.Class)
		}
		return "needs you" + because(v.Class)
	case Limited:
		return "waits" + because(v.Class)
	case Retrying:
		if one {
			v.Attempt = max(v.Attempt, 1)
			return fmt.Sprintf("is being resumed (try %s)", strings.ReplaceAll(humanize.Tries(v), "/", " of "))
		}
		return "is being resumed"
	case Recovered:
		return "is working again"
	default:
		return string(w.group.Event)
	}
}

// bodyOfOne is what happened and where; what to do comes after it. With the title that
// is four lines, which is what a desktop shows.
func (w words) bodyOfOne(m member) string {
	v := m.View
	var lines []string
	if what := w.what(v); what != "" {
		lines = append(lines, what)
	}
	lines = append(lines, w.where(m))
	if next := w.next(v); next != "" {
		lines = append(lines, next)
	}
	if paid := w.ownKey(v); paid != "" {
		lines = append(lines, paid)
	}
	return strings.Join(lines, "\n")
}

// what says in one line what happened, beyond the title.
func (w words) what(v view.Session) string {
	switch {
	case w.group.Event == Recovered:
		return ""
	case w.group.Event == GaveUp && len(v.Attempts) > 0:
		return sentence(strings.TrimPrefix(sanitize.Short(spoken(v.Text), 100)+"; "+w.tried(v), "; "))
	case v.Unreached != "" && v.Owner != nil:
		where, _, _ := strings.Cut(v.Unreached, ": ")
		where, _, _ = strings.Cut(where, " (process")
		return sentence(fmt.Sprintf("%s (process %d): resumed cannot type there", sanitize.Short(where, 80), v.Owner.PID))
	}
	reason := w.reason(v)
	if w.group.Event == Parked && !v.Class.Transient() && strings.HasSuffix(reason, v.Text) {
		reason = cmp.Or(v.Text, reason) // the title says the rest
	}
	if w.notice.RetryCommand != "" { // which follows, and need not be said twice
		reason, _, _ = strings.Cut(reason, "`resumed retry ")
		reason = strings.TrimRight(reason, ":; ")
	}
	if w.group.Event != Retrying { // else the title says that
		reason = strings.TrimPrefix(reason, v.Class.Words()+": ")
	}
	return sentence(sanitize.Short(spoken(reason), maxWhat))
}

// where says which session it is, on which machine, and since when it stands.
func (w words) where(m member) string {
	where := "Session " + sanitize.Short(m.Short, longestName)
	if m.View.Cwd != "" {
		where = sanitize.Short(m.View.Cwd, 120)
	}
	if w.notice.Host != "" {
		where += " on " + sanitize.Short(w.notice.Host, 80)
	}
	if at := m.View.LimitedAt; at != nil {
		where += ", stopped at " + w.clock(at) + at.In(w.zone).Format(" MST")
	}
	return where
}

// next says what comes now without anybody's help.
func (w words) next(v view.Session) string {
	switch {
	case w.group.Event == Limited && v.Unreached == "" && v.NextAt != nil:
		words := "It is resumed at " + w.clock(v.NextAt) + "; you do not need to do anything"
		if v.Context != nil && v.Cold != nil && *v.Cold {
			words += ". A resume reads " + humanize.Context(*v.Context, v.Cold)
		}
		return words
	case w.group.Event == Recovered && v.Attempt > 0:
		return "It took " + humanize.Count(v.Attempt, "try") + switched(v)
	case w.group.Event == Retrying && w.lost(v) != "":
		return sentence(strings.TrimPrefix(w.tried(v)+switched(v)+"; "+w.lost(v), "; "))
	case w.group.Event == Retrying:
		return sentence(w.tried(v) + switched(v))
	default:
		return ""
	}
}

// switched says which model a session goes on with where that is not its own, or may
// not be.
func switched(v view.Session) string {
	if len(v.Attempts) == 0 {
		return ""
	}
	switch last := v.Attempts[len(v.Attempts)-1]; {
	case last.Model != "":
		return "; it continues with " + sanitize.Short(last.Model, 80) + " (fallback_model)"
	case last.Fallback != "" && last.Outcome == "":
		return "; it may continue with " + sanitize.Short(last.Fallback, 80) + " (fallback_model)"
	case last.OwnKey:
		return "; it continues with your own key, at your cost"
	default:
		return ""
	}
}

// lost says what of a session's start its first resume did not repeat. Those that
// follow leave out the same.
func (w words) lost(v view.Session) string {
	if w.group.Event != Retrying || v.Attempt > 1 || len(v.Carried.LeftOut) == 0 {
		return ""
	}
	return "not repeated from its start: " + sanitize.Short(strings.Join(v.Carried.LeftOut, ", "), 200)
}

// tried says when it was tried, and how the last try ended.
func (w words) tried(v view.Session) string {
	if len(v.Attempts) == 0 {
		return ""
	}
	last := v.Attempts[len(v.Attempts)-1]
	from, to := w.clock(v.Attempts[0].StartedAt), w.clock(last.StartedAt)
	said := "tried at " + to
	if from != to {
		said = fmt.Sprintf("tried from %s to %s", from, to)
	}
	if last.Outcome != "" {
		said += ": " + humanize.Plain(string(last.Outcome))
	}
	if last.Error != "" {
		said += ", " + sanitize.Short(last.Error, 80)
	}
	return said
}

// bodyOfMany lists sessions a line each.
func (w words) bodyOfMany() string {
	var out strings.Builder
	fmt.Fprintf(&out, "Account %s", sanitize.Short(w.group.account().String(), 120))
	if w.notice.Host != "" {
		fmt.Fprintf(&out, " on %s", sanitize.Short(w.notice.Host, 80))
	}
	fmt.Fprintln(&out, ":")
	shown := w.group.Members[:min(len(w.group.Members), maxTextSessions)]
	for _, m := range shown {
		fmt.Fprintf(&out, "- %s (%s)%s\n", project(m.View), sanitize.Short(m.Short, longestName), w.fateOf(m.View))
	}
	if more := w.group.Total - len(shown); more > 0 {
		fmt.Fprintf(&out, "and %d more: resumed status\n", more)
	}
	return out.String()
}

// fateOf is what a list says of one session.
func (w words) fateOf(v view.Session) string {
	switch {
	case w.group.Event == GaveUp && len(v.Attempts) > 0:
		return fmt.Sprintf(": %s, last at %s", humanize.Count(v.Attempt, "try"), w.clock(v.Attempts[len(v.Attempts)-1].StartedAt))
	case w.group.Event == Parked && v.Reason != "":
		return ": " + sanitize.Short(w.reason(v), 50)
	case w.group.Event == Limited && v.Unreached != "":
		return ": " + sanitize.Short(v.Remedy, 120)
	case w.group.Event == Limited && v.NextAt != nil:
		return ": resumed at " + w.clock(v.NextAt)
	case w.lost(v) != "":
		return ": " + w.lost(v)
	default:
		return ""
	}
}

// advice says what to do now, and by which command the session goes on then.
func (w words) advice() string {
	remedy := sentence(sanitize.Short(w.group.Members[0].View.Remedy, maxWhat))
	calls := w.group.Event == GaveUp || w.group.Event == Parked
	switch {
	case !calls && (w.group.Event != Limited || w.group.Total > 1):
		return ""
	case w.notice.RetryCommand == "":
		return remedy
	}
	command := w.notice.RetryCommand
	if w.group.Total > 1 {
		command = w.firstRetry()
	}
	switch {
	case remedy != "" && w.group.Total > 1:
		return remedy + ", then one by one: " + command
	case w.group.Total > 1:
		return "To try one again: " + command
	case remedy != "":
		return remedy + ", then: " + command
	case w.group.Event == Parked:
		return "To continue it: " + command
	default:
		return "To try again: " + command
	}
}

// firstRetry is the command for the first of several sessions that needs one.
func (w words) firstRetry() string {
	first, _, _ := strings.Cut(w.notice.RetryCommand, "; ")
	return first
}

// reason is the session's, with its times as they are said here.
func (w words) reason(v view.Session) string {
	return humanize.Reason(v.Reason, func(t time.Time) string { return w.clock(&t) })
}

// clock writes a time as people here say it, with the day where it is another.
func (w words) clock(t *time.Time) string {
	if t == nil {
		return "an unknown time"
	}
	return humanize.LastingClock(*t, w.notice.At.In(w.zone))
}

// brief cuts a text to so many lines. What to do is kept: that is the last line, or
// the command that shows all.
func brief(text string, most int) string {
	lines := strings.Split(text, "\n")
	if len(lines) <= most {
		return text
	}
	last := lines[len(lines)-1]
	if !strings.Contains(last, "resumed ") {
		last = "To see all: resumed status"
	}
	return strings.Join(append(lines[:most-1:most-1], last), "\n")
}

// project is the name of the directory that a session works in.
func project(v view.Session) string {
	base := filepath.Base(v.Cwd)
	if v.Cwd == "" || base == "/" || base == "." {
		id := sanitize.Short(v.ID, 40)
		return "session " + strings.TrimSuffix(sanitize.Cut(id, 9), "…")
	}
	return sanitize.Short(base, 60)
}

// Titles is what people call the agents, by name. One that is not in it is
// called by its name.
type Titles map[string]string

func (t Titles) of(name string) string {
	if title, ok := t[name]; ok {
		return title
	}
	return sanitize.Short(name, 40)
}

func because(c limit.Class) string {
	if w := c.Words(); w != "" {
		return " (" + w + ")"
	}
	return ""
}

// sentence begins with a capital letter.
func sentence(s string) string {
	if s == "" {
		return ""
	}
	first, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(first)) + s[size:]
}

// shellWord quotes what a shell would not take as one plain word.
func shellWord(s string) string {
	word := sanitize.ShellWord(sanitize.Short(s, 200))
	if strings.HasPrefix(s, "-") {
		return "-- " + word
	}
	return word
}
