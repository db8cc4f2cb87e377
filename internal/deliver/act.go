package deliver

import (
	"context"
	"maps"
	"slices"
	"time"

	"resumed/internal/process"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

// Act sends one resume and applies its result. The engine calls it when a session enters Resuming. It
// returns when the resume is over, or soon after ctx is done.
func (d *Deliverer) Act(ctx context.Context, session resume.Session) {
	gates := gatesOfResume
	if session.Pending() {
		gates = gatesOfTask
	}
	v := &delivery{Deliverer: d, session: session, records: true}
	defer v.releaseLease(ctx)
	d.report(ctx, session, v.carryOut(ctx, gates))
}

// Preview returns what the next resume of a session would do now. It asks the same gates as a resume,
// but takes no lease, sends nothing and stores nothing.
func (d *Deliverer) Preview(ctx context.Context, session resume.Session) view.Plan {
	plan := view.Plan{Command: []string{}, Repeated: []string{}, LeftOut: []string{}, Env: []string{}, EnvUnset: []string{}}
	v := &delivery{Deliverer: d, session: d.located(session)}
	notSent := v.pass(ctx, gatesOfPreview)
	if v.agent != nil && !session.Pending() {
		plan.Prompt = words(ctx, v.agent, v.session, v.settings)
	}
	if notSent == nil {
		notSent = v.way.preview(ctx, &plan)
	}
	if notSent != nil {
		plan.Instead = notSent.Why
	}
	return plan
}

// WatchPrograms does the lookups that were asked for and checks the owners of stopped sessions, until
// ctx is done.
func (d *Deliverer) WatchPrograms(ctx context.Context) error {
	searches := make(map[resume.Key]search)
	var again, rested, holders, asked <-chan time.Time // nil: there is nothing to wait for
	lookups := d.tracker.wakeLookups
	for {
		if again == nil && len(searches) > 0 {
			again = time.After(nextLook)
		}
		if holders == nil && len(d.tracker.allOpen()) > 0 {
			holders = time.After(nextHolderLook)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-rested:
			lookups = d.tracker.wakeLookups
		case <-lookups:
			asked := d.tracker.takeLookups()
			for key, weigh := range asked {
				searches[key] = search{weigh: weigh}
			}
			d.askIfUnseen(ctx, d.lookFor(ctx, searches, slices.Collect(maps.Keys(asked))))
			lookups, rested = nil, time.After(batchDelay)
		case <-again:
			d.askIfUnseen(ctx, d.lookFor(ctx, searches, slices.Collect(maps.Keys(searches))))
			again = nil
		case <-d.tracker.wakeHolders:
		case <-holders:
			d.lookAtHolders(ctx)
			holders = nil
		case <-d.tracker.hooked:
			asked = d.lookAtQuestions(ctx)
			d.lookAtHolders(ctx)
		case <-asked:
			asked = d.lookAtQuestions(ctx)
		}
	}
}

// askIfUnseen asks a person about sessions whose processes were not found, or whose program is not trusted, as soon as
// they are stopped.
func (d *Deliverer) askIfUnseen(ctx context.Context, keys []resume.Key) {
	ctx = process.WithSnapshot(ctx)
	for _, key := range keys {
		session, err := d.opts.Engine.Session(ctx, key)
		if err != nil || session.State != resume.Waiting || session.Pending() {
			continue
		}
		if asked := session.Allowed != nil || d.opts.Settings().SameMode || session.StartedWith().Seen(); asked && len(ofProject(session)) == 0 {
			continue // most sessions
		}
		v := &delivery{Deliverer: d, session: d.located(session)}
		if notSent := v.pass(ctx, gatesOfPreview); notSent != nil && notSent.Then == resume.ParkUnseen {
			d.apply(ctx, key, resume.ProcessUnknown{Why: notSent.Why, Shows: notSent.Shows, Offers: notSent.Offers})
		}
	}
}
