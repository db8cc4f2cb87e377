package hub

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"resumed/internal/fleet"
	"resumed/internal/fleet/natskv"
)

// What one host holds, another host can neither delete nor hold too. After a release, the first host
// that asks gets it.
func TestWhatAHostHoldsIsItsOwn(t *testing.T) {
	t.Parallel()
	dir, invitation := newHub(t)
	serve(t, Options{Dir: dir})
	alice, mallory := joined(t, invitation, "alice"), joined(t, invitation, "mallory")
	ctx := t.Context()
	for key, b := range map[string]fleet.Bucket{
		fleet.SessionKey("h"): fleet.Leases, fleet.ProbeKey("a.anthropic"): fleet.Leases, fleet.NotifierKey: fleet.Leases, fleet.OwnerKey("h"): fleet.Accounts,
	} {
		rev, err := alice.Update(ctx, b, key, []byte("alice's"), 0, 0)
		require.NoError(t, err, key)
		_, err = mallory.Update(ctx, b, key, []byte("mallory's"), 0, 0)
		require.ErrorIs(t, err, fleet.ErrConflict, key)
		_, err = mallory.Update(ctx, b, key, []byte("mallory's"), rev-1, 0)
		require.ErrorIs(t, err, fleet.ErrConflict, key)
		require.ErrorIs(t, mallory.Delete(ctx, b, key, rev), fleet.ErrConflict, key)

		over, err := mallory.Update(ctx, b, key, []byte("mallory's"), rev, 0) // a host that has read the revision may replace the holder
		require.NoError(t, err, key)
		_, err = alice.Update(ctx, b, key, []byte("late"), rev, 0)
		require.ErrorIs(t, err, fleet.ErrConflict, key)
		e, err := alice.Get(ctx, b, key)
		require.NoError(t, err)
		require.Equal(t, "mallory", e.By)
		require.NoError(t, mallory.Delete(ctx, b, key, over))
		e, err = mallory.Get(ctx, b, key)
		require.NoError(t, err, "what alice wrote is there")
		require.Equal(t, "alice's", string(e.Value))
		require.Equal(t, "alice", e.By)
		_, err = mallory.Update(ctx, b, key, []byte("mallory's"), 0, 0)
		require.ErrorIs(t, err, fleet.ErrConflict, key)

		renewed, err := alice.Update(ctx, b, key, []byte("alice's"), e.Rev, 0)
		require.NoError(t, err, key)
		all, err := mallory.List(ctx, b, key)
		require.NoError(t, err)
		require.Len(t, all, 1)
		require.Equal(t, key, all[0].Key)
		require.NoError(t, alice.Delete(ctx, b, key, renewed))
		_, err = alice.Get(ctx, b, key)
		require.ErrorIs(t, err, fleet.ErrMissing)
		_, err = mallory.Update(ctx, b, key, []byte("mallory's"), 0, 0)
		require.NoError(t, err, key)
	}
}

// Of many hosts that want the same key, one gets it.
func TestOneHostHoldsASession(t *testing.T) {
	t.Parallel()
	dir, invitation := newHub(t)
	serve(t, Options{Dir: dir})
	var hosts []fleet.Store
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		hosts = append(hosts, joined(t, invitation, name))
	}
	for range 50 {
		var asking sync.WaitGroup
		revisions := make([]uint64, len(hosts)) // 0: the host did not get it
		for i, h := range hosts {
			asking.Go(func() {
				rev, err := h.Update(t.Context(), fleet.Leases, fleet.SessionKey("s"), []byte("x"), 0, 0)
				if err == nil {
					revisions[i] = rev
				}
			})
		}
		asking.Wait()
		holders := 0
		for i, rev := range revisions {
			if rev != 0 {
				holders++
				require.NoError(t, hosts[i].Delete(t.Context(), fleet.Leases, fleet.SessionKey("s"), rev))
			}
		}
		require.Equal(t, 1, holders)
	}
}

// A host that writes without end fills only its share of the hub, and does not affect the others.
func TestAFloodOfOneHostIsCut(t *testing.T) {
	t.Parallel()
	dir, invitation := newHub(t)
	server := process(t, seat{Dir: dir, Unlimited: true})
	machines := machinesOf(t, invitation)
	alice, o := open(t, machines["alice"]), machines["mallory"]
	nc, err := o.Dial()
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	_, err = alice.Update(t.Context(), fleet.View, "alice.bot.1", []byte("{}"), 0, 0)
	require.NoError(t, err)

	const views, kept = 6000, 4000
	large := []byte(strings.Repeat("x", fleet.LargestValue-1000))
	for i := range views {
		require.NoError(t, nc.Publish(fmt.Sprintf("$KV.resumed_view.mallory.bot.%d", i), large))
		if i%100 == 0 {
			require.NoError(t, nc.FlushTimeout(limit))
		}
	}
	until(t, "it is cut", func() bool {
		page, err := alice.Page(t.Context(), fleet.View, 0, 1)
		return err == nil && page.Left < kept
	})
	_, err = alice.Get(t.Context(), fleet.View, "alice.bot.1")
	require.NoError(t, err, "what others show stays")
	_, err = nc.Request("$KV.resumed_view.mallory.bot.0", []byte(strings.Repeat("x", fleet.LargestValue+1)), limit)
	require.NoError(t, err)
	_, err = alice.Get(t.Context(), fleet.View, "mallory.bot.0")
	require.ErrorIs(t, err, fleet.ErrMissing, "what is too large is refused")
	t.Logf("hub: %d MB", resident(t, server.proc.Process.Pid)>>20)

	flooded(t, machines)
	require.NoError(t, Remove(dir, "mallory"))
	until(t, "what a removed host has stored is gone", func() bool {
		all, err := alice.List(t.Context(), fleet.View, "")
		return err == nil && len(all) == 1
	})
}

// flooded makes a member write more accounts, leases and notices than fit into their streams. The others
// write theirs all the same, and only a little of that member is left.
func flooded(t *testing.T, machines map[string]natskv.Options) {
	t.Helper()
	alice := open(t, machines["alice"])
	_, err := alice.Update(t.Context(), fleet.Accounts, "mine.anthropic", []byte("alice's"), 0, 0)
	require.NoError(t, err)
	nc, err := machines["mallory"].Dial()
	require.NoError(t, err)
	defer nc.Close()
	for subject, size := range map[string]int{
		"$KV.resumed_accounts.%d.anthropic.mallory": 1900, "$KV.resumed_leases.sess.%d.mallory": 3900, "$KV.resumed_leases.probe.%d.x.mallory": 3900,
		"resumed.v1.notice.mallory.%d": 16000, "$KV.resumed_accounts.big%d.anthropic.mallory": 16000,
	} {
		stream := mostNoticeBytes
		if strings.Contains(subject, "leases") {
			stream = mostBytes[fleet.Leases]
		}
		for i := range int(stream)/size + 1000 {
			require.NoError(t, nc.Publish(fmt.Sprintf(subject, i), make([]byte, size)))
			if i%100 == 0 {
				require.NoError(t, nc.FlushTimeout(limit))
			}
		}
		for i := range 20 { // while nothing is removed yet
			until(t, "others write "+subject, func() bool {
				_, err := alice.Update(t.Context(), fleet.Accounts, fmt.Sprint("of", i, ".", size), []byte("alice's"), 0, 0)
				_, err2 := alice.Update(t.Context(), fleet.Leases, fleet.SessionKey(fmt.Sprint("of", i, "-", size)), []byte("alice's"), 0, 0)
				_, err3 := alice.Publish(t.Context(), "alice", fmt.Sprint(subject, i), []byte("alice's"))
				done := func(err error) bool { return err == nil || errors.Is(err, fleet.ErrConflict) }
				return done(err) && done(err2) && done(err3)
			})
		}
	}
	e, err := alice.Get(t.Context(), fleet.Accounts, "mine.anthropic")
	require.NoError(t, err, "what is others' stays")
	require.Equal(t, "alice's", string(e.Value))
	left := func(b fleet.Bucket) (n int) {
		all, err := alice.List(t.Context(), b, "")
		require.NoError(t, err)
		for _, e := range all {
			if e.By == "mallory" {
				n++
			}
		}
		return n
	}
	for b, kinds := range map[fleet.Bucket]int{fleet.Accounts: 1, fleet.Leases: 2} {
		until(t, "it is cut", func() bool { return left(b) <= kinds*(mostRecords+betweenCuts) })
	}
}

// A machine that writes without pause is not let in for a while: the others do not wait for what it has sent.
func TestAMachineThatWritesWithoutPauseIsLeftOut(t *testing.T) {
	t.Parallel()
	for _, subject := range []string{"$KV.resumed_accounts.%d.x.mallory", "$KV.resumed_leases.sess.%d.mallory", "resumed.v1.notice.mallory.%d"} {
		t.Run(subject, func(t *testing.T) {
			t.Parallel()
			dir, invitation := newHub(t)
			serve(t, Options{Dir: dir})
			machines := machinesOf(t, invitation)
			alice := open(t, machines["alice"])
			nc, err := machines["mallory"].Dial(nats.NoReconnect())
			require.NoError(t, err)
			defer nc.Close()
			for i := 0; nc.IsConnected(); i++ {
				require.Less(t, i, 1_000_000)
				_ = nc.Publish(fmt.Sprintf(subject, i), []byte("{}"))
				if i%100 == 0 {
					_ = nc.FlushTimeout(limit)
				}
			}
			_, err = machines["mallory"].Dial(nats.NoReconnect())
			require.ErrorIs(t, err, nats.ErrAuthorization)
			until(t, "others are served", func() bool {
				_, err := alice.Update(t.Context(), fleet.Accounts, "a.x", []byte("{}"), 0, 0)
				return err == nil || errors.Is(err, fleet.ErrConflict)
			})
			require.True(t, alice.Connected())
		})
	}
}
