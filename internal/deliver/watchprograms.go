package deliver

import (
	"context"
	"maps"
	"slices"
	"time"

	"resumed/internal/process"
	"resumed/internal/resume"
)

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

// askIfUnseen asks a person as soon as sessions are stopped, and not only when their wait is over, if
// their processes were not found.
func (d *Deliverer) askIfUnseen(ctx context.Context, keys []resume.Key) {
	if d.opts.Settings().SameMode {
		return
	}
	ctx = process.WithSnapshot(ctx)
	for _, key := range keys {
		session, err := d.opts.Engine.Session(ctx, key)
		if err != nil || session.State != resume.Waiting || session.Allowed || session.Pending() || session.StartedWith().Seen() {
			continue
		}
		v := &delivery{Deliverer: d, session: d.located(session)}
		if notSent := v.pass(ctx, gatesOfPreview); notSent != nil && notSent.Then == resume.ParkUnseen {
			d.apply(ctx, key, resume.Unseen{Why: notSent.Why})
		}
	}
}
