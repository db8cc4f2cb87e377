package fleet

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// unanswered is a store that gives no answer to some writes of owner records.
type unanswered struct {
	*Memory
	lost   int           // how many such writes get no answer
	done   bool          // they are done all the same,
	late   time.Duration // after that time
	writes bool          // those that write a record are meant, and not those that delete one
}

func (u *unanswered) meant(b Bucket, write bool, do func()) bool {
	if b != Accounts || write != u.writes || u.lost == 0 {
		return false
	}
	u.lost--
	if u.done {
		time.AfterFunc(u.late, do)
	}
	time.Sleep(AnswerWithin)
	return true
}

func (u *unanswered) Update(ctx context.Context, b Bucket, key string, value []byte, rev uint64, lasts time.Duration) (uint64, error) {
	if u.meant(b, true, func() { _, _ = u.Memory.Update(ctx, b, key, value, rev, lasts) }) {
		return 0, errSilence
	}
	return u.Memory.Update(ctx, b, key, value, rev, lasts)
}

func (u *unanswered) Delete(ctx context.Context, b Bucket, key string, rev uint64) error {
	if u.meant(b, false, func() { _ = u.Memory.Delete(ctx, b, key, rev) }) {
		return errSilence
	}
	return u.Memory.Delete(ctx, b, key, rev)
}

// A session that was given back is free for other hosts, also if the store did not answer: otherwise it
// would be told for ever that this host looks after it.
func TestAReleaseWithoutAnAnswerIsTriedAgain(t *testing.T) {
	for name, store := range map[string]*unanswered{
		"it was not done":                         {lost: 1},
		"it was not done three times":             {lost: 3},
		"it was done":                             {lost: 1, done: true},
		"it is done late":                         {lost: 1, done: true, late: 20 * time.Second},
		"the session was never had":               {lost: 1, writes: true},
		"the session was had without knowing":     {lost: 1, writes: true, done: true},
		"the session is had late without knowing": {lost: 1, writes: true, done: true, late: 90 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				store.Memory = NewMemory(time.Now)
				a, b := aheadBy(store, 0), New(Filled(Options{Store: store.Memory, Host: "b", Life: "2"}))
				ended := make(chan error, 1)
				go func() { ended <- a.Run(ctx) }()
				time.Sleep(time.Second)
				if held, err := a.Hold(ctx, "s", false); !store.writes {
					require.NoError(t, err)
					held.Release(ctx)
				} else {
					require.Error(t, err)
				}
				time.Sleep(3 * time.Minute)
				_, err := b.Hold(ctx, "s", false)
				require.NoError(t, err)
				time.Sleep(3 * time.Minute)
				e, err := store.Memory.Get(ctx, Accounts, OwnerKey("s"))
				require.NoError(t, err, "what another host has since stays")
				require.Equal(t, "b", b.holder(e).Host)
				stop()
				require.NoError(t, <-ended)
			})
		})
	}
}

// What is held again before an old release is tried again stays held.
func TestAnOldReleaseTakesNothingFromALaterHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		store := &unanswered{Memory: NewMemory(time.Now), lost: 1}
		a := aheadBy(store, 0)
		ended := make(chan error, 1)
		go func() { ended <- a.Run(ctx) }()
		time.Sleep(time.Second)
		held, err := a.Hold(ctx, "s", false)
		require.NoError(t, err)
		held.Release(ctx)
		_, err = a.Hold(ctx, "s", false)
		require.NoError(t, err)
		time.Sleep(5 * time.Minute)
		e, err := store.Memory.Get(ctx, Accounts, OwnerKey("s"))
		require.NoError(t, err, "if this host goes now, a person is asked")
		require.Equal(t, a.me(), a.holder(e))
		stop()
		require.NoError(t, <-ended)
	})
}
