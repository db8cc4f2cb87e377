package state

import (
	"context"
	"math"
	"path/filepath"
	"strings"
	"time"

	"resumed/internal/fsevents"
	"resumed/internal/wake"
)

// Alarm reports to people that the stored state was damaged or removed: otherwise they would only
// notice that a session was not resumed. If it was removed, the daemon ends, so that the next one can
// store its state again. The next daemon would not know about running resumes, so this one ends only
// when none runs.
type Alarm struct {
	Store    *Store
	Notifier interface {
		TellStateError(text string)
		TellStateLost(ctx context.Context, text string)
	}
	Running func(context.Context) (resumes int, err error)
}

// lostNoticeTimeout is how long the channels may take to report why the daemon ends: meanwhile nothing
// is resumed.
const lostNoticeTimeout = 10 * time.Second

// Run watches the stored state until ctx is done. It returns an error when the state is gone.
func (a Alarm) Run(ctx context.Context) error {
	if found := a.Store.Found(); len(found) > 0 {
		a.Notifier.TellStateError(strings.Join(found, "\n"))
	}
	var events <-chan struct{} // nil: the store checks at intervals by itself
	file, err := fsevents.New()
	if err == nil {
		defer func() { _ = file.Close() }()
		events = file.Ready()
		// The file itself, since its directory has events all the time; and the directory above,
		// since a directory that is moved away causes no event in itself.
		_ = file.Add(a.Store.Path())
		_ = file.Add(filepath.Dir(filepath.Dir(a.Store.Path())))
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-events:
			_, _ = file.Take(math.MaxInt)
			a.Store.Check()
		case <-a.Store.Lost():
			sending, done := context.WithTimeout(ctx, lostNoticeTimeout)
			defer done()
			a.Notifier.TellStateLost(sending, a.Store.Gone().Error())
			return a.awaitResumes(ctx)
		}
	}
}

func (a Alarm) awaitResumes(ctx context.Context) error {
	for {
		if n, err := a.Running(ctx); err != nil || n == 0 {
			return a.Store.Gone()
		}
		if !wake.Sleep(ctx, time.Second) {
			return nil
		}
	}
}
