// Package journal records each step of a session: on disk, in the history and the log, in notices to
// people and in streams.
package journal

import (
	"cmp"
	"log/slog"
	"time"

	"resumed/internal/control"
	"resumed/internal/notify"
	"resumed/internal/resume"
	"resumed/internal/state"
)

// Options are what a Journal writes to. None of them may block on the disk, the network or the engine;
// all but Tell and Amend are required.
type Options struct {
	Store interface {
		Put(resume.Session)
		DropSession(resume.Key)
		AppendHistory(state.Entry)
	}
	Changes *control.Changes // streams of changes
	Log     *slog.Logger

	// Tell reports to people what happened to a session; nil: no notices.
	Tell func(event notify.Event, session resume.Session)

	// Amend updates a notice that was not sent yet with news about the session; nil: no updates.
	Amend func(event notify.Event, session resume.Session)
}

// Journal records what happened. Only the engine's goroutine calls Changed, so it must not block: the
// locks that it takes, of the store, the notifier and the streams, are held only for a copy in memory.
type Journal struct {
	opts Options
	held reasons
}

// New returns a journal that knows the sessions of an earlier daemon: their current reasons are not
// recorded again. It reports again what a person must know, in case that daemon was killed between
// decision and notice: the notifier skips notices that it already has.
func New(opts Options, sessions []resume.Session) *Journal {
	j := &Journal{opts: opts, held: make(reasons)}
	for _, s := range sessions {
		if s.State == resume.Waiting {
			j.held.first(s.Key, s.Reason)
		}
		switch {
		case s.State == resume.GaveUp:
			j.tell(notify.GaveUp, s)
		case s.State == resume.Parked, s.Reported:
			j.tell(parked(s), s)
		}
	}
	return j
}

// Changed records one step.
func (j *Journal) Changed(c resume.Change) {
	key := c.After.Key
	if c.Dropped {
		delete(j.held, key)
		if c.Before.Pending() {
			j.record(c.At, key, Unqueued, step{Reason: c.After.Reason})
		}
		if c.Before.WorthKeeping() || c.Before.Origin != nil {
			j.opts.Store.DropSession(key)
		}
		j.opts.Changes.Note(key)
		return
	}
	worksOn := c.WorksOn()
	if !worksOn {
		j.opts.Changes.Note(key)
	}
	if worksOn || !c.Before.WorthKeeping() && !c.After.WorthKeeping() {
		if c.Declined() {
			j.history(c)
		}
		if startedAnew(c) {
			j.opts.Store.Put(c.After)
		}
		return
	}
	j.opts.Store.Put(c.After)
	if j.notable(c) {
		j.history(c)
		j.log(c)
	}
	j.people(c)
}

// startedAnew reports whether the origin of the session changed, or a new prompt that decides whether
// it still counts. It is stored, because the process may have ended before the next daemon starts.
func startedAnew(c resume.Change) bool {
	return c.After.Origin != c.Before.Origin || c.After.Origin != nil && !c.After.PromptedAt.Equal(c.Before.PromptedAt)
}

// log logs what a person wants to know the next morning.
func (j *Journal) log(c resume.Change) {
	s := c.After
	log, with := j.opts.Log, func(more ...any) []any {
		return append([]any{"session", s.Key.ID, "agent", s.Key.Agent}, more...)
	}
	switch {
	case c.Entered(resume.Waiting) && s.Pending():
		log.Info("queued", with("task", s.Task.N, "cwd", s.Cwd, "from", s.NextAt.UTC().Format(time.RFC3339), "why", s.Reason)...)
	case c.Before.Pending() && !s.Pending() && s.State == resume.Watching:
		log.Info("a task is a session now", with("task", s.Task.N, "why", s.Reason)...)
	case c.NeedsPerson() && s.State == resume.Waiting:
		log.Warn("waiting, but needs a person", with("class", s.Limit.Class, "why", s.Reason)...)
	case c.Entered(resume.Waiting):
		log.Info("waiting", with("class", s.Limit.Class, "until", s.NextAt.UTC().Format(time.RFC3339),
			"attempt", s.Tries()+1, "why", s.Reason)...)
	case c.Entered(resume.GaveUp):
		log.Error("gave up", with("attempts", s.Tries(), "why", s.Reason)...)
	case c.Entered(resume.Parked):
		log.Warn("parked: needs a person", with("class", s.Limit.Class, "why", s.Reason)...)
	case c.Entered(resume.Watching) && c.Before.Interrupted():
		log.Info("watching again", with("why", s.Reason)...)
	case c.Before.State != s.State || c.Before.Reason != s.Reason:
		log.Debug("step", with("state", s.State, "why", s.Reason)...)
	}
}

// people reports the changes of state that a person may want to know.
func (j *Journal) people(c resume.Change) {
	s := c.After
	if c.Before.Pending() || s.Pending() || c.Given() && c.StartsTask() {
		j.peopleOfTask(c)
		return
	}
	_, occupied := c.Event.(resume.Occupied)
	if j.opts.Amend != nil && occupied {
		j.opts.Amend(notify.Limited, s)
	}
	_, died := c.Event.(resume.Died)
	_, retry := c.Event.(resume.Retry)
	switch {
	case c.Entered(resume.GaveUp):
		j.tell(notify.GaveUp, s)
	case c.NeedsPerson():
		j.tell(parked(s), s)
	case died && c.Entered(resume.Waiting):
		j.tell(notify.CutOff, s)
	case c.Entered(resume.Waiting) && !c.Before.Interrupted() && !retry:
		j.tell(notify.Limited, s)
	case c.Given():
		if len(s.Attempts) == 0 {
			s.Attempts = s.Past // it moved before its start was known
		}
		j.tell(notify.Retrying, s)
	case c.Recovers():
		s.Attempts, s.InterruptedAt = s.Past, cmp.Or(c.Before.InterruptedAt, s.LimitedAt) // the notice shows what was tried, and since when
		j.tell(notify.Recovered, s)
	}
}

// peopleOfTask reports only what a person must know of a task: that it failed, or that a limit stopped
// its session at its first step.
func (j *Journal) peopleOfTask(c resume.Change) {
	switch {
	case c.NeedsPerson():
		j.tell(notify.Parked, c.After)
	case c.Before.Pending() && c.After.State == resume.Waiting && !c.After.Pending():
		j.tell(notify.Limited, c.After)
	}
}

func parked(s resume.Session) notify.Event {
	switch {
	case !s.SilentAt.IsZero():
		return notify.Silent
	case s.Needs == resume.RetryCutOff:
		return notify.CutOff
	default:
		return notify.Parked
	}
}

func (j *Journal) tell(event notify.Event, s resume.Session) {
	if j.opts.Tell != nil {
		j.opts.Tell(event, s)
	}
}
