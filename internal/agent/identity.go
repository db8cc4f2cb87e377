package agent

import (
	"slices"
	"strings"

	"resumed/internal/resume"
)

// Identity returns a text that identifies the session's account on every machine, for a run with
// that environment; empty: not known. It is the first key that is set, else the login of the
// session's home. A session that was seen to run with another login has none. The text may be a
// secret: it must not leave the host unhashed.
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

// variables returns a lookup in an environment: the last entry of a name counts.
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
