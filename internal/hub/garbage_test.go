package hub

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/fleet"
)

// The requests of each heartbeat allocate little: garbage takes memory of the daemon until it is
// collected, which takes minutes.
func TestAHeartbeatLeavesLittleGarbage(t *testing.T) { // not parallel: the allocations of the whole process are counted
	dir, invitation := newHub(t)
	process(t, seat{Dir: dir})
	store := joined(t, invitation, "box")
	_, err := store.Update(t.Context(), fleet.Leases, fleet.HostKey("box"), []byte("{}"), 0, 0)
	require.NoError(t, err)
	beat := func() {
		_, err := store.Now(t.Context())
		require.NoError(t, err)
		found, err := store.List(t.Context(), fleet.Leases, fleet.HostKey(""))
		require.NoError(t, err)
		require.Len(t, found, 1)
	}
	beat() // what is allocated once is not counted
	const beats = 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range beats {
		beat()
	}
	runtime.ReadMemStats(&after)
	require.Less(t, (after.TotalAlloc-before.TotalAlloc)/beats, uint64(100<<10), "bytes a heartbeat")
}
