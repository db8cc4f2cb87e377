package humanize

import (
	"strings"
	"time"

	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

// After says what an order has done to a session: done is what it does if nothing prevents that.
func After(s view.Session, retry bool, done string, now time.Time) string {
	phrase := StatePhrase(s, now)
	switch {
	case retry && s.State != resume.Waiting:
		done = "nothing to retry: " + notStopped(s, now)
	case retry && s.Paused:
		return "not started: it is paused, until resumed unpause " + s.Typed()
	case retry && s.Held:
		return "not started yet: " + strings.TrimPrefix(ReasonAt(Why(s), now), "due, but ")
	}
	switch {
	case strings.HasPrefix(phrase, done): // it says everything already
		return phrase
	case strings.HasSuffix(phrase, done):
		return done
	default:
		return done + "; " + phrase
	}
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
