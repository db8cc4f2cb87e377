package desktop

import (
	"slices"
	"time"

	"resumed/internal/resume"
)

// popups are the notices that a desktop shows, as far as known. The ids of popups are valid only for
// the server that assigned them.
type popups struct {
	Server string  `json:"server"` // the bus and the connection of the server
	Shown  []popup `json:"shown"`
}

// popup is one notice on the screen.
type popup struct {
	ID   uint32    `json:"id"`
	Keys []string  `json:"keys"`        // the sessions that it is about; without sessions, its event
	At   time.Time `json:"at,omitzero"` // of the notice

	retry []resume.Key // what its button retries
}

// maxPopups bounds the stored popups; the oldest are dropped first.
const maxPopups = 200

// overtaken reports whether the screen shows later news about all keys of a new popup.
func (p *popups) overtaken(next popup) bool {
	for _, key := range next.Keys {
		later := func(shown popup) bool { return shown.At.After(next.At) && slices.Contains(shown.Keys, key) }
		if !slices.ContainsFunc(p.Shown, later) {
			return false
		}
	}
	return true
}

// without returns what is left on the screen after news about these keys, and the popups of which
// nothing is left. Popups stay if they are also about other sessions.
func (p *popups) without(keys []string) (rest []popup, covered []uint32) {
	for _, old := range p.Shown {
		old.Keys = slices.DeleteFunc(slices.Clone(old.Keys), func(k string) bool { return slices.Contains(keys, k) })
		if len(old.Keys) > 0 {
			rest = append(rest, old)
		} else {
			covered = append(covered, old.ID)
		}
	}
	return rest, covered
}
