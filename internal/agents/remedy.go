package agents

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"resumed/internal/lazy"
	"resumed/internal/limit"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

// Remedies returns what a person can do about each class of error when tries did not help, for the
// agent of that name. Status, notices, the page, explain and the documents all use this table. {logs}
// is the command that prints the output of the resumes.
func Remedies(name string) map[limit.Class]string {
	own := named(name).Remedies
	shorten := "make the conversation shorter"
	if own.Shorten != "" {
		shorten = "type " + own.Shorten
	}
	return map[limit.Class]string{
		limit.RateLimit:       "leave the account alone for some minutes",
		limit.UsageLimit:      "wait until the limit lifts",
		limit.Overloaded:      "check whether the provider is up again",
		limit.ServerError:     "check whether the provider is up again",
		limit.Network:         "check whether this machine reaches the provider",
		limit.Timeout:         "look at what it did last ({logs})",
		limit.Unknown:         "look at what it said ({logs})",
		limit.CutOff:          "look at what it did last ({logs})",
		limit.Auth:            "sign in: " + cmp.Or(own.SignIn, "open the agent and sign in there"),
		limit.Billing:         cmp.Or(own.Pay, "buy credits or raise the spend limit at its provider"),
		limit.ContextOverflow: "open it and " + shorten,
		limit.BadRequest:      "open it and see what was refused",
	}
}

// Remedy returns what a person can do now for a session that does not continue by itself, or "" if
// there is nothing to do, or the session's reason says it.
func Remedy(v view.Session) string {
	called := v.State == resume.GaveUp || v.State == resume.Parked
	byItself := false // the last resume failed for another reason than the limit
	if n := len(v.Attempts); n > 0 {
		byItself = slices.Contains([]resume.Outcome{resume.Failed, resume.TimedOut, resume.NoProgress}, v.Attempts[n-1].Outcome)
	}
	words := ""
	switch {
	case v.Unreached != "" && (called || v.State == resume.Waiting):
		words = reach(v)
	case v.Class == limit.UsageLimit && (v.State == resume.Waiting || v.State == resume.GaveUp) && perModel().MatchString(v.Text):
		words = switchModel(v)
	case !called || v.Needs != nil && slices.Contains([]string{string(resume.StartUnseen), string(resume.TrustNeeded)}, *v.Needs): // the reason says what helps
	case v.State == resume.GaveUp && byItself:
		words = "look at what it said ({logs})"
	case v.State == resume.GaveUp || !v.Class.Transient():
		words = Remedies(v.Agent)[v.Class]
	}
	if words == "" {
		return "" // most sessions: there may be ten thousand
	}
	return strings.ReplaceAll(words, "{logs}", "resumed logs "+v.Typed())
}

// perModel finds the model that a limit is for, if the account's other models are not limited.
var perModel = lazy.Regexp(`(?i)\b((?:opus|sonnet|haiku|fable|gemini|gpt)\b[\w.-]*(?: \d[\w.]*)?) (?:weekly |daily |quota |usage )*limit\b|` +
	`\blimit (?:reached )?for ((?:gemini|gpt)-[\w.-]*\w|[\w.-]+\. switch to another model)|\b(?:quota|capacity) on (this model)\b`)

// switchModel returns how a session continues before a limit of its model lifts.
func switchModel(v view.Session) string {
	found := perModel().FindStringSubmatch(v.Text)
	model, _, _ := strings.Cut(cmp.Or(found[1], found[2], found[3]), ". ")
	command := cmp.Or(named(v.Agent).Remedies.Switch, "the command for another model")
	if command == "/model" && strings.EqualFold(model, "opus") {
		command += " sonnet"
	}
	return fmt.Sprintf("the limit is for %s alone: to continue now, open it and type %s", model, command)
}

// reach returns how to continue a session with a running process that cannot be reached. The advice is in
// the reason, after the place where the session is open.
func reach(v view.Session) string {
	_, helps, _ := strings.Cut(v.Unreached, ": ")
	helps, _, said := strings.Cut(helps, "; resumed cannot type")
	if !said {
		helps = "continue there"
	}
	if _, next, found := strings.Cut(v.Unreached, "; next time "); found {
		helps += "; next time " + strings.ReplaceAll(next, "`", "")
	}
	return helps
}
