package app

import (
	"cmp"
	"context"
	"math"
	"path/filepath"
	"strings"
	"sync"

	"resumed/internal/fsevents"
	"resumed/internal/notify"
	"resumed/internal/state"
)

// alarm tells people that what the daemon remembers was damaged, or is gone:
// otherwise they would learn of it from a session that was not continued.
type alarm struct {
	store    *state.Store
	notifier *notify.Notifier
}

func (a alarm) Run(ctx context.Context) error {
	if found := a.store.Found(); len(found) > 0 {
		a.notifier.TellStateError(strings.Join(found, "\n"))
	}
	var events <-chan struct{} // nil: the store looks by itself, by the clock
	file, err := fsevents.New()
	if err == nil {
		defer func() { _ = file.Close() }()
		events = file.Ready()
		// The file itself, since in its directory something is written all the time; and what its
		// directory is in, since a directory that is moved takes the file along and no word is said of it.
		_ = file.Add(a.store.Path())
		_ = file.Add(filepath.Dir(filepath.Dir(a.store.Path())))
	}
	var telling sync.WaitGroup
	defer telling.Wait()
	lost := a.store.Lost()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-events:
			_, _ = file.Take(math.MaxInt)
			a.store.Look()
		case <-lost:
			why := cmp.Or(a.store.Err(), error(state.ErrGone)) // it may be back
			telling.Go(func() { a.notifier.TellStateLost(ctx, why.Error()) })
			lost = nil // once; that it is back is still listened for
		}
	}
}
