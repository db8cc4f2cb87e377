package app

import (
	"context"
	"math"
	"path/filepath"
	"strings"
	"time"

	"resumed/internal/fsevents"
	"resumed/internal/notify"
	"resumed/internal/state"
)

// alarm tells people that what the daemon remembers was damaged, or is gone:
// otherwise they would learn of it from a session that was not continued. Where it is
// gone the daemon ends: whoever starts it again has one that can keep its promises. But
// that one would not know what runs: as long as something does, this one stays.
type alarm struct {
	store    *state.Store
	notifier *notify.Notifier
	running  func(context.Context) (resumes int, err error)
}

// lastWords is how long a channel may take to be told why the daemon ends: meanwhile
// nothing is resumed.
const lastWords = 10 * time.Second

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
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-events:
			_, _ = file.Take(math.MaxInt)
			a.store.Look()
		case <-a.store.Lost():
			telling, done := context.WithTimeout(ctx, lastWords)
			defer done()
			a.notifier.TellStateLost(telling, a.store.Gone().Error())
			return a.end(ctx)
		}
	}
}

// end returns why the daemon ends, once nothing runs that it has resumed.
func (a alarm) end(ctx context.Context) error {
	for {
		if n, err := a.running(ctx); err != nil || n == 0 {
			return a.store.Gone()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Second):
		}
	}
}
