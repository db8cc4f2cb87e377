package view

import (
	"slices"

	"resumed/internal/control"
	"resumed/internal/resume"
)

// board is what is known from the updates so far. There may be ten thousand
// sessions: an update costs what it changes.
type board struct {
	status control.Status // without its sessions
	rows   map[resume.Key]*row
	states [resume.Parked + 1]int // how many sessions are in each
}

// apply takes in an update and returns the rows that it brought.
func (b *board) apply(u control.Update) []*row {
	b.status = u.Status
	b.status.Sessions = nil
	strangers := u.Whole || len(u.Gone) > 0
	if u.Whole || b.rows == nil {
		b.rows = make(map[resume.Key]*row, len(u.Sessions))
	}
	for _, key := range u.Gone {
		delete(b.rows, key)
	}
	changed := make([]*row, 0, len(u.Sessions))
	for _, s := range u.Sessions {
		r := newRow(s)
		if old := b.rows[s.Key()]; old != nil {
			r.named(old.name)
		} else {
			strangers = true
		}
		b.rows[s.Key()] = r
		changed = append(changed, r)
	}
	if strangers {
		b.rename()
	}
	b.states = [resume.Parked + 1]int{}
	for _, r := range b.rows {
		b.states[r.view.State]++
	}
	slices.SortFunc(changed, byUrgency)
	return changed
}

// rename gives every session its short name anew: a new one may share the
// beginning of its id with another.
func (b *board) rename() {
	all := make([]resume.View, 0, len(b.rows))
	for _, r := range b.rows {
		all = append(all, r.view)
	}
	for key, name := range control.ShortNames(all) {
		b.rows[key].named(name)
	}
}

// sorted returns all rows in the order they are shown.
func (b *board) sorted() []*row {
	rows := make([]*row, 0, len(b.rows))
	for _, r := range b.rows {
		rows = append(rows, r)
	}
	slices.SortFunc(rows, byUrgency)
	return rows
}
