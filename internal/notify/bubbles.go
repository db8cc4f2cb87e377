package notify

import (
	"encoding/json"
	"slices"
)

// bubbles are the notices that a desktop shows, as far as is known. Numbers of
// bubbles mean something to the server that gave them alone.
type bubbles struct {
	Server string   `json:"server"` // the bus and the connection of the server
	Shown  []bubble `json:"shown"`
}

// bubble is one notice on the screen.
type bubble struct {
	ID   uint32   `json:"id"`
	Keys []string `json:"keys"` // the sessions it is about
}

// maxBubbles bounds what is remembered; the oldest are forgotten first.
const maxBubbles = 200

// decodeBubbles reads what was remembered. Nothing depends on it but the look
// of the screen, so what cannot be read is as good as nothing.
func decodeBubbles(data []byte) bubbles {
	var b bubbles
	if json.Unmarshal(data, &b) != nil {
		return bubbles{}
	}
	return b
}

// meet makes the bubbles those of a server: another one shows none of ours.
func (b *bubbles) meet(server string) {
	if b.Server != server {
		*b = bubbles{Server: server}
	}
}

// supersede takes the sessions of a new notice out of the bubbles that tell
// older news of them, and returns the bubbles that are about nothing else. One
// that still tells of other sessions stays.
func (b *bubbles) supersede(keys []string) []uint32 {
	var empty []uint32
	b.Shown = slices.DeleteFunc(b.Shown, func(old bubble) bool {
		if !slices.ContainsFunc(old.Keys, func(k string) bool { return !slices.Contains(keys, k) }) {
			empty = append(empty, old.ID)
			return true
		}
		return false
	})
	for i, old := range b.Shown {
		left := slices.Clone(old.Keys)
		b.Shown[i].Keys = slices.DeleteFunc(left, func(k string) bool { return slices.Contains(keys, k) })
	}
	return empty
}

// show remembers a bubble.
func (b *bubbles) show(id uint32, keys []string) {
	b.forget(id)
	b.Shown = append(b.Shown, bubble{ID: id, Keys: keys})
	b.Shown = b.Shown[max(0, len(b.Shown)-maxBubbles):]
}

// forget drops a bubble that is not on the screen any more.
func (b *bubbles) forget(id uint32) {
	b.Shown = slices.DeleteFunc(b.Shown, func(old bubble) bool { return old.ID == id })
}
