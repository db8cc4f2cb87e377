package desktop

import (
	"encoding/json"
	"slices"
	"time"
)

// popups are the notices that a desktop shows, as far as is known. Numbers of
// popups mean something to the server that gave them alone.
type popups struct {
	Server string  `json:"server"` // the bus and the connection of the server
	Shown  []popup `json:"shown"`
}

// popup is one notice on the screen.
type popup struct {
	ID   uint32   `json:"id"`
	Keys []string `json:"keys"` // the sessions it is about

	At time.Time `json:"at,omitzero"` // of the notice
}

// overtaken reports whether later news is on the screen of everything that a notice of
// that time is about.
func (p *popups) overtaken(keys []string, at time.Time) bool {
	for _, key := range keys {
		later := func(shown popup) bool { return shown.At.After(at) && slices.Contains(shown.Keys, key) }
		if !slices.ContainsFunc(p.Shown, later) {
			return false
		}
	}
	return len(keys) > 0
}

// maxPopups bounds what is remembered; the oldest are forgotten first.
const maxPopups = 200

// decodePopups reads what was remembered. Nothing depends on it but the look
// of the screen, so what cannot be read is as good as nothing.
func decodePopups(data []byte) popups {
	var p popups
	if json.Unmarshal(data, &p) != nil {
		return popups{}
	}
	return p
}

// meet makes the popups those of a server: another one shows none of ours.
func (p *popups) meet(server string) {
	if p.Server != server {
		*p = popups{Server: server}
	}
}

// supersede takes the sessions of a new notice out of the popups that tell
// older news of them, and returns the popups that are about nothing else. One
// that still tells of other sessions stays.
func (p *popups) supersede(keys []string) []uint32 {
	var empty []uint32
	p.Shown = slices.DeleteFunc(p.Shown, func(old popup) bool {
		if !slices.ContainsFunc(old.Keys, func(k string) bool { return !slices.Contains(keys, k) }) {
			empty = append(empty, old.ID)
			return true
		}
		return false
	})
	for i, old := range p.Shown {
		left := slices.Clone(old.Keys)
		p.Shown[i].Keys = slices.DeleteFunc(left, func(k string) bool { return slices.Contains(keys, k) })
	}
	return empty
}

// show remembers a popup.
func (p *popups) show(id uint32, keys []string, at time.Time) {
	p.forget(id)
	p.Shown = append(p.Shown, popup{ID: id, Keys: keys, At: at})
	p.Shown = p.Shown[max(0, len(p.Shown)-maxPopups):]
}

// forget drops a popup that is not on the screen any more.
func (p *popups) forget(id uint32) {
	p.Shown = slices.DeleteFunc(p.Shown, func(old popup) bool { return old.ID == id })
}
