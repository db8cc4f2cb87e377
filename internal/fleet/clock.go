package fleet

import (
	"context"
	"errors"
	"time"
)

const (
	// ShownSkew is how far a clock may be off before that is reported.
	ShownSkew = 30 * time.Second

	// LargestSkew is how far a clock may be off for its host to take part in the fleet.
	LargestSkew = 5 * time.Minute

	// slowAnswer is how long the store may take to return its time: after that the answer is too
	// inexact.
	slowAnswer = 2 * time.Second
)

// clock converts to the fleet's time: that is the store's clock, so that all hosts compare with the
// same one.
type clock struct {
	offset   time.Duration
	measured bool // otherwise no time of this host may be written for others
}

// errSlow means that the fleet's time is not known yet.
var errSlow = errors.New("the store takes too long to say what time it is")

// fleet converts a time of this host to the fleet's time.
func (c clock) fleet(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Add(c.offset)
}

// local converts a time of the fleet to this host's time.
func (c clock) local(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Add(-c.offset)
}

// skewed reports whether the clock is too far off to take part.
func (c clock) skewed() bool { return c.offset.Abs() > LargestSkew }

// measure asks the store for the time.
func (f *Fleet) measure(ctx context.Context) error {
	before := f.now()
	theirs, err := f.opts.Store.Now(ctx)
	took := f.now().Sub(before)
	slow := took < 0 || took >= slowAnswer
	if err == nil && slow && !f.clock.measured {
		err = errSlow
	}
	if f.noteAnswer(false, err); err != nil || slow {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.clock = clock{theirs.Sub(before.Add(took / 2)).Round(time.Millisecond), true}
	for _, a := range f.accounts {
		f.derive(a)
	}
	return nil
}
