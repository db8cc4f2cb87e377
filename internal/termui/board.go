package termui

import (
	"maps"
	"slices"

	"resumed/internal/control"
	"resumed/internal/resume"
)

// board is the state after all updates so far. There may be ten thousand sessions: those that are not
// in an update are not rebuilt.
type board struct {
	status control.Status // without its sessions
	rows   map[resume.Key]*row
	order  []*row                 // the same, in the order in which they are shown
	states [resume.Parked + 1]int // how many sessions are in each
}

// apply applies an update and returns the rows in it, in the order in which they are shown.
func (b *board) apply(u control.Update) []*row {
	b.status = u.Status
	b.status.Sessions = nil
	if u.Whole || b.rows == nil {
		b.rows = make(map[resume.Key]*row, len(u.Sessions))
	}
	for _, key := range u.Gone {
		delete(b.rows, key)
	}
	changed := make([]*row, 0, len(u.Sessions))
	for _, s := range u.Sessions {
		r := newRow(s)
		b.rows[s.Key()] = r
		changed = append(changed, r)
	}
	slices.SortFunc(changed, byUrgency)
	b.order = slices.SortedFunc(maps.Values(b.rows), byUrgency)
	b.states = [resume.Parked + 1]int{}
	for _, r := range b.order {
		b.states[r.view.State]++
	}
	return changed
}
