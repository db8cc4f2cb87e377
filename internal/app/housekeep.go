package app

import (
	"context"
	"time"

	"resumed/internal/lease"
	"resumed/internal/starts"
)

const pruneEvery = time.Hour

// aliveEvery is how often it is stored that the daemon is alive: after a crash it seems to have been
// down for at most that much longer.
const aliveEvery = 10 * time.Minute

// longestFirstLook is how long the cleanup waits until the agents' homes are read.
const longestFirstLook = time.Minute

const straysEvery = time.Minute

// keepHouse removes what would grow without end, until ctx is done: everything once an hour, and history
// also when it has grown.
func (p *parts) keepHouse(ctx context.Context) error {
	ticker := time.NewTicker(pruneEvery)
	defer ticker.Stop()
	alive := time.NewTicker(aliveEvery)
	defer alive.Stop()
	if p.engine.Ping(ctx) == nil { // the engine must see how long no daemon ran before this is overwritten
		p.store.SetAlive(time.Now())
	}
	select {
	case <-ctx.Done():
		return nil
	case <-p.firstRead: // people may wait for this, so it comes first
	case <-time.After(longestFirstLook):
	}
	p.tidyAll(ctx)
	strays := time.NewTicker(straysEvery)
	defer strays.Stop()
	told := make(map[string]bool)
	p.tellStrays(ctx, told)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-p.store.Grown():
			p.pruneHistory(ctx)
		case <-ticker.C:
			p.tidyAll(ctx)
		case now := <-alive.C:
			p.store.SetAlive(now)
		case <-strays.C:
			p.tellStrays(ctx, told)
		}
	}
}

func (p *parts) pruneHistory(ctx context.Context) {
	history := p.settings.Load().config.History
	if err := p.store.Prune(ctx, history.Keep, int64(history.MaxSize)); err != nil && ctx.Err() == nil {
		p.opts.Log.Warn("old history was not pruned", "err", err)
	}
}

func (p *parts) tidyAll(ctx context.Context) {
	p.pruneHistory(ctx)
	history := p.settings.Load().config.History
	if err := p.deliver.PruneFiles(ctx, history.Keep, int64(history.RunsMaxSize), time.Now()); err != nil {
		p.opts.Log.Warn("old outputs and copies of transcripts were not removed", "err", err)
	}
	if err := starts.In(p.opts.RuntimeDir).Prune(time.Now().Add(-history.EndedKeep)); err != nil {
		p.opts.Log.Warn("files of old sessions could not be removed", "err", err)
	}
	if err := lease.Prune(p.opts.LeaseDirs, time.Now().Add(-history.EndedKeep)); err != nil {
		p.opts.Log.Warn("old leases were not removed", "err", err)
	}
}

// tellStrays logs once for each home that an agent works in it but it is not watched.
func (p *parts) tellStrays(ctx context.Context, told map[string]bool) {
	settings := p.settings.Load()
	for _, name := range settings.agentNames() {
		strays, _ := settings.agents[name].Unwatched(ctx) // if processes cannot be seen, none is found
		for _, stray := range strays {
			if key := name + "\x00" + stray.Home; !told[key] {
				told[key] = true
				log := p.opts.Log.With("agent", name, "what", stray.String(), "remedy", stray.Remedy())
				if len(stray.Roots) == 0 {
					log.Warn("an agent's server is not configured")
				} else {
					log.Warn("an agent works in a home that is not watched")
				}
			}
		}
	}
}
