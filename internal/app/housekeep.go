package app

import (
	"context"
	"time"

	"resumed/internal/deliver"
	"resumed/internal/lease"
	"resumed/internal/starts"
	"resumed/internal/state"
)

const pruneEvery = time.Hour

// housekeeper bounds what would grow without end.
type housekeeper struct {
	opts      Options
	settings  *inForce
	store     *state.Store
	deliver   *deliver.Deliverer
	ping      func(context.Context) error // returns when the engine's loop has run once
	firstRead <-chan struct{}             // closed when all existing transcripts were read
}

// aliveEvery is how often it is stored that the daemon is alive: after a crash it seems to have been
// down for at most that much longer.
const aliveEvery = 10 * time.Minute

// longestFirstLook is how long the cleanup waits until the agents' homes are read.
const longestFirstLook = time.Minute

const straysEvery = time.Minute

// Run cleans up until ctx is done: everything once an hour, and the history also when it has grown.
func (h housekeeper) Run(ctx context.Context) error {
	ticker := time.NewTicker(pruneEvery)
	defer ticker.Stop()
	alive := time.NewTicker(aliveEvery)
	defer alive.Stop()
	if h.ping(ctx) == nil { // the engine must see how long no daemon ran before this is overwritten
		h.store.SetAlive(time.Now())
	}
	select {
	case <-ctx.Done():
		return nil
	case <-h.firstRead: // people may wait for this, so it comes first
	case <-time.After(longestFirstLook):
	}
	h.tidyAll(ctx)
	strays := time.NewTicker(straysEvery)
	defer strays.Stop()
	told := make(map[string]bool)
	h.tellStrays(ctx, told)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-h.store.Grown():
			h.pruneHistory(ctx)
		case <-ticker.C:
			h.tidyAll(ctx)
		case now := <-alive.C:
			h.store.SetAlive(now)
		case <-strays.C:
			h.tellStrays(ctx, told)
		}
	}
}

func (h housekeeper) pruneHistory(ctx context.Context) {
	history := h.settings.Load().config.History
	if err := h.store.Prune(ctx, history.Keep, int64(history.MaxSize)); err != nil && ctx.Err() == nil {
		h.opts.Log.Warn("old history was not pruned", "err", err)
	}
}

func (h housekeeper) tidyAll(ctx context.Context) {
	h.pruneHistory(ctx)
	history := h.settings.Load().config.History
	if err := h.deliver.PruneFiles(ctx, history.Keep, int64(history.RunsMaxSize), time.Now()); err != nil {
		h.opts.Log.Warn("old outputs and copies of transcripts were not removed", "err", err)
	}
	if err := starts.In(h.opts.RuntimeDir).Prune(time.Now().Add(-history.EndedKeep)); err != nil {
		h.opts.Log.Warn("files of old sessions could not be removed", "err", err)
	}
	if err := lease.Prune(h.opts.LeaseDirs, time.Now().Add(-history.EndedKeep)); err != nil {
		h.opts.Log.Warn("old leases were not removed", "err", err)
	}
}

// tellStrays logs once for each home that an agent works in it but it is not watched.
func (h housekeeper) tellStrays(ctx context.Context, told map[string]bool) {
	settings := h.settings.Load()
	for _, name := range settings.agentNames() {
		strays, _ := settings.agents[name].Unwatched(ctx) // if processes cannot be seen, none is found
		for _, stray := range strays {
			if key := name + "\x00" + stray.Home; !told[key] {
				told[key] = true
				log := h.opts.Log.With("agent", name, "what", stray.String(), "remedy", stray.Remedy())
				if len(stray.Roots) == 0 {
					log.Warn("an agent's server is not configured")
				} else {
					log.Warn("an agent works in a home that is not watched")
				}
			}
		}
	}
}
