package app

import (
	"context"
	"log/slog"
	"time"

	"resumed/internal/control"
	"resumed/internal/notify"
	"resumed/internal/resume"
)

// journal fans out what happened to disk, log, people and those who watch. It runs in the
// engine's goroutine and blocks on nothing.
type journal struct {
	d     *daemon
	names names
	held  reasons
}

func newJournal(d *daemon) journal { return journal{d: d, names: make(names), held: make(reasons)} }

// remember lets the sessions of an earlier daemon have their short names, and
// does not say again why they are held back.
func (j journal) remember(sessions []resume.Session) {
	for _, s := range sessions {
		j.names.add(s.Key.ID)
		if s.State == resume.Waiting {
			j.held.first(s.Key, s.Reason)
		}
	}
}

// tellAgain tells of what a person must see, in case the daemon before died
// between deciding and telling. The notifier passes over what it has told.
func (j journal) tellAgain(sessions []resume.Session) {
	for _, s := range sessions {
		switch {
		case s.State == resume.GaveUp:
			j.notify(notify.GaveUp, s)
		case s.State == resume.Parked, s.Told && s.Owner != nil:
			j.notify(notify.Parked, s)
		}
	}
}

func (j journal) changed(c resume.Change) {
	if j.d.opts.Seen != nil {
		defer j.d.opts.Seen(c)
	}
	j.d.metrics.observe(c)
	j.d.summary.wake()
	if telling(c) {
		j.d.witnesses.call(c.After.Key)
	}
	key := c.After.Key
	if c.Dropped {
		j.names.drop(key.ID)
		delete(j.held, key)
		j.d.store.DropSession(key)
		j.d.changes.Note(key)
		return
	}
	if c.WorksOn() {
		if c.Declined() {
			j.history(c)
		}
		return
	}
	j.d.changes.Note(key)
	if !c.Before.WorthKeeping() && !c.After.WorthKeeping() {
		if c.Declined() {
			j.history(c)
		}
		return
	}
	if !c.Before.WorthKeeping() {
		j.names.add(key.ID)
	}
	j.d.store.Put(c.After)
	if j.notable(c) {
		j.history(c)
		j.log(c)
	}
	j.people(c)
}

// log says what a person would want to know the next morning.
func (j journal) log(c resume.Change) {
	s := c.After
	log := j.d.log.With("session", s.Key.ID, "agent", s.Key.Agent)
	switch {
	case c.Calls() && s.State == resume.Waiting:
		log.Warn("waiting, but needs a person", "class", s.Limit.Class, "why", s.Reason)
	case c.Entered(resume.Waiting):
		log.Info("waiting", "class", s.Limit.Class, "until", s.NextAt.UTC().Format(time.RFC3339),
			"attempt", len(s.Attempts)+1, "why", s.Reason)
	case c.Entered(resume.GaveUp):
		log.Error("gave up", "attempts", len(s.Attempts), "why", s.Reason)
	case c.Entered(resume.Parked):
		log.Warn("parked: needs a person", "class", s.Limit.Class, "why", s.Reason)
	case c.Entered(resume.Watching) && c.Before.Interrupted():
		log.Info("watching again", "why", s.Reason)
	case c.Before.State != s.State || c.Before.Reason != s.Reason:
		log.Log(context.Background(), slog.LevelDebug, "step", "state", s.State, "why", s.Reason)
	}
}

// people tells the edges that a person may want to know.
func (j journal) people(c resume.Change) {
	s := c.After
	switch {
	case c.Entered(resume.GaveUp):
		j.notify(notify.GaveUp, s)
	case c.Calls():
		j.notify(notify.Parked, s)
	case c.Entered(resume.Waiting) && !c.Before.Interrupted():
		j.notify(notify.Limited, s)
	case c.Given():
		if len(s.Attempts) == 0 {
			s.Attempts = s.Past // it moved before its start was known
		}
		j.notify(notify.Retrying, s)
	case c.Entered(resume.Watching) && c.Before.Interrupted():
		s.Attempts = s.Past // the notice shows what was tried
		j.notify(notify.Recovered, s)
	}
}

func (j journal) notify(event notify.Event, s resume.Session) {
	if j.d.opts.DryRun {
		return
	}
	j.d.notifier.Tell(event, j.d.view(s), j.names.short(s.Key.ID))
}

// names finds short names for sessions without looking at all of them: it
// counts how many ids share each beginning.
type names map[string]int

// longer is by how much a short name may be longer than the shortest.
var longer = []int{0, 2, 4, 8, 14}

func (n names) add(id string)  { n.count(id, 1) }
func (n names) drop(id string) { n.count(id, -1) }

func (n names) count(id string, change int) {
	for _, by := range longer {
		length := control.Shortest(id) + by
		if length >= len(id) {
			return
		}
		beginning := id[:length]
		if n[beginning] += change; n[beginning] <= 0 {
			delete(n, beginning)
		}
	}
}

// short returns a beginning of id that no other session has.
func (n names) short(id string) string {
	for _, by := range longer {
		if length := control.Shortest(id) + by; length < len(id) && n[id[:length]] <= 1 {
			return id[:length]
		}
	}
	return id
}
