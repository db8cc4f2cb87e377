package termui

import (
	"slices"

	"resumed/internal/control"
	"resumed/internal/resume"
)

// board is the state after all updates so far. There may be ten thousand sessions: those that are not
// in an update are neither rebuilt nor sorted again.
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
		b.order = nil
	}
	for _, key := range u.Gone {
		b.drop(key)
	}
	changed := make([]*row, 0, len(u.Sessions))
	for _, s := range u.Sessions {
		r := newRow(s)
		b.drop(s.Key())
		b.rows[s.Key()] = r
		changed = append(changed, r)
	}
	slices.SortFunc(changed, byUrgency)
	b.order = slices.DeleteFunc(b.order, func(r *row) bool { return r.dropped })
	b.order = merge(b.order, changed)
	b.states = [resume.Parked + 1]int{}
	for _, r := range b.order {
		b.states[r.view.State]++
	}
	return changed
}

// drop removes a session from the board.
func (b *board) drop(key resume.Key) {
	if r := b.rows[key]; r != nil {
		r.dropped = true
		delete(b.rows, key)
	}
}

// merge joins two sorted lists.
func merge(a, b []*row) []*row {
	all := make([]*row, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if byUrgency(a[0], b[0]) <= 0 {
			all, a = append(all, a[0]), a[1:]
		} else {
			all, b = append(all, b[0]), b[1:]
		}
	}
	return append(append(all, a...), b...)
}
