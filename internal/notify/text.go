package notify

import (
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
	"resumed/internal/sanitize"
)

// The bounds of what people read. Push services cut or refuse a text of more
// than about a thousand characters.
const (
	maxText         = 1000
	maxTextSessions = 10 // listed in a text
	maxTextAttempts = 5  // listed in a text, the last ones
	maxViewAttempts = 50 // kept in a notice, the last ones
	maxReason       = 500
	maxAttemptError = 300
	longestName     = 100 // of a session: one that is cut cannot be typed
)

// trimView bounds what one session takes in a notice and makes the words that
// others wrote harmless.
func trimView(v resume.View) resume.View {
	v.Reason = sanitize.Short(v.Reason, maxReason)
	v.Started.Argv, v.Plan = []string{}, nil // what people told their agents stays on this machine
	v.Carried.LeftOut = notCarried(v.Carried.LeftOut)
	v.Attempts = slices.Clone(v.Attempts[max(0, len(v.Attempts)-maxViewAttempts):])
	if v.Attempts == nil {
		v.Attempts = []resume.AttemptView{}
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
		Version:  Version,
		ID:       g.ID,
		Event:    g.Event,
		At:       g.At,
		Host:     host,
		Account:  g.Account,
		Provider: g.Provider,
		Sessions: make([]resume.View, 0, len(g.Members)),
		Omitted:  g.Total - len(g.Members),
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
		notice.Text = fit(sanitize.Text(g.Detail), "The last good configuration stays in force. To see all: resumed config check")
	case g.Event == StateError:
		notice.Title = "resumed: what it remembers was damaged or removed"
		notice.Text = fit(sanitize.Text(g.Detail), "To see how your sessions stand: resumed status")
	case g.Event == Digest:
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
		commands = append(commands, "resumed retry "+shellWord(m.Short))
	}
	return strings.Join(commands, "; ")
}

// title says who it is about and what happened.
func (w words) title() string {
	v := w.group.Members[0].View
	who := project(v)
	if w.group.Total > 1 {
		who = fmt.Sprintf("%d sessions", w.group.Total)
	}
	return fmt.Sprintf("%s: %s %s", who, w.agents.of(v.Agent), w.happened(v))
}

// happened says what happened; of one session it knows more.
func (w words) happened(v resume.View) string {
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

func (w words) bodyOfOne(m member) string {
	v := m.View
	var out strings.Builder
	if v.Reason != "" && w.group.Event != Recovered {
		fmt.Fprintln(&out, sentence(sanitize.Short(v.Reason, 300)))
	}
	fmt.Fprintf(&out, "Session %s", sanitize.Short(m.Short, longestName))
	if v.Cwd != "" {
		fmt.Fprintf(&out, " in %s", sanitize.Short(v.Cwd, 120))
	}
	if w.notice.Host != "" {
		fmt.Fprintf(&out, " on %s", sanitize.Short(w.notice.Host, 80))
	}
	if v.LimitedAt != nil {
		fmt.Fprintf(&out, ", stopped at %s", w.clock(v.LimitedAt)+v.LimitedAt.In(w.zone).Format(" MST"))
	}
	fmt.Fprintln(&out)
	switch {
	case w.group.Event == Limited, w.group.Event == Parked && v.State == resume.Waiting && v.Unreached != "":
		w.waits(&out, v)
		if v.Context != nil && v.Cold != nil && *v.Cold {
			fmt.Fprintf(&out, "A resume reads %s.\n", humanize.Context(*v.Context, v.Cold))
		}
	case w.group.Event == Recovered:
		if v.Attempt > 0 {
			fmt.Fprintf(&out, "It took %s.\n", humanize.Count(v.Attempt, "try"))
		}
	default:
		w.tried(&out, v)
	}
	if lost := w.lost(v); lost != "" {
		fmt.Fprintf(&out, "%s.\n", sentence(lost))
	}
	return out.String()
}

// lost says what of a session's start its first resume did not repeat. Those that
// follow leave out the same.
func (w words) lost(v resume.View) string {
	if w.group.Event != Retrying || v.Attempt > 1 || len(v.Carried.LeftOut) == 0 {
		return ""
	}
	return "not repeated of its start: " + sanitize.Short(strings.Join(v.Carried.LeftOut, ", "), 200)
}

// tried lists the last attempts with their times.
func (w words) tried(out *strings.Builder, v resume.View) {
	if len(v.Attempts) == 0 {
		if w.group.Event != Retrying {
			fmt.Fprintln(out, "Nothing was tried.")
		}
		return
	}
	fmt.Fprintln(out, "Tried:")
	for _, a := range v.Attempts[max(0, len(v.Attempts)-maxTextAttempts):] {
		fmt.Fprintf(out, "%d. %s (waited %s)", a.N, w.clock(a.StartedAt), humanize.Seconds(a.DelaySeconds))
		if a.Outcome != "" {
			fmt.Fprintf(out, ": %s", humanize.Plain(string(a.Outcome)))
		}
		if a.Error != "" {
			fmt.Fprintf(out, ", %s", sanitize.Short(a.Error, 80))
		}
		fmt.Fprintln(out)
	}
}

func (w words) waits(out *strings.Builder, v resume.View) {
	if v.ResetAt != nil {
		fmt.Fprintf(out, "The limit lifts at %s.\n", w.clock(v.ResetAt))
	}
	switch {
	case v.Unreached != "":
		fmt.Fprintln(out, "It is not resumed while that process lives.")
	case v.NextAt != nil:
		fmt.Fprintf(out, "It is resumed at %s. There is nothing to do.\n", w.clock(v.NextAt))
	}
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
func (w words) fateOf(v resume.View) string {
	switch {
	case w.group.Event == GaveUp && len(v.Attempts) > 0:
		return fmt.Sprintf(": %s, last at %s", humanize.Count(v.Attempt, "try"), w.clock(v.Attempts[len(v.Attempts)-1].StartedAt))
	case w.group.Event == Parked && v.Reason != "":
		return ": " + sanitize.Short(v.Reason, 50)
	case w.group.Event == Limited && v.Unreached != "":
		return ": go on in its terminal, or quit it and it is continued"
	case w.group.Event == Limited && v.NextAt != nil:
		return ": resumed at " + w.clock(v.NextAt)
	case w.lost(v) != "":
		return ": " + w.lost(v)
	default:
		return ""
	}
}

// advice says what to do.
func (w words) advice() string {
	switch {
	case w.notice.RetryCommand == "":
		return ""
	case w.group.Total > 1:
		return "To try one again: resumed retry " + shellWord(w.group.Members[0].Short)
	case w.group.Event == Parked:
		return "Once it is mended: " + w.notice.RetryCommand
	default:
		return "To try again: " + w.notice.RetryCommand
	}
}

// clock writes a time as people here say it, with the day where it is another.
func (w words) clock(t *time.Time) string {
	if t == nil {
		return "an unknown time"
	}
	return humanize.LastingClock(*t, w.notice.At.In(w.zone))
}

// project is the name of the directory that a session works in.
func project(v resume.View) string {
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

var classWords = map[limit.Class]string{
	limit.RateLimit:       "rate limit",
	limit.UsageLimit:      "usage limit",
	limit.Overloaded:      "provider overloaded",
	limit.ServerError:     "provider errors",
	limit.Network:         "no network",
	limit.Timeout:         "timeouts",
	limit.Unknown:         "a failure that nobody understands",
	limit.Auth:            "sign-in refused",
	limit.Billing:         "billing",
	limit.ContextOverflow: "context too long",
	limit.BadRequest:      "request refused",
}

func because(c limit.Class) string {
	if w := classWords[c]; w != "" {
		return " (" + w + ")"
	}
	return ""
}

// sentence begins with a capital letter.
func sentence(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(first)) + s[size:]
}

// shellWord quotes what a shell would not take as one plain word.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.:", r)
	}
	s = sanitize.Short(s, 200)
	if s != "" && !strings.HasPrefix(s, "-") && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	quoted := "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	if strings.HasPrefix(s, "-") {
		return "-- " + quoted
	}
	return quoted
}
