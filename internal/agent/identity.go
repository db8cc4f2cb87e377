package agent

import (
	"slices"
	"strings"

	"resumed/internal/resume"
)

// Identity returns a text that is the same wherever the account of the session is used, for a
// run with that environment; empty: it is not known. The first key that is set tells, else the
// login of the session's home. A session that was seen to run with another login has none. The text may
// be a secret: it must not leave the host as it is.
func (t *Transcripts) Identity(s resume.Session, environ []string) string {
	if t.Elsewhere != nil {
		if home := t.Elsewhere(t.Homes.Of(s.Transcript)); home != "" {
			environ = append(slices.Clip(environ), home)
		}
	}
	if o := s.Origin; o != nil && o.EnvSeen && o.Login != "" && t.Login(environ, o.Salt) != o.Login {
		return ""
	}
	variable := variables(environ)
	for _, name := range t.about.Keys {
		if key := variable(name); key != "" {
			return "key " + key
		}
	}
	for _, tells := range []func(func(string) string) string{t.about.Login, t.about.Account} {
		if tells == nil {
			continue
		}
		if login := tells(variable); login != "" {
			return "login " + login
		}
	}
	return ""
}

// variables returns what an environment says of a name: the last word counts.
func variables(environ []string) func(name string) string {
	return func(name string) string {
		for _, entry := range slices.Backward(environ) {
			if value, ok := strings.CutPrefix(entry, name+"="); ok {
				return value
			}
		}
		return ""
	}
}
