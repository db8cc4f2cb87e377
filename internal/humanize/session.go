package humanize

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"resumed/internal/lazy"
	"resumed/internal/limit"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
	"resumed/internal/sanitize"
)

// Tone is the meaning of a word; the terminal and the page have a colour for each.
type Tone string

// The tones.
const (
	Bad   Tone = "bad"   // a person is needed
	Wait  Tone = "wait"  // it continues by itself, later
	Busy  Tone = "busy"  // it is being tried
	Good  Tone = "good"  // it works
	Still Tone = "still" // a person has paused it
)

// State returns one word for the state of a session, and its tone.
func State(s view.Session) (string, Tone) {
	switch {
	case s.State == resume.GaveUp, s.State == resume.Parked:
		return Plain(s.State.String()), Bad
	case s.Paused:
		return "paused", Still
	case s.State == resume.Waiting:
		return "waiting", Wait
	case s.State == resume.Resuming, s.State == resume.Settling:
		return s.State.String(), Busy
	default:
		return s.State.String(), Good
	}
}

// Need is what a session needs, from the most to the least urgent.
type Need int

// The needs.
const (
	You     Need = iota // it does not continue without a person
	Trying              // it is being resumed
	Time                // it continues by itself
	Unpause             // a person has paused it
	Nothing             // it works again
)

// Needs returns what a session needs. If its owner cannot be given a prompt, it needs a person, even if
// it still waits for a time; so does one that asks for something while it works.
func Needs(s view.Session) Need {
	switch _, tone := State(s); {
	case tone == Bad, tone == Wait && s.Unreached != "", s.Needs != nil && tone != Still:
		return You
	case tone == Busy:
		return Trying
	case tone == Wait:
		return Time
	case tone == Still:
		return Unpause
	default:
		return Nothing
	}
}

// Cause returns in few words why a session is stopped, the same for all sessions with the same cause;
// empty: it is not stopped.
func Cause(s view.Session) string {
	switch need := need(s); {
	case need != "":
		return need
	case s.State == resume.Watching:
		return ""
	case s.State == resume.Waiting && s.Unreached != "":
		return "cannot be reached"
	case s.Why == resume.WhyAsks:
		return "waits for an answer"
	case s.Why == resume.WhySilent:
		return "silent"
	case s.Class == limit.None:
		return "asked for by you"
	default:
		return s.Class.Title()
	}
}

// asked has the words for what a person is asked for: the cause, if it says more than the class of the
// limit, and a phrase that follows the session's name. What is not listed is shown as it is named.
var asked = map[string]struct{ cause, phrase string }{
	"permission":   {"asks for a permission", "asks for a permission"},
	"answer":       {"waits for an answer", "asks you something"},
	"start_unseen": {"start not seen", "needs your word: its start was not seen"},
	"program":      {"a program of its project", "needs your word: a program of its project would continue it"},
	"sign_in":      {"", "needs you to sign in"},
	"billing":      {"", "needs credits or a higher limit"},
	"retry":        {"", "needs your retry"},
}

// need returns in few words what a person is asked for; empty: nothing, or what the class says.
func need(s view.Session) string {
	if s.Needs == nil {
		return ""
	}
	if words, known := asked[*s.Needs]; known {
		return words.cause
	}
	return Plain(sanitize.Line(*s.Needs))
}

// Heading returns what sessions have in common that need the same for the same cause, as the title of a
// list of them.
func Heading(s view.Session) string {
	state, _ := State(s)
	words := [...]string{You: state, Trying: "being resumed", Time: "waiting", Unpause: "paused by you", Nothing: "not stopped"}[Needs(s)]
	if again := s.State == resume.Watching && s.Needs == nil && WorksAgain(s); again {
		words = "works again"
	}
	if cause := Cause(s); cause != "" && (Needs(s) == You || Needs(s) == Time) {
		words += ": " + cause
	}
	return strings.ToUpper(words[:1]) + words[1:]
}

// WorksAgain reports whether a session moved by itself, or by a resume, after it was stopped.
func WorksAgain(s view.Session) bool {
	return s.Why == resume.WhyWorksAgain || s.Why == resume.WhyWentOn || s.Why == resume.WhyAnswered
}

// Asked returns what a person is asked for; a word that this table does not have is shown as it is.
func Asked(s view.Session) string {
	switch {
	case s.Needs == nil || *s.Needs == "":
		return ""
	case asked[*s.Needs].phrase != "":
		return asked[*s.Needs].phrase
	default:
		return "needs " + Plain(sanitize.Line(*s.Needs))
	}
}

// Ended returns how a session that is not stopped any more came out of its interruption, and the tone
// of that.
func Ended(s view.Session) (string, Tone) {
	switch {
	case WorksAgain(s), s.Why == resume.WhyContinued:
		return "back at work", Good
	case s.Why == resume.WhyCancelled:
		return "cancelled", Still
	default:
		return "not stopped", Still
	}
}

// command matches a command for a person in a reason or a remedy.
var command = lazy.Regexp("`([^`]+)`|\\b(resumed (?:logs|retry|unpause|open) [^\\s();,]+)")

// CommandIn returns the first command that is quoted in the texts; empty: there is none.
func CommandIn(texts ...string) string {
	for _, text := range texts {
		if found := command().FindStringSubmatch(text); found != nil {
			return found[1] + found[2]
		}
	}
	return ""
}

// Urgency ranks states, the most urgent with the lowest number: first what needs a person, then what
// happens next.
func Urgency(s resume.State) int { return urgency[s] }

var urgency = [...]int{
	resume.GaveUp: 0, resume.Parked: 1, resume.Resuming: 2, resume.Settling: 3, resume.Waiting: 4, resume.Watching: 5,
}

// Countdown returns when a waiting session continues; empty for others.
func Countdown(s view.Session, now time.Time) string {
	if s.State != resume.Waiting || s.NextAt == nil {
		return ""
	}
	return until(*s.NextAt, now, Late(s))
}

// Late returns the words for a session that is not resumed although its time is over.
func Late(s view.Session) string {
	if s.Held {
		return "held back"
	}
	return dueNow
}

// Why returns the reason for the state of a session, with its time stamps: for which other session it
// waits, if it does.
func Why(s view.Session) string {
	if p := s.WaitsFor; p != nil {
		return fmt.Sprintf("waits for %s, which tries alone since %s, until %s at the latest", sanitize.Line(p.Name), stampOf(p.Since), stampOf(p.Until))
	}
	return s.Reason
}

// StatePhrase returns the state of a session in one phrase: "waiting, in 1h 47m, 15:00".
func StatePhrase(s view.Session, now time.Time) string {
	word, _ := State(s)
	when := Countdown(s, now)
	switch {
	case when == "":
		return word
	case s.Paused && strings.HasPrefix(when, "in "):
		return word + "; its wait ends " + when
	default:
		return word + ", " + when
	}
}

// Account returns one word for the state of a shared limit, by the state of its breaker.
func Account(state string) (string, Tone) {
	switch state {
	case "closed":
		return "free", Good
	case "half_open":
		return "one session tries", Busy
	default:
		return "limited", Wait
	}
}

// Project returns the name of the session's directory.
func Project(s view.Session) string {
	if s.Cwd == "" {
		return "?"
	}
	return sanitize.Line(filepath.Base(s.Cwd))
}

// Called returns the words by which people know a session: "4f2a (api)". Commands accept the first one.
func Called(s view.Session) string {
	name := sanitize.Line(s.Name)
	if project := Project(s); project != "?" && project != name {
		name += " (" + project + ")"
	}
	return name
}

// Owner returns the process that has a session open, "pid 17" or "pid 17 in %3"; empty if there is
// none.
func Owner(s view.Session) string {
	if s.Owner == nil {
		return ""
	}
	words := "pid " + strconv.Itoa(s.Owner.PID)
	if s.Owner.Tmux != "" {
		words += " in " + sanitize.Line(s.Owner.Tmux)
	}
	return words
}

// Tries returns how many resumes a session has had, and the maximum if there is one.
func Tries(s view.Session) string {
	if s.MaxRetries == 0 {
		return strconv.Itoa(s.Attempt)
	}
	return fmt.Sprintf("%d/%d", s.Attempt, max(s.MaxRetries, s.Attempt)) // more if the number was lowered since
}

// Outcome returns how a resume ended, or that it is running.
func Outcome(o resume.Outcome) string { return Plain(cmp.Or(string(o), "running")) }

// OutcomeTone returns the tone of an outcome.
func OutcomeTone(o resume.Outcome) Tone {
	switch o {
	case "", resume.Delivered:
		return Busy
	case resume.Recovered:
		return Good
	case resume.LimitedOut, resume.DaemonStopped:
		return Wait
	default:
		return Bad
	}
}

// Attempt returns how long a resume waited, and how it ended.
func Attempt(a view.Attempt) string {
	words := "waited " + Span(time.Duration(a.DelaySeconds*float64(time.Second))) + "; " + Outcome(a.Outcome)
	if a.StartedAt == nil || a.EndedAt == nil {
		return words
	}
	took := a.EndedAt.Sub(*a.StartedAt)
	if took < time.Second {
		return words + " at once"
	}
	return words + " after " + Span(took)
}

// Context returns how much a resume has to read again; empty: not known.
func Context(tokens int64, cold *bool) string {
	if tokens <= 0 {
		return ""
	}
	words := "about " + number(tokens) + " tokens"
	switch {
	case cold == nil:
	case *cold:
		words += ", read again: the provider no longer has them in its cache"
	default:
		words += ", which the provider still has in its cache"
	}
	return words
}

// number groups the digits of a large number.
func number(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + " " + text[i:]
	}
	return text
}

// After says what an order has done to a session: done is what it does if nothing prevents that.
func After(s view.Session, retry bool, done string, now time.Time) string {
	phrase := StatePhrase(s, now)
	switch {
	case retry && s.State != resume.Waiting:
		done = "nothing to retry: " + notStopped(s, now)
	case retry && s.Paused:
		return "not started: it is paused, until resumed unpause " + s.Typed()
	case retry && s.Held:
		return cmp.Or(ReasonAt(Why(s), now), "not started yet: its machine does not share why")
	}
	switch {
	case retry && s.NextAt != nil && s.NextAt.Sub(now) > time.Minute: // only its user's word was missing
		return "may continue: " + phrase
	case strings.HasPrefix(phrase, done): // it says everything already
		return phrase
	case strings.HasSuffix(phrase, done):
		return done
	default:
		return done + "; " + phrase
	}
}

// StillPaused says that the end of the pause of everything leaves some sessions or tasks paused.
func StillPaused(n int) string {
	return fmt.Sprintf("%d %s paused, by name or class: resumed unpause --all", n, Verb(n, "stays", "stay"))
}

// notStopped returns why a session cannot be retried.
func notStopped(s view.Session, now time.Time) string {
	reason := ReasonAt(s.Reason, now)
	switch {
	case s.State == resume.Resuming || s.State == resume.Settling:
		return "it is being resumed already"
	case s.State == resume.Watching && (reason == "" || WorksAgain(s)):
		return "it is not stopped"
	default:
		return reason
	}
}
