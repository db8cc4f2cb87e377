package app

import (
	"context"
	"time"

	"resumed/internal/deliver"
	"resumed/internal/lease"
	"resumed/internal/state"
)

// pruneEvery is the pause between two looks at what may be forgotten.
const pruneEvery = time.Hour

// housekeeper keeps what grows from growing for ever.
type housekeeper struct {
	opts      Options
	settings  *inForce
	store     *state.Store
	deliver   *deliver.Deliverer
	ping      func(context.Context) error // returns when the engine's loop has turned
	firstRead <-chan struct{}             // closed when all that lay there was read
}

// aliveEvery is how often it is noted that the daemon is there: after a crash it
// seems to have been away for that much longer at most.
const aliveEvery = 10 * time.Minute

// longestFirstLook is how long all else waits for the first look at the agents' homes.
const longestFirstLook = time.Minute

// straysEvery is how often it is looked whether an agent works where nobody looks.
const straysEvery = time.Minute

// Run looks at what may be forgotten until ctx is done: at everything once an
// hour, and at the history also when it has grown.
func (h housekeeper) Run(ctx context.Context) error {
	ticker := time.NewTicker(pruneEvery)
	defer ticker.Stop()
	alive := time.NewTicker(aliveEvery)
	defer alive.Stop()
	if h.ping(ctx) == nil { // what passed while no daemon was there is noted before it is forgotten that none was
		h.store.SetAlive(time.Now())
	}
	select {
	case <-ctx.Done():
		return nil
	case <-h.firstRead: // what somebody waits for comes first
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
	if err := lease.Prune(h.opts.LeaseDirs, time.Now().Add(-history.EndedKeep)); err != nil {
		h.opts.Log.Warn("old leases were not removed", "err", err)
	}
}

// tellStrays says once of each home that an agent works in it and that nobody
// looks there.
func (h housekeeper) tellStrays(ctx context.Context, told map[string]bool) {
	settings := h.settings.Load()
	for _, name := range settings.agentNames() {
		strays, _ := settings.agents[name].Unwatched(ctx) // where processes cannot be seen, none is found
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
