// Package fleettest tests that a Store of a fleet does what it must.
package fleettest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/fleet"
)

// patience is how long anything may take on a busy machine.
const patience = 30 * time.Second

// Store checks that a store decides only by revision. It must be empty.
func Store(t *testing.T, s fleet.Store) {
	t.Run("a key is created once", func(t *testing.T) { createdOnce(t, s) })
	t.Run("a write names the revision that was read", func(t *testing.T) { byRevision(t, s) })
	t.Run("one of many wins", func(t *testing.T) { oneWins(t, s) })
	t.Run("changes are told", func(t *testing.T) { changesAreTold(t, s) })
	t.Run("a notice is told once, and until somebody is done with it", func(t *testing.T) { noticeOnce(t, s) })
	t.Run("it knows the time", func(t *testing.T) {
		now, err := s.Now(t.Context())
		require.NoError(t, err)
		require.WithinDuration(t, time.Now(), now, patience)
	})
}

func createdOnce(t *testing.T, s fleet.Store) {
	_, err := s.Get(t.Context(), fleet.Accounts, "once.x")
	require.ErrorIs(t, err, fleet.ErrMissing)
	_, err = s.Update(t.Context(), fleet.Accounts, "once.x", []byte("a"), 1, 0)
	require.ErrorIs(t, err, fleet.ErrConflict)
	rev, err := s.Update(t.Context(), fleet.Accounts, "once.x", []byte("a"), 0, 0)
	require.NoError(t, err)
	_, err = s.Update(t.Context(), fleet.Accounts, "once.x", []byte("b"), 0, 0)
	require.ErrorIs(t, err, fleet.ErrConflict)
	require.NoError(t, s.Delete(t.Context(), fleet.Accounts, "once.x", rev))
	_, err = s.Update(t.Context(), fleet.Accounts, "once.x", []byte("c"), rev, 0)
	require.ErrorIs(t, err, fleet.ErrConflict, "gone is not there")
	_, err = s.Update(t.Context(), fleet.Accounts, "once.x", []byte("d"), 0, 0)
	require.NoError(t, err, "what is gone may be created again")
}

func byRevision(t *testing.T, s fleet.Store) {
	first, err := s.Update(t.Context(), fleet.Leases, "by.revision", []byte("1"), 0, 0)
	require.NoError(t, err)
	second, err := s.Update(t.Context(), fleet.Leases, "by.revision", []byte("2"), first, 0)
	require.NoError(t, err)
	require.Greater(t, second, first)
	_, err = s.Update(t.Context(), fleet.Leases, "by.revision", []byte("late"), first, 0)
	require.ErrorIs(t, err, fleet.ErrConflict)
	require.ErrorIs(t, s.Delete(t.Context(), fleet.Leases, "by.revision", first), fleet.ErrConflict)
	e, err := s.Get(t.Context(), fleet.Leases, "by.revision")
	require.NoError(t, err)
	require.Equal(t, fleet.Entry{Key: "by.revision", Value: []byte("2"), Rev: second, At: e.At}, e)
	require.WithinDuration(t, time.Now(), e.At, patience)
	all, err := s.List(t.Context(), fleet.Leases, "by.")
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Equal(t, e.Value, all[0].Value)
	all, err = s.List(t.Context(), fleet.Leases, "of.nobody")
	require.NoError(t, err)
	require.Empty(t, all)
}

func oneWins(t *testing.T, s fleet.Store) {
	rev, err := s.Update(t.Context(), fleet.Accounts, "contended.x", []byte("free"), 0, 0)
	require.NoError(t, err)
	var (
		hosts sync.WaitGroup
		won   atomic.Int32
	)
	for i := range 20 {
		hosts.Go(func() {
			_, err := s.Update(t.Context(), fleet.Accounts, "contended.x", fmt.Append(nil, i), rev, 0)
			if err == nil {
				won.Add(1)
			} else if !errors.Is(err, fleet.ErrConflict) {
				t.Errorf("neither won nor lost: %v", err)
			}
		})
	}
	hosts.Wait()
	require.EqualValues(t, 1, won.Load())
}

func changesAreTold(t *testing.T, s fleet.Store) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	changes, err := s.Watch(ctx)
	require.NoError(t, err)
	_, err = s.Update(ctx, fleet.Leases, "untold", []byte("-"), 0, 0)
	require.NoError(t, err)
	rev, err := s.Update(ctx, fleet.Accounts, "told.a", []byte("1"), 0, 0)
	require.NoError(t, err)
	e := <-changes
	require.Equal(t, "told.a", e.Key)
	require.Equal(t, []byte("1"), e.Value)
	require.Equal(t, rev, e.Rev)
	require.NoError(t, s.Delete(ctx, fleet.Accounts, "told.a", rev))
	e = <-changes
	require.Equal(t, "told.a", e.Key)
	require.True(t, e.Gone)
	cancel()
	for range changes { // is closed
	}
}

func noticeOnce(t *testing.T, s fleet.Store) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for i, id := range []string{"a", "a", "b"} {
		first, err := s.Publish(ctx, "box", id, fmt.Appendf(nil, "of %s, %d", id, i))
		require.NoError(t, err)
		require.Equal(t, "box", first.Host)
		require.Equal(t, map[bool]string{true: "of a, 0", false: "of b, 2"}[id == "a"], string(first.Data))
	}
	first, leave := context.WithCancel(ctx)
	told, verdict, ended := listen(first, s)
	n := <-told
	require.Equal(t, "of a, 0", string(n.Data))
	ofA := n.ID
	require.Equal(t, "box", n.Host)
	require.WithinDuration(t, time.Now(), n.At, patience)
	verdict <- nil
	n = <-told
	require.Equal(t, "of b, 2", string(n.Data), "the second one by the same id was dropped")
	require.NotEqual(t, ofA, n.ID)
	leave() // before it was done with
	require.Error(t, <-ended)
	told, verdict, _ = listen(ctx, s)
	n = <-told
	require.Equal(t, "of b, 2", string(n.Data))
	verdict <- nil
}

// listen passes on each notice, and returns the verdict that the test sends.
func listen(ctx context.Context, s fleet.Store) (told chan fleet.Notice, verdict, ended chan error) {
	told, verdict, ended = make(chan fleet.Notice), make(chan error), make(chan error, 1)
	go func() {
		ended <- s.Notices(ctx, func(ctx context.Context, n fleet.Notice) error {
			select {
			case told <- n:
			case <-ctx.Done():
				return ctx.Err()
			}
			select {
			case err := <-verdict:
				return err
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	return told, verdict, ended
}
