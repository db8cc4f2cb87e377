package notify

import (
	"strings"

	"resumed/internal/resume/view"
	"resumed/internal/sanitize"
)

// maxViewAttempts is how many attempts of a session a notice contains, the last ones.
const maxViewAttempts = 50

// trimView bounds the size of one session in a notice and sanitizes texts that others wrote.
func trimView(v view.Session) view.Session {
	v.Reason = sanitize.Short(v.Reason, 500)
	v.Started.Argv, v.Plan = []string{}, nil // what people told their agents stays on this machine
	v.Carried.LeftOut = notCarried(v.Carried.LeftOut)
	v.Attempts = append([]view.Attempt{}, v.Attempts[max(0, len(v.Attempts)-maxViewAttempts):]...)
	for i := range v.Attempts {
		v.Attempts[i].Error = sanitize.Short(v.Attempts[i].Error, 300)
	}
	return v
}

// notCarried returns the names of what a resume did not repeat, without the values of flags and without
// reasons.
func notCarried(leftOut []string) []string {
	names := make([]string, 0, len(leftOut))
	for _, words := range leftOut {
		what, _, _ := strings.Cut(words, ": ")
		if strings.HasPrefix(what, "-") {
			what = strings.FieldsFunc(what, func(r rune) bool { return r == ' ' || r == '=' })[0]
		}
		names = append(names, sanitize.Short(what, 80))
	}
	return names
}
