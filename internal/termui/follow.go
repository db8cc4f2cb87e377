package termui

import (
	"context"
	"errors"
	"time"

	"resumed/internal/control"
	"resumed/internal/resume/view"
	"resumed/internal/sanitize"
)

// Daemon is the daemon, as a view needs it.
type Daemon interface {
	// Watch calls see with all that is known and then with what changes, until
	// ctx is done or the daemon is gone.
	Watch(ctx context.Context, all bool, see func(control.Update) error) error

	// Do carries out an order on the session of that name.
	Do(ctx context.Context, name string, order control.Order) (view.Session, error)

	// Fleet returns a page of what is known of all hosts.
	Fleet(ctx context.Context, after string, most int) (control.Fleet, error)

	// SetPaused pauses the daemon, or ends that.
	SetPaused(ctx context.Context, paused bool) error
}

// lookEvery is the pause between two looks for a daemon that is gone.
const lookEvery = time.Second

// lost is a daemon that does not answer any longer.
type lost struct{ err error }

// String says it to people.
func (l lost) String() string {
	if l.err == nil || errors.Is(l.err, control.ErrNoDaemon) {
		return "no daemon; looking for it"
	}
	return "the daemon does not answer; trying again (" + sanitize.Line(l.err.Error()) + ")"
}

// follow tells what the daemon says, and when it is gone, until ctx is done.
// It finds a daemon that was started anew.
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
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(lookEvery):
		}
	}
}
