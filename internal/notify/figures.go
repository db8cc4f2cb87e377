package notify

import (
	"cmp"
	"slices"
)

// Figures are what status and metrics show of one channel.
type Figures struct {
	Name      string `json:"name"`
	Pending   int    `json:"pending"`   // deliveries that have not ended
	Delivered int    `json:"delivered"` // since the start
	Failed    int    `json:"failed"`    // since the start: refused, dropped or unavailable
	LastError string `json:"last_error,omitempty"`
}

// Figures returns the figures of every channel, by name.
func (n *Notifier) Figures() []Figures {
	n.mu.Lock()
	lanes := n.lanes
	n.mu.Unlock()
	all := make([]Figures, 0, len(lanes))
	for _, l := range lanes {
		l.mu.Lock()
		f := l.figures
		for _, it := range l.queue {
			if it.outcome == "" {
				f.Pending++
			}
		}
		l.mu.Unlock()
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b Figures) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// Pending returns how many deliveries have not ended.
func (n *Notifier) Pending() int {
	total := 0
	for _, f := range n.Figures() {
		total += f.Pending
	}
	return total
}
