package fleet_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/fleet"
)

func TestASharedSessionIsLookedAfterByOneHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		h := newHouse(t)
		a, b := h.join(ctx, "a", 0), h.join(ctx, "b", 0)
		time.Sleep(time.Second)
		held, err := a.Hold(ctx, "s", false)
		require.NoError(t, err)
		_, err = b.Hold(ctx, "s", true)
		require.Equal(t, &fleet.ElsewhereError{Host: "a"}, err)
		time.Sleep(5 * time.Minute)
		require.NoError(t, held.Confirm(ctx), "it is held as long as its host is there")
		_, err = b.Hold(ctx, "s", true)
		require.Equal(t, &fleet.ElsewhereError{Host: "a"}, err)
		held.Release(ctx)
		held, err = b.Hold(ctx, "s", false)
		require.NoError(t, err)
		time.Sleep(20 * time.Second)
		held.Release(ctx)
		h.store.cut.Store(true)
		time.Sleep(2 * time.Minute)
		_, err = a.Hold(ctx, "s", true)
		require.ErrorContains(t, err, "alone")
		stop()
		synctest.Wait()
	})
}

func TestTakingOverFromAHostThatIsGoneIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		h := newHouse(t)
		a := h.join(ctx, "a", 0)
		for _, key := range []string{fleet.HostKey("gone"), fleet.SessionKey("s")} {
			_, err := h.store.Memory.Update(ctx, fleet.Leases, key, []byte(`{"host":"gone","life":"1"}`), 0, fleet.LeaseTTL)
			require.NoError(t, err)
		}
		_, err := h.store.Memory.Update(ctx, fleet.Accounts, fleet.OwnerKey("s"), []byte(`{"host":"gone","life":"1"}`), 0, 0)
		require.NoError(t, err)
		_, err = a.Hold(ctx, "s", true)
		require.Equal(t, &fleet.ElsewhereError{Host: "gone"}, err, "it is there")
		e, err := h.store.Get(ctx, fleet.Leases, fleet.SessionKey("s"))
		require.NoError(t, err)
		require.NoError(t, h.store.Delete(ctx, fleet.Leases, e.Key, e.Rev))
		_, err = a.Hold(ctx, "s", true)
		require.Equal(t, &fleet.ElsewhereError{Host: "gone"}, err, "and so without that lease: only from a host that is gone it is taken")
		time.Sleep(time.Minute)
		_, err = a.Hold(ctx, "s", false)
		require.Equal(t, &fleet.GoneError{Host: "gone"}, err)
		_, err = a.Hold(ctx, "s", true)
		require.NoError(t, err)
		stop()
		synctest.Wait()
	})
}

func TestWhatADaemonLeftIsItsHostsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		h := newHouse(t)
		for _, hash := range []string{"found", "lost"} {
			_, err := h.store.Memory.Update(ctx, fleet.Accounts, fleet.OwnerKey(hash), []byte(`{"host":"a","life":"before"}`), 0, 0)
			require.NoError(t, err)
			_, err = h.store.Memory.Update(ctx, fleet.Leases, fleet.SessionKey(hash), []byte(`{"host":"a","life":"before"}`), 0, fleet.LeaseTTL)
			require.NoError(t, err)
		}
		a, b := h.join(ctx, "a", 0), h.join(ctx, "b", 0)
		time.Sleep(time.Second)
		_, err := a.Hold(ctx, "found", false)
		require.NoError(t, err)
		time.Sleep(time.Minute)
		_, err = b.Hold(ctx, "lost", false)
		require.Equal(t, &fleet.ElsewhereError{Host: "a"}, err)
		time.Sleep(2 * time.Minute)
		_, err = b.Hold(ctx, "lost", false)
		require.NoError(t, err, "its host does not look after it any longer")
		_, err = b.Hold(ctx, "found", false)
		require.Equal(t, &fleet.ElsewhereError{Host: "a"}, err)
		_, err = h.store.Get(ctx, fleet.Accounts, fleet.OwnerKey("found"))
		require.NoError(t, err, "if its host goes now, a person is asked")
		stop()
		synctest.Wait()
	})
}

// sleeper is a store whose answers to a renewal are read long after they were given.
type sleeper struct{ *fleet.Memory }

func (s sleeper) Update(ctx context.Context, b fleet.Bucket, key string, value []byte, rev uint64, lasts time.Duration) (uint64, error) {
	next, err := s.Memory.Update(ctx, b, key, value, rev, lasts)
	if rev != 0 {
		time.Sleep(fleet.LeaseTTL)
	}
	return next, err
}

func TestAnAnswerThatIsReadLateConfirmsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fleet.New(fleet.Filled(fleet.Options{Store: sleeper{fleet.NewMemory(time.Now)}, Host: "a", Life: "1"}))
		held, err := f.Hold(t.Context(), "s", false)
		require.NoError(t, err)
		require.ErrorContains(t, held.Confirm(t.Context()), "too late", "another host may have it by now")
	})
}

func TestASessionThatIsHeldAgainBeforeItWasReleasedIsAskedAboutWhenItsHostIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		h := newHouse(t)
		a, crash := h.join(ctx, "a", 0), h.store.cut
		h.store.cut = new(atomic.Bool)
		b := h.join(ctx, "b", 0)
		time.Sleep(time.Second)
		before, err := a.Hold(ctx, "s", false)
		require.NoError(t, err)
		_, err = a.Hold(ctx, "s", false)
		require.NoError(t, err)
		before.Release(ctx)
		crash.Store(true)
		time.Sleep(2 * fleet.LeaseTTL)
		_, err = b.Hold(ctx, "s", false)
		require.Equal(t, &fleet.GoneError{Host: "a"}, err, "nobody knows how it stands there")
		stop()
		synctest.Wait()
	})
}

// slow is a store that is slow to renew.
type slow struct {
	*fleet.Memory
	asked, answered time.Duration // until the write is done, and until its answer is read
}

func (s slow) Update(ctx context.Context, b fleet.Bucket, key string, value []byte, rev uint64, lasts time.Duration) (uint64, error) {
	time.Sleep(s.asked)
	defer time.Sleep(s.answered)
	return s.Memory.Update(ctx, b, key, value, rev, lasts)
}

func TestWhatIsReleasedWhileItIsRenewedIsOthersAtOnce(t *testing.T) {
	for name, store := range map[string]slow{
		"the renewal comes after the release":         {asked: 2 * time.Second},
		"the answer comes after it, the write before": {answered: 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store.Memory = fleet.NewMemory(time.Now)
				a := fleet.New(fleet.Filled(fleet.Options{Store: store, Host: "a", Life: "1"}))
				b := fleet.New(fleet.Filled(fleet.Options{Store: store.Memory, Host: "b", Life: "2"}))
				held, err := a.Hold(t.Context(), "s", false)
				require.NoError(t, err)
				go func() { _ = held.Confirm(t.Context()) }() // as with every heartbeat
				time.Sleep(time.Second)
				held.Release(t.Context())
				time.Sleep(2 * time.Second)
				_, err = b.Hold(t.Context(), "s", false)
				require.NoError(t, err)
			})
		})
	}
}
