package app

import (
	"cmp"
	"context"
	"math"
	"strings"

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
		_ = file.Add(a.store.Path()) // the file itself: in its directory something is written all the time
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-events:
			_, _ = file.Take(math.MaxInt)
			a.store.Look()
		case <-a.store.Lost():
			why := cmp.Or(a.store.Err(), error(state.ErrGone)) // it may be back
			a.notifier.TellStateLost(ctx, why.Error())
			return nil
		}
	}
}
