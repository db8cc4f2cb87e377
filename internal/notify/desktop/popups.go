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

// covered returns the popups that have no keys besides those of a new one.
func (p *popups) covered(next popup) []uint32 {
	var ids []uint32
	for _, old := range p.Shown {
		if !slices.ContainsFunc(old.Keys, func(k string) bool { return !slices.Contains(next.Keys, k) }) {
			ids = append(ids, old.ID)
		}
	}
	return ids
}

// add adds a popup. Older popups stay if they are also about other sessions.
func (p *popups) add(next popup) {
	var shown []popup
	for _, old := range p.Shown {
		old.Keys = slices.DeleteFunc(slices.Clone(old.Keys), func(k string) bool { return slices.Contains(next.Keys, k) })
		if old.ID != next.ID && len(old.Keys) > 0 {
			shown = append(shown, old)
		}
	}
	shown = append(shown, next)
	p.Shown = shown[max(0, len(shown)-maxPopups):]
}

func (p *popups) index(id uint32) int {
	return slices.IndexFunc(p.Shown, func(shown popup) bool { return shown.ID == id })
}
