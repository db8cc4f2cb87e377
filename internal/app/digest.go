package app

import (
	"context"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/journal"
	"resumed/internal/notify"
	"resumed/internal/resume"
	"resumed/internal/state"
)

// digester tells people once a day what happened since the last time: the morning
// digest.
type digester struct {
	settings *inForce
	store    *state.Store
	engine   *resume.Engine
	notifier *notify.Notifier
}

// digestKey is where the time of the last digest is kept.
const digestKey = "digest/last"

// digestLook bounds how long it sleeps: timers stand still while a machine does.
const digestLook = time.Minute

// Run tells a digest whenever its time of day has come, until ctx is done.
func (d digester) Run(ctx context.Context) error {
	last := time.Now() // what was before the first start is nobody's night
	if data, found := d.store.Value(digestKey); found {
		_ = last.UnmarshalText(data) // one that cannot be read is now
	} else {
		d.keep(last)
	}
	for {
		if now := time.Now(); last.Before(lastDigest(now, d.settings.Load().config.Notify.DigestAt)) {
			d.tell(ctx, last)
			last = now
			d.keep(last)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(digestLook):
		}
	}
}

func (d digester) keep(at time.Time) {
	if data, err := at.Round(0).UTC().MarshalText(); err == nil {
		d.store.PutValue(digestKey, data)
	}
}

// lastDigest returns when a digest was last due, by a time of day such as "07:30".
func lastDigest(now time.Time, at string) time.Time {
	clock, err := time.Parse("15:04", at)
	if err != nil {
		return time.Time{} // a checked configuration has none
	}
	due := time.Date(now.Year(), now.Month(), now.Day(), clock.Hour(), clock.Minute(), 0, 0, now.Location())
	if due.After(now) {
		due = due.AddDate(0, 0, -1)
	}
	return due
}

// tell tells what happened since that time.
func (d digester) tell(ctx context.Context, since time.Time) {
	sessions, err := d.engine.Sessions(ctx)
	if err != nil {
		return // it stops
	}
	settings := d.settings.Load()
	moved := d.continued(ctx, since)
	var all []notify.Digested
	for _, s := range sessions {
		needed := s.State == resume.GaveUp || s.State == resume.Parked || s.State == resume.Waiting && s.Told
		if !needed && !moved[s.Key] {
			continue
		}
		view := settings.view(s)
		all = append(all, notify.Digested{View: view, Short: view.Name, GoOn: goOn(settings.agents[s.Key.Agent], s), Needed: needed})
	}
	d.notifier.TellDigest(all)
}

// continued returns the sessions that moved again by a resume since that time.
func (d digester) continued(ctx context.Context, since time.Time) map[resume.Key]bool {
	moved := make(map[resume.Key]bool)
	steps, err := journal.History(ctx, d.store, "", since, nil)
	if err != nil {
		return moved
	}
	for step, err := range steps {
		if err != nil {
			break
		}
		if step.Outcome == resume.Recovered {
			moved[resume.Key{Agent: step.Agent, ID: step.Session}] = true
		}
	}
	return moved
}

// goOn returns the command by which a person goes on in a session, where its agent
// knows one.
func goOn(a agent.Agent, s resume.Session) string {
	by, ok := a.(interface {
		ByHand(resume.Session) []string
	})
	if !ok {
		return ""
	}
	return strings.Join(by.ByHand(s), " ")
}
