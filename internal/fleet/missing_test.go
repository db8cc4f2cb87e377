package fleet

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A host that vanished counts as missing as long as its sessions may still be shown.
func TestAHostThatVanishedIsMissedForADay(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	f := New(Filled(Options{Host: "here", Now: func() time.Time { return now }}))
	rev := uint64(0)
	see := func(hosts ...Host) {
		var entries []Entry
		for _, h := range hosts {
			data, err := json.Marshal(h)
			require.NoError(t, err)
			rev++
			entries = append(entries, Entry{Key: HostKey(h.Host), Value: data, Rev: rev, At: now})
		}
		f.updateHosts(entries)
	}
	here := Host{Host: "here"}
	busy, idle, left := Host{Host: "busy", Shows: map[string]int{"a": 2}}, Host{Host: "idle"}, Host{Host: "left", Shows: map[string]int{"a": 1}, Bye: true}
	see(here, busy, idle, left)
	require.Empty(t, f.Missing())
	see(here)
	require.Empty(t, f.Missing(), "its lease cannot have expired yet: a server that was restarted has lost it")
	require.Len(t, f.Hosts(), 3)
	now = now.Add(renewals * Heartbeat)
	see(here)
	require.Len(t, f.Hosts(), 1)
	require.Len(t, f.Missing(), 1)
	require.NotContains(t, f.missing, "idle", "a host without sessions is forgotten at once")
	require.Equal(t, "busy", f.Missing()[0].Host)
	require.Equal(t, map[string]int{"a": 2}, f.Missing()[0].Shows)
	see(here, busy)
	require.Empty(t, f.Missing(), "it is back")
	now = now.Add(renewals * Heartbeat)
	see(here)
	require.Len(t, f.Missing(), 1)
	now = f.missing["busy"].SeenAt.Add(ViewTTL)
	see(here)
	require.Len(t, f.Missing(), 1, "its sessions are shown until then")
	now = now.Add(time.Second)
	see(here)
	require.Empty(t, f.Missing(), "nothing of it is shown any more")
}
