package termui

import (
	"context"
	"errors"
	"time"

	"resumed/internal/control"
	"resumed/internal/resume/view"
	"resumed/internal/sanitize"
	"resumed/internal/wake"
)

// Daemon is the daemon as the views use it.
type Daemon interface {
	// Watch calls see with the whole state and then with each change, until ctx is done or the daemon
	// is gone.
	Watch(ctx context.Context, all bool, see func(control.Update) error) error

	// Do carries out an order for the session of that name.
	Do(ctx context.Context, name string, order control.Order) (view.Session, error)

	// Fleet returns a page of the state of all hosts.
	Fleet(ctx context.Context, after string, most int) (control.Fleet, error)

	// SetPaused pauses or unpauses the daemon.
	SetPaused(ctx context.Context, paused bool) error
}

// lookEvery is the time between two tries to reach a daemon that is gone.
const lookEvery = time.Second

// lost means that the daemon no longer answers.
type lost struct{ err error }

// String returns it in words for people.
func (l lost) String() string {
	if l.err == nil || errors.Is(l.err, control.ErrNoDaemon) {
		return "no daemon; looking for it"
	}
	return "the daemon does not answer; trying again (" + sanitize.Line(l.err.Error()) + ")"
}

// follow passes on the daemon's updates, and that it is gone, until ctx is done. It connects again to a
// restarted daemon.
func follow(ctx context.Context, daemon Daemon, all bool, update func(control.Update) error, gone func(lost) error) error {
	for {
		var stop error
		err := daemon.Watch(ctx, all, func(u control.Update) error {
			stop = update(u)
			return stop
		})
		if ctx.Err() != nil {
			return nil
		}
		if stop != nil {
			return stop
		}
		if err := gone(lost{err}); err != nil {
			return err
		}
		if !wake.Sleep(ctx, lookEvery) {
			return nil
		}
	}
}
