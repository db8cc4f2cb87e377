package notify

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"resumed/internal/humanize"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
	"resumed/internal/sanitize"
)

// Bounds of the texts for people. Push services cut or refuse texts of more than about a thousand
// characters.
const (
	maxText         = 1000
	maxTextSessions = 10  // listed in a text
	maxWhat         = 160 // for what happened, and for what to do
	longestName     = 100 // of a session: a truncated name cannot be typed
)

// compose writes the notice of a group, so that a person understands it at three in the morning.
func compose(g *group, host string, agents Titles) Notice {
	w := words{Notice: g.Notice, total: len(g.Sessions) + g.Omitted, agents: agents, sentAt: resume.Later(g.At, g.due)}
	w.Version, w.Host = Version, host
	if w.Sessions == nil {
		w.Sessions = []view.Session{}
	}
	w.RetryCommand = w.retryCommand()
	switch g.Event {
	case ConfigError:
		w.Title = "resumed: the changed configuration has errors"
		w.Text = fit(sanitize.Text(g.detail), "The previous configuration stays in use. To see all errors: resumed config check")
	case StateError:
		w.Title = "resumed: its saved state is damaged or gone"
		w.Text = fit(sanitize.Text(g.detail), "To see how your sessions stand: resumed status")
	case Digest, Usage:
		title, body, _ := strings.Cut(g.detail, "\n")
		w.Title, w.Text = title, fit(body, "")
	case Test:
		w.Title = "resumed: test notice from " + sanitize.Short(host, 80)
		w.Text = "If you can read this, notices arrive."
	default:
		body := w.bodyOfMany
		if w.total == 1 {
			body = w.bodyOfOne
		}
		w.Title, w.Text = w.title(), fit(body(), w.advice())
	}
	return w.Notice
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
	Notice
	total  int // number of sessions
	agents Titles
	sentAt time.Time // the earliest
}

func (w words) listed() []view.Session { return w.Sessions[:min(len(w.Sessions), maxTextSessions)] }

// retryCommand returns one line for a shell. It names each session by its whole id.
func (w words) retryCommand() string {
	if !needsPerson(w.Event) {
		return ""
	}
	var commands []string
	for _, v := range w.listed() {
		if v.State != resume.Waiting && !asks(v) && w.Event != Silent { // otherwise it is tried again by itself, or works
			commands = append(commands, "resumed retry "+shellWord(v.Typed()))
		}
	}
	return strings.Join(commands, "; ")
}

var happened = map[Event]string{
	GaveUp: "gave up", Parked: "needs you", CutOff: "was cut off", Silent: "is silent", Limited: "waits", Retrying: "is being resumed", Recovered: "is working again",
}

func (w words) title() string {
	v, about, by, what := w.Sessions[0], fmt.Sprintf("%d sessions", w.total), "", cmp.Or(happened[w.Event], string(w.Event))
	if w.total == 1 {
		about = project(v)
	}
	switch {
	case w.Event == GaveUp && w.total == 1:
		what += " after " + humanize.Count(v.Attempt, "try")
	case w.Event == Parked && v.State == resume.Waiting && v.GivesUpAt != nil && v.Owner == nil:
		what = "is still being tried"
	case w.Event == Retrying && w.total == 1:
		v.Attempt = max(v.Attempt, 1)
		what += fmt.Sprintf(" (try %s)", strings.ReplaceAll(humanize.Tries(v), "/", " of "))
	}
	if class := v.Class.Title(); class != "" && w.Event != CutOff && (needsPerson(w.Event) || w.Event == Limited) {
		what += " (" + class + ")"
	}
	if w.Event == GaveUp {
		by = "resumed" // the agent has not given up: it was not asked again
	}
	return fmt.Sprintf("%s: %s %s", about, cmp.Or(by, w.agents.of(v.Agent)), what)
}

// bodyOfOne says what happened and where; what to do comes after it. With the title that is four lines,
// as many as a desktop shows.
func (w words) bodyOfOne() string {
	v := w.Sessions[0]
	lines := []string{w.what(v), w.where(v), w.next(v)}
	return strings.Join(slices.DeleteFunc(lines, func(line string) bool { return line == "" }), "\n")
}

// what returns one line about what happened, beyond the title.
func (w words) what(v view.Session) string {
	switch {
	case w.Event == Recovered:
		return ""
	case w.Event == GaveUp && len(v.Attempts) > 0:
		return sentence(strings.TrimPrefix(sanitize.Short(withoutJSON(v.Text), 100)+"; "+w.tried(v), "; "))
	case v.Unreached != "" && v.Owner != nil:
		where, _, _ := strings.Cut(v.Unreached, ": ")
		where, _, _ = strings.Cut(where, " (process")
		return sentence(fmt.Sprintf("%s (process %d): resumed cannot type there", sanitize.Short(where, 80), v.Owner.PID))
	}
	reason := w.reason(v)
	if w.Event == Parked && !v.Class.Transient() && strings.HasSuffix(reason, v.Text) {
		reason = cmp.Or(v.Text, reason) // the title says the rest
	}
	if w.RetryCommand != "" { // it follows, and is not repeated
		reason, _, _ = strings.Cut(reason, "`resumed retry ")
		reason = strings.TrimRight(reason, ":; ")
	}
	if w.Event != Retrying { // otherwise the title contains it
		reason = strings.TrimPrefix(reason, v.Class.Title()+": ")
	}
	return sentence(sanitize.Short(withoutJSON(reason), maxWhat))
}

// where returns which session it is, on which machine, and when it was stopped.
func (w words) where(v view.Session) string {
	where := "Session " + sanitize.Short(v.Name, longestName)
	if v.Cwd != "" {
		where = sanitize.Short(v.Cwd, 120)
	}
	where += w.onHost()
	if at := v.StoppedAt; at != nil {
		where += ", stopped at " + w.clock(at) + at.Local().Format(" MST")
	}
	return where
}

func (w words) onHost() string {
	if w.Host == "" {
		return ""
	}
	return " on " + sanitize.Short(w.Host, 80)
}

// next returns what will happen without a person.
func (w words) next(v view.Session) string {
	switch {
	case w.waits(v) && v.Unreached == "" && v.NextAt != nil:
		next := "It is " + w.resumed(v) + "; you do not need to do anything"
		if v.Context != nil && v.Cold != nil && *v.Cold {
			next += ". A resume reads " + humanize.Context(*v.Context, v.Cold)
		}
		return next
	case w.Event == Silent:
		return "Only you can tell what it waits for; resumed presses no key there"
	case w.Event == Parked && asks(v):
		return "Answer it in its terminal; resumed presses no key there"
	case w.Event == Recovered && v.Attempt > 0:
		return "It took " + humanize.Count(v.Attempt, "try") + switched(v)
	case w.Event == Retrying:
		return sentence(strings.Trim(w.tried(v)+switched(v)+"; "+w.notRepeated(v), "; "))
	default:
		return ""
	}
}

// resumed says when a session that waits is resumed.
func (w words) resumed(v view.Session) string {
	if !v.NextAt.After(w.sentAt) {
		return "being resumed now"
	}
	return "resumed at " + w.clock(v.NextAt)
}

// waits reports whether the notice is about a session that was stopped and continues by itself.
func (w words) waits(v view.Session) bool {
	return w.Event == Limited || w.Event == CutOff && v.State == resume.Waiting
}

// asks reports whether the session works, and waits for an answer.
func asks(v view.Session) bool { return strings.HasPrefix(v.Reason, resume.AsksFor) }

// switched returns which model a session continues with if that is another one, or may be.
func switched(v view.Session) string {
	if len(v.Attempts) == 0 {
		return ""
	}
	switch last := v.Attempts[len(v.Attempts)-1]; {
	case last.Model != "":
		return "; it continues with " + sanitize.Short(last.Model, 80) + " (fallback_model)"
	case last.Fallback != "" && last.Outcome == "":
		return "; it may continue with " + sanitize.Short(last.Fallback, 80) + " (fallback_model)"
	default:
		return ""
	}
}

// notRepeated returns which parts of a session's start its first resume did not repeat. Later resumes
// leave out the same parts.
func (w words) notRepeated(v view.Session) string {
	if w.Event != Retrying || v.Attempt > 1 || len(v.Carried.LeftOut) == 0 {
		return ""
	}
	return "not repeated from its start: " + sanitize.Short(strings.Join(v.Carried.LeftOut, ", "), 200)
}

// tried returns when it was tried, and how the last try ended.
func (w words) tried(v view.Session) string {
	if len(v.Attempts) == 0 {
		return ""
	}
	last := v.Attempts[len(v.Attempts)-1]
	from, to := w.clock(v.Attempts[0].StartedAt), w.clock(last.StartedAt)
	tried := "tried at " + to
	if from != to {
		tried = fmt.Sprintf("tried from %s to %s", from, to)
	}
	if last.Outcome != "" {
		tried += ": " + humanize.Plain(string(last.Outcome))
	}
	if last.Error != "" {
		tried += ", " + sanitize.Short(last.Error, 80)
	}
	return tried
}

func (w words) bodyOfMany() string {
	account := resume.AccountKey{Name: w.Account, Provider: w.Provider}
	lines := []string{"Account " + sanitize.Short(account.String(), 120) + w.onHost() + ":"}
	for _, v := range w.listed() {
		lines = append(lines, listLine(v)+w.inList(v))
	}
	if more := w.total - len(w.listed()); more > 0 {
		lines = append(lines, fmt.Sprintf(andMore, more))
	}
	return strings.Join(lines, "\n")
}

const andMore = "and %d more: resumed status"

func listLine(v view.Session) string {
	return fmt.Sprintf("- %s (%s)", project(v), sanitize.Short(v.Name, longestName))
}

func (w words) inList(v view.Session) string {
	switch {
	case w.Event == GaveUp && len(v.Attempts) > 0:
		return fmt.Sprintf(": %s, last at %s", humanize.Count(v.Attempt, "try"), w.clock(v.Attempts[len(v.Attempts)-1].StartedAt))
	case (w.Event == Parked || w.Event == Silent || w.Event == CutOff && !w.waits(v)) && v.Reason != "":
		return ": " + sanitize.Short(w.reason(v), 50)
	case w.Event == Limited && v.Unreached != "":
		return ": " + sanitize.Short(v.Remedy, 120)
	case w.waits(v) && v.NextAt != nil:
		return ": " + w.resumed(v)
	case w.notRepeated(v) != "":
		return ": " + w.notRepeated(v)
	default:
		return ""
	}
}

// advice returns what to do now, and the command that continues the session then.
func (w words) advice() string {
	remedy := sentence(sanitize.Short(w.Sessions[0].Remedy, maxWhat))
	first, _, _ := strings.Cut(w.RetryCommand, "; ")
	several := w.total > 1
	switch {
	case !needsPerson(w.Event) && (w.Event != Limited || several):
		return ""
	case first == "":
		return remedy
	case remedy != "" && several:
		return remedy + ", then one by one: " + first
	case several:
		return "To try one again: " + first
	case remedy != "":
		return remedy + ", then: " + first
	case w.Event == Parked || w.Event == CutOff:
		return "To continue it: " + first
	default:
		return "To try again: " + first
	}
}

func (w words) reason(v view.Session) string {
	return humanize.Reason(v.Reason, func(t time.Time) string { return w.clock(&t) })
}

// clock formats a time for people, with the day if it is another one.
func (w words) clock(t *time.Time) string {
	if t == nil {
		return "an unknown time"
	}
	return humanize.LastingClock(*t, w.At.Local())
}

// brief cuts a text to a number of lines. The last line stays if it says what to do; otherwise it is
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

func project(v view.Session) string {
	base := filepath.Base(v.Cwd)
	if v.Cwd == "" || base == "/" || base == "." {
		id := sanitize.Short(v.ID, 40)
		return "session " + strings.TrimSuffix(sanitize.Cut(id, 9), "…")
	}
	return sanitize.Short(base, 60)
}

// Titles maps the names of agents to their full names. An agent that is not in it keeps its name.
type Titles map[string]string

func (t Titles) of(name string) string { return cmp.Or(t[name], sanitize.Short(name, 40)) }

func sentence(s string) string {
	if s == "" {
		return ""
	}
	first, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(first)) + s[size:]
}

// shellWord quotes a text for a shell if needed.
func shellWord(s string) string {
	word := sanitize.ShellWord(sanitize.Short(s, 200))
	if strings.HasPrefix(s, "-") {
		return "-- " + word
	}
	return word
}

// withoutJSON replaces JSON that some agents print by the message in it.
func withoutJSON(text string) string {
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
