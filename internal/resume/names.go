package resume

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// A session's name is what people see of its id and type to mean it: a
// beginning that no other session had when the name was given. It is given once
// and kept with the session, because by then it stands in a notice, on a screen
// or in somebody's memory: one that comes later and begins alike is given a
// longer name.

// compareNames orders sessions so that those whose ids share most stand together.
func compareNames(a, b Key) int {
	return cmp.Or(strings.Compare(a.ID, b.ID), strings.Compare(a.Agent, b.Agent))
}

// nameBeside returns the shortest beginning of a session's id that is no other's, by
// those that stand beside it among all. An id that two agents use has the agent's
// name before it, and so has one that a command would take for an option.
func nameBeside(key Key, beside []Key) string {
	length := shortest(key.ID)
	for _, other := range beside {
		if other.ID == key.ID {
			return key.String()
		}
		length = max(length, common(key.ID, other.ID)+1)
	}
	if strings.HasPrefix(key.ID, "-") {
		return key.String()
	}
	for length < len(key.ID) && (!utf8.RuneStart(key.ID[length]) || key.ID[length-1] == '-') {
		length++
	}
	return key.ID[:min(length, len(key.ID))]
}

// common returns how many bytes a and b begin with alike.
func common(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// shortest returns how many bytes of an id a name has at least: four, after a
// prefix that all ids of an agent share, such as "ses_". An id that begins with
// the time (a UUID of version 7) begins for weeks as all others do: of it the
// whole time is taken, so that none of a later day begins alike.
func shortest(id string) int {
	const uuid, time = len("01990000-0000-7000-8000-000000000000"), len("01990000-0000")
	if len(id) == uuid && id[8] == '-' && id[time:time+2] == "-7" {
		return time
	}
	prefix := strings.IndexByte(id[:min(8, len(id))], '_') + 1
	return min(prefix+4, len(id))
}

// typed is what a command that is printed calls a session: its whole id, which means it
// for ever and on every machine, with the agent before it where its name needs that.
func typed(key Key, name string) string {
	if name == key.String() {
		return name
	}
	return key.ID
}

// Typed is what a command that is printed calls the session.
func (v View) Typed() string { return typed(v.Key(), v.Name) }

// AmbiguousError is a name that fits several sessions.
type AmbiguousError struct {
	Name     string
	Sessions []string
}

func (e *AmbiguousError) Error() string {
	const most = 4
	shown, more := e.Sessions, ""
	if len(shown) > most {
		shown, more = shown[:most], ", …"
	}
	return fmt.Sprintf("%q fits %d sessions: %s%s", e.Name, len(e.Sessions), strings.Join(shown, ", "), more)
}

// Find returns the one of all known sessions that a person means: by its id, by
// a beginning of that, by the name that is printed for it, or by its project,
// which is the last part of its directory. What fits several means the one that
// has that very name, else the only one of them that is interrupted. An agent's
// name may stand before an id: "claude-code/4f2a".
func Find(sessions []View, text string) (View, error) {
	var several []View
	for _, fits := range []func(View, string) bool{isID, beginsID, isProject} {
		var found []View
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
		return View{}, fmt.Errorf("%q: %w", text, ErrNoSession)
	}
	ambiguous := &AmbiguousError{Name: text}
	for _, s := range several {
		ambiguous.Sessions = append(ambiguous.Sessions, s.Key().String())
	}
	slices.Sort(ambiguous.Sessions)
	return View{}, ambiguous
}

// meant returns which of the sessions that a text fits is meant, if that can be
// told. That one of two agents' sessions with one id is called by it does not.
func meant(fitting []View, text string) (View, bool) {
	only := func(which func(View) bool) (View, bool) {
		found := slices.DeleteFunc(slices.Clone(fitting), func(s View) bool { return !which(s) })
		if len(found) != 1 {
			return View{}, false
		}
		return found[0], true
	}
	if s, ok := only(func(View) bool { return true }); ok {
		return s, true
	}
	if s, ok := only(func(s View) bool { return s.Name == text && s.ID != text }); ok {
		return s, true
	}
	return only(View.Interrupted)
}

func isID(s View, text string) bool { return s.ID == text || s.Key().String() == text }

func beginsID(s View, text string) bool {
	return text != "" && strings.HasPrefix(s.ID, text) ||
		strings.Contains(text, "/") && strings.HasPrefix(s.Key().String(), text)
}

func isProject(s View, text string) bool { return s.Cwd != "" && filepath.Base(s.Cwd) == text }
