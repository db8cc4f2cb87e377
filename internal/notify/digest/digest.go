// Package digest reports once a day what was continued and what needs a person.
package digest

import (
	"context"
	"log/slog"
	"time"

	"resumed/internal/journal"
	"resumed/internal/notify"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
	"resumed/internal/state"
	"resumed/internal/wake"
)

// Digester reports to people once a day what happened since the last digest.
type Digester struct {
	// Night returns the last night at a given time: when it began, and when it ends or ended.
	Night    func(now time.Time) (begins, ends time.Time)
	Sessions func(context.Context) ([]*resume.Session, error)
	View     func(resume.Session) view.Session
	Continue func(resume.Session) string // the command that continues a session; "": not known
	Store    *state.Store
	Notifier *notify.Notifier
	Log      *slog.Logger
}

const lastKey = "digest/last"

// Run reports a digest whenever it is time, until ctx is done.
func (d Digester) Run(ctx context.Context) error {
	since := d.last()
	for {
		now := time.Now()
		since = resume.Earlier(since, now) // by a clock that was ahead
		begins, ends := d.Night(now)
		isTime := since.Before(begins) && (!now.Before(ends) || d.isDone(ctx, begins))
		d.Log.Debug("looked whether it is time for the digest", "is_time", isTime)
		if isTime {
			d.tell(ctx, since)
			since = now
			d.store(now)
		}
		if !wake.Sleep(ctx, time.Minute) { // not longer: timers do not advance while a machine sleeps
			return nil
		}
	}
}

// last returns until when everything is reported. At the first start, that is now, or the beginning of
// the night that it is in: the end of that night is reported.
func (d Digester) last() time.Time {
	var last time.Time
	data, found := d.Store.Value(lastKey)
	if found && last.UnmarshalText(data) == nil {
		return last
	}
	last = time.Now()
	if begins, ends := d.Night(last); last.Before(ends) {
		last = begins.Add(-time.Second)
	}
	d.store(last)
	return last
}

func (d Digester) store(last time.Time) {
	if data, err := last.Round(0).UTC().MarshalText(); err == nil {
		d.Store.PutValue(lastKey, data)
	}
}

// isDone reports whether the last resume of a night is over: there was one, and no session waits or
// runs any longer, except for a person.
func (d Digester) isDone(ctx context.Context, night time.Time) bool {
	sessions, err := d.Sessions(ctx)
	if err != nil {
		return false // the engine stops
	}
	for _, s := range sessions {
		if s.Run != nil || s.Interrupted() && !needsPerson(*s) {
			return false
		}
	}
	return len(d.resumed(ctx, night)) > 0
}

func needsPerson(s resume.Session) bool {
	return s.State == resume.GaveUp || s.State == resume.Parked || s.State == resume.Waiting && s.Reported
}

func (d Digester) tell(ctx context.Context, since time.Time) {
	sessions, err := d.Sessions(ctx)
	if err != nil {
		return // the engine stops
	}
	resumed := d.resumed(ctx, since)
	var all []notify.Digested
	for _, s := range sessions {
		needed := needsPerson(*s)
		if !needed && resumed[s.Key] != resume.Recovered {
			continue
		}
		all = append(all, notify.Digested{View: d.View(*s), GoOn: d.Continue(*s), Needed: needed})
	}
	d.Notifier.TellDigest(all)
}

// resumed returns the sessions that were resumed since that time, and the outcome: of several resumes,
// that of the one that made it move.
func (d Digester) resumed(ctx context.Context, since time.Time) map[resume.Key]resume.Outcome {
	ends := make(map[resume.Key]resume.Outcome)
	steps, err := journal.History(ctx, d.Store, "", since, nil)
	if err != nil {
		return ends
	}
	for step, err := range steps {
		if err != nil {
			break
		}
		key := resume.Key{Agent: step.Agent, ID: step.Session}
		if step.Outcome != "" && ends[key] != resume.Recovered {
			ends[key] = step.Outcome
		}
	}
	return ends
}
