package control

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"resumed/internal/resume"
)

// ShortNames returns for each session the shortest beginning of its id, of
// four characters at least, that Resolve finds it by among these sessions. An
// id that two agents use has the agent's name before it.
func ShortNames(sessions []resume.View) map[resume.Key]string {
	keys := make([]resume.Key, len(sessions))
	for i, s := range sessions {
		keys[i] = s.Key()
	}
	// Sorted, the ids that share most with an id stand beside it.
	slices.SortFunc(keys, func(a, b resume.Key) int {
		return cmp.Or(strings.Compare(a.ID, b.ID), strings.Compare(a.Agent, b.Agent))
	})
	names := make(map[resume.Key]string, len(keys))
	for i, key := range keys {
		shared := 0
		for _, neighbour := range []int{i - 1, i + 1} {
			if neighbour >= 0 && neighbour < len(keys) {
				shared = max(shared, common(key.ID, keys[neighbour].ID))
			}
		}
		twin := i > 0 && keys[i-1].ID == key.ID || i+1 < len(keys) && keys[i+1].ID == key.ID
		names[key] = beginning(key.ID, max(shared+1, Shortest(key.ID)))
		if twin {
			names[key] = key.String()
		}
	}
	return names
}

// common returns how many bytes a and b begin with alike.
func common(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// beginning returns the first n bytes of s, and the rest of a character that
// would be cut.
func beginning(s string, n int) string {
	for n < len(s) && !utf8.RuneStart(s[n]) {
		n++
	}
	return s[:min(n, len(s))]
}

// Shortest returns how many characters of an id are shown at least: four,
// after a prefix that all ids of an agent share, such as "ses_".
func Shortest(id string) int {
	prefix := strings.IndexByte(id[:min(8, len(id))], '_') + 1
	return min(prefix+4, len(id))
}
