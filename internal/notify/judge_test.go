package notify

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// judged is a notice whose first try has ended so.
func judged(ctx context.Context, store *memStore, random float64, err error) *item {
	n := New(Options{Store: store, Log: slog.New(slog.DiscardHandler), Rand: func() float64 { return random }})
	s := newSender(n, &Channel{Common: Common{Name: "phone"}})
	it := &item{Delivery: Delivery{ID: "n1", Channel: "phone", At: time.Now()}, due: time.Now(), until: time.Now().Add(keepTrying)}
	s.queue = []*item{it}
	s.judge(ctx, it, err)
	return it
}

// A server that comes back is not asked by all its hosts in the same moment.
func TestTriesOfManyHostsAreSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		early := judged(t.Context(), newMemStore(), 0, errors.New("down")).due.Sub(now)
		late := judged(t.Context(), newMemStore(), 0.999, errors.New("down")).due.Sub(now)
		require.InDelta(t, 4.5, early.Seconds(), 0.01)
		require.InDelta(t, 5.5, late.Seconds(), 0.01)
	})
}

// What a server answers is shown to people, and stored.
func TestAnErrorThatIsStoredIsShortAndPlain(t *testing.T) {
	store := newMemStore()
	judged(t.Context(), store, 0, errors.New("\x1b[2Jdown"+strings.Repeat(" again", 1000)))
	store.flush()
	stored := store.Pending()[0].LastErr
	require.NotContains(t, stored, "\x1b")
	require.Contains(t, stored, "down")
	require.Less(t, len(stored), 600)
}

// A daemon that stops while a notice arrives would send it again.
func TestWhatArrivedDuringAStopIsStored(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	store := newMemStore()
	judged(ctx, store, 0, nil)
	require.Equal(t, []string{string(Delivered)}, store.outcomes())
}
