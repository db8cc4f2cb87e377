package view

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"resumed/internal/resume"
)

// Typed is how a printed command names the session.
func (v Session) Typed() string { return resume.Typed(v.Key(), v.Name) }

// ErrAmbiguous is a name that fits several sessions.
var ErrAmbiguous = errors.New("several sessions fit")

type ambiguous string

func (a ambiguous) Error() string        { return string(a) }
func (a ambiguous) Is(target error) bool { return target == ErrAmbiguous }

// Find returns the session that a person means: by its id, a prefix of that, the name that is printed
// for it, or its project, which is the last part of its directory. If a text fits several, it means the
// one with exactly that name, otherwise the only interrupted one. An agent's name may come before an
// id: "claude-code/4f2a".
func Find(sessions []Session, text string) (Session, error) {
	var several []Session
	for _, fits := range []func(Session, string) bool{isID, beginsID, isProject} {
		var found []Session
		for _, s := range sessions {
			if fits(s, text) {
				found = append(found, s)
			}
		}
		if s, ok := meant(found, text); ok {
			return s, nil
		}
		if several == nil {
			several = found
		}
	}
	if len(several) == 0 {
		return Session{}, fmt.Errorf("%q: %w", text, resume.ErrNoSession)
	}
	const most = 4
	var names []string
	for _, s := range several {
		names = append(names, s.Key().String())
	}
	slices.Sort(names)
	more := ""
	if len(names) > most {
		names, more = names[:most], ", …"
	}
	return Session{}, ambiguous(fmt.Sprintf("%q fits %d sessions: %s%s", text, len(several), strings.Join(names, ", "), more))
}

// meant returns which of the fitting sessions is meant, if that is clear. A name that is the whole id
// does not decide, because sessions of two agents may have the same id.
func meant(fitting []Session, text string) (Session, bool) {
	only := func(which func(Session) bool) (Session, bool) {
		found := slices.DeleteFunc(slices.Clone(fitting), func(s Session) bool { return !which(s) })
		if len(found) != 1 {
			return Session{}, false
		}
		return found[0], true
	}
	if s, ok := only(func(Session) bool { return true }); ok {
		return s, true
	}
	if s, ok := only(func(s Session) bool { return s.Name == text && s.ID != text }); ok {
		return s, true
	}
	return only(Session.Interrupted)
}

func isID(s Session, text string) bool { return s.ID == text || s.Key().String() == text }

func beginsID(s Session, text string) bool {
	return text != "" && strings.HasPrefix(s.ID, text) ||
		strings.Contains(text, "/") && strings.HasPrefix(s.Key().String(), text)
}

func isProject(s Session, text string) bool { return s.Cwd != "" && filepath.Base(s.Cwd) == text }
