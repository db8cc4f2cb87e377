package resume

import (
	"cmp"
	"slices"
)

// StartedWith returns what the process was started with that took the session's
// last prompt; nil: nobody saw it. One that was seen before that prompt and not
// after it may have been followed by another, with other arguments.
func (s Session) StartedWith() *Origin {
	if s.Origin == nil || s.Origin.SeenAt.Before(s.PromptedAt) {
		return nil
	}
	return s.Origin
}

// Shown returns a command line that continues the session as people may see it:
// without the secrets that are kept of its start.
func (s Session) Shown(argv []string) []string {
	if s.Origin == nil || s.Origin.Shown == nil {
		return argv
	}
	shown, kept := slices.Clone(argv), slices.Concat(s.Origin.Through, s.Origin.Args)
	for i, arg := range argv {
		if at := slices.Index(kept, arg); at >= 0 && at < len(s.Origin.Shown) {
			shown[i] = s.Origin.Shown[at]
		}
	}
	return shown
}

// missedBy reports whether a process began too late to have taken the session's
// last prompt: it was only opened to look at the session, or holds another one of
// the same directory.
func (s Session) missedBy(o Origin) bool {
	prompted := cmp.Or(s.PromptedAt, s.LimitedAt) // there was one before that
	return !prompted.IsZero() && o.BeganAt.After(prompted.Add(slack))
}

// Attended returns the session with what was told of its kind. One that a
// person ever sat before stays theirs, whatever continued it since.
func (s Session) Attended(kind string) Session {
	if kind != "" && s.Kind != Interactive {
		s.Kind = kind
	}
	return s
}
