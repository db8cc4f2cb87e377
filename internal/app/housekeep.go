package app

import (
	"context"
	"time"

	"resumed/internal/deliver"
)

// pruneEvery is the pause between two looks at what may be forgotten.
const pruneEvery = time.Hour

// housekeep keeps what grows from growing for ever.
func (d *daemon) housekeep(ctx context.Context) error {
	ticker := time.NewTicker(pruneEvery)
	defer ticker.Stop()
	for {
		history := d.settings.Load().config.History
		if err := d.store.Prune(ctx, history.Keep, int64(history.MaxSize)); err != nil && ctx.Err() == nil {
			d.opts.Log.Warn("old history was not pruned", "err", err)
		}
		if err := deliver.PruneBackups(d.opts.StateDir, history.Keep, time.Now()); err != nil {
			d.opts.Log.Warn("old copies of transcripts were not removed", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}
