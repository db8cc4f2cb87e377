package app

import (
	"context"
	"errors"
	"strings"
	"time"

	"resumed/internal/notify"
	"resumed/internal/state"
)

// alarmEvery is how often it is looked whether the state is still there.
const alarmEvery = 2 * time.Second

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
	ticker := time.NewTicker(alarmEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			if err := a.store.Err(); errors.Is(err, state.ErrGone) {
				a.notifier.TellStateLost(ctx, err.Error())
				return nil
			}
		}
	}
}
