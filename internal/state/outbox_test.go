package state

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// add stores a notice for channels and syncs.
func add(t *testing.T, s *Store, id string, channels []string, payload []byte, at time.Time) error {
	t.Helper()
	var open []Delivery
	for _, channel := range channels {
		open = append(open, Delivery{ID: id, Channel: channel, Payload: payload, At: at})
	}
	s.StoreOutbox(open, "told", []byte("told "+id))
	return s.Sync(t.Context())
}

func TestNoticesArePendingUntilTheyAreDone(t *testing.T) {
	s := open(t, t.TempDir())
	at := time.UnixMilli(1_800_000_000_000)
	ctx := t.Context()
	require.NoError(t, add(t, s, "n1", []string{"desktop", "ops"}, []byte(`{"a":1}`), at))
	require.NoError(t, add(t, s, "n2", []string{"ops"}, []byte("two"), at.Add(time.Second)))
	require.NoError(t, s.Done(ctx, "n1", "desktop", "delivered"))
	s.StoreOutbox([]Delivery{
		{ID: "n1", Channel: "ops", Payload: []byte(`{"a":1}`), At: at, Tries: 3, NextAt: at.Add(time.Minute), LastErr: "503"},
		{ID: "n1", Channel: "desktop", Payload: []byte(`{"a":1}`), At: at, Tries: 9, NextAt: at, LastErr: "late news of one that is done"},
	}, "", nil)

	want := []Delivery{
		{ID: "n1", Channel: "ops", Payload: []byte(`{"a":1}`), At: at, Tries: 3, NextAt: at.Add(time.Minute), LastErr: "503"},
		{ID: "n2", Channel: "ops", Payload: []byte("two"), At: at.Add(time.Second)},
	}
	require.Equal(t, want, s.Pending())
	s = reopen(t, s)
	require.Equal(t, want, s.Pending())

	told, _ := s.Value("told")
	require.Equal(t, "told n2", string(told))

	require.NoError(t, add(t, s, "n1", []string{"desktop", "ops"}, []byte("more"), at), "keeping it twice is no error")
	want[0].Payload, want[0].Tries, want[0].NextAt, want[0].LastErr = []byte("more"), 0, time.Time{}, ""
	require.Equal(t, want, s.Pending(), "and what is over is not delivered again")
	s = reopen(t, s)
	require.Equal(t, want, s.Pending())
}

func TestANoticeOnAFullDiskIsPendingAllTheSame(t *testing.T) {
	s := open(t, t.TempDir())
	shrinkDisk(t, s)
	payload := make([]byte, 50_000)
	require.Error(t, add(t, s, "n1", []string{"a", "b"}, payload, time.Now()))
	require.Len(t, s.Pending(), 2)
	require.Error(t, s.Done(t.Context(), "n1", "a", "delivered"))
	require.Len(t, s.Pending(), 1, "what was delivered must not be delivered again because the disk is full")
	growDisk(t, s)
	s = reopen(t, s)
	require.Len(t, s.Pending(), 1)
	require.Equal(t, "b", s.Pending()[0].Channel)
}

func TestOldDeliveriesAreForgottenAndOpenOnesAreNot(t *testing.T) {
	s := open(t, t.TempDir())
	old := time.Now().Add(-30 * 24 * time.Hour)
	require.NoError(t, add(t, s, "n1", []string{"done", "open"}, nil, old))
	require.NoError(t, s.Done(t.Context(), "n1", "done", "delivered"))
	s.pruneDeliveries(time.Now().Add(time.Minute))
	s = reopen(t, s)
	require.Len(t, s.Pending(), 1)
	require.Len(t, s.deliveries, 1)
}

// A notice that was delivered is remembered for a week: its channel is not told twice.
func TestAFinishedNoticeIsNotDeliveredAgainForAWeek(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := open(t, dir)
		t.Cleanup(func() { s.Close() })
		pending := func() int {
			require.NoError(t, s.Prune(t.Context(), 0, 0))
			require.NoError(t, add(t, s, "n1", []string{"ops"}, nil, time.Now()))
			return len(s.Pending())
		}
		require.Equal(t, 1, pending())
		require.NoError(t, s.Done(t.Context(), "n1", "ops", "delivered"))
		require.Zero(t, pending())
		time.Sleep(doneFor)
		require.Zero(t, pending())
		time.Sleep(time.Minute)
		require.Equal(t, 1, pending(), "and then it is forgotten")
	})
}
