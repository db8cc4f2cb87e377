package agent

import (
	"slices"
	"strings"

	"resumed/internal/resume"
)

// Identified is an Agent that can tell whose allowance its sessions use, by what stands in
// its own files or in a key.
type Identified interface {
	// Identity returns what is the same wherever that account is used, for a run with
	// that environment; empty: nobody knows. It may be a secret: it must not leave the
	// host as it is.
	Identity(s resume.Session, environ []string) string
}

// Identity tells by the first key that is set, else by who is signed in at the session's
// home. A session that was seen to run in another's name is nobody's.
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
		if who := tells(variable); who != "" {
			return "login " + who
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
