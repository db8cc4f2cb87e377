package agents

import (
	"cmp"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/limit"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

// remedies is what a person can do about each class of refusal, once waiting and trying
// did not help. It is the one table: status, notices, the page, explain and the documents
// say what stands here. {logs} is the command that prints what the resumes printed.
var remedies = map[limit.Class]func(agent.Remedies) string{
	limit.RateLimit:   always("leave the account alone for some minutes"),
	limit.UsageLimit:  always("wait until the limit lifts"),
	limit.Overloaded:  always("check whether the provider is up again"),
	limit.ServerError: always("check whether the provider is up again"),
	limit.Network:     always("check whether this machine reaches the provider"),
	limit.Timeout:     always("look at what it did last ({logs})"),
	limit.Unknown:     always("look at what it said ({logs})"),
	limit.Auth: func(h agent.Remedies) string {
		return "sign in: " + cmp.Or(h.SignIn, "open the agent and sign in there")
	},
	limit.Billing: func(h agent.Remedies) string {
		return cmp.Or(h.Pay, "buy credits or raise the spend limit at its provider")
	},
	limit.ContextOverflow: func(h agent.Remedies) string {
		if h.Shorten == "" {
			return "open it and make the conversation shorter"
		}
		return "open it and type " + h.Shorten
	},
	limit.BadRequest: always("open it and see what was refused"),
}

func always(words string) func(agent.Remedies) string {
	return func(agent.Remedies) string { return words }
}

// Remedies returns what can be done about each class, for an agent of that name.
func Remedies(name string) map[limit.Class]string {
	all := make(map[limit.Class]string)
	for class, words := range remedies {
		all[class] = words(handsOf(name))
	}
	return all
}

func handsOf(name string) agent.Remedies {
	for _, b := range builtin {
		if b.Name == name {
			return b.Remedies
		}
	}
	return agent.Remedies{} // the user's own
}

// Remedy says what a person can do now for a session that does not go on by itself. It is
// empty where nothing is to be done, and where the session's reason says all there is.
func Remedy(v view.Session) string {
	called := v.State == resume.GaveUp || v.State == resume.Parked
	words := ""
	switch {
	case v.Unreached != "" && (called || v.State == resume.Waiting):
		words = reach(v)
	case !called:
	case v.State == resume.GaveUp && failedByItself(v):
		words = "look at what it said ({logs})"
	case v.State == resume.GaveUp || !v.Class.Transient():
		if of := remedies[v.Class]; of != nil {
			words = of(handsOf(v.Agent))
		}
	}
	if words == "" {
		return "" // as of most, and there may be ten thousand
	}
	return strings.ReplaceAll(words, "{logs}", "resumed logs "+v.Typed())
}

// reach says how a session goes on whose process lives and can be given nothing. What
// helps stands in the reason, after where it is open.
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

// failedByItself reports whether the last resume did not end at the limit.
func failedByItself(v view.Session) bool {
	if len(v.Attempts) == 0 {
		return false
	}
	switch v.Attempts[len(v.Attempts)-1].Outcome {
	case resume.Failed, resume.TimedOut, resume.NoProgress:
		return true
	default:
		return false
	}
}
