package resume

import (
	"cmp"
	"slices"
)

// StartedWith returns what the process was started with that received the session's last prompt; nil:
// not known. A process that was last seen before that prompt may have been replaced by another, with
// other arguments.
func (s Session) StartedWith() *Origin {
	if s.Origin == nil || s.Origin.SeenAt.Before(s.PromptedAt) {
		return nil
	}
	return s.Origin
}

// MayBeOf reports whether the session may be of that process. A process that started too late to have received the
// session's last prompt was only opened to read the session, or holds another session of the same directory. There was a
// prompt before the limit. Of two processes, one in a sandbox and one outside of it, the one that was seen first has the
// session: the agent may have started the other, or a person for another session.
func (s Session) MayBeOf(o Origin) bool {
	prompted, had := cmp.Or(s.PromptedAt, s.LimitedAt), s.StartedWith()
	if !prompted.IsZero() && o.BeganAt.After(prompted.Add(slack)) {
		return false
	}
	return had == nil || had.Process == o.Process || (had.Sandbox == "") == (o.Sandbox == "")
}

// Program returns the program of the process that it was started with; zero: not known.
func (s Session) Program() Program {
	if o := s.StartedWith(); o != nil {
		return o.Program
	}
	return Program{}
}

// parkForWord parks a session until its user's word: about its start, in what it would continue, or about programs.
func (s Session) parkForWord(why, programs string, offers Permission) Session {
	if programs != "" {
		s = s.park(inWordsOf(WhyProjectProgram, why))
		s.Needs, s.Shows = TrustNeeded, programs
		return s
	}
	s = s.park(inWordsOf(WhyStartNotSeen, why))
	s.Needs, s.Offered = StartUnseen, &offers
	return s
}

// Shown returns a command line that continues the session, without the secrets that are stored in its
// origin, for people.
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
