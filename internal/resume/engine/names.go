package engine

import (
	"cmp"
	"strings"
	"unicode/utf8"

	"resumed/internal/resume"
)

// A session's name is what people see of its id and type to mean it: a
// beginning that no other session had when the name was given. It is given once
// and kept with the session, because by then it stands in a notice, on a screen
// or in somebody's memory: one that comes later and begins alike is given a
// longer name.

// compareKeys orders sessions so that those whose ids share most stand together.
func compareKeys(a, b resume.Key) int {
	return cmp.Or(strings.Compare(a.ID, b.ID), strings.Compare(a.Agent, b.Agent))
}

// nameBeside returns the shortest beginning of a session's id that is no other's, by
// those that stand beside it among all. An id that two agents use has the agent's
// name before it, and so has one that a command would take for an option.
func nameBeside(key resume.Key, beside []resume.Key) string {
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
