package notify

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWhatHostsShareIsHandedInAndToldByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var handed []Notice
		alone := false
		here, store := &fakeChannel{name: "a", events: Events()}, newMemStore()
		n := running(t, Options{
			Store: store, Config: Config{Channels: ways(here), GroupWait: time.Second},
			Share: func(_ context.Context, notice Notice) bool {
				if alone {
					return false
				}
				handed = append(handed, notice)
				return true
			},
		})
		n.Report(Limited, session("account", 1))
		n.Report(Limited, session("account", 2))
		time.Sleep(2 * lookTime)
		synctest.Wait()
		require.Len(t, handed, 1)
		require.Len(t, handed[0].Sessions, 2)
		require.Empty(t, here.notices())
		require.Equal(t, "shared", store.outcomes()[0])

		n.Report(GaveUp, session("account", 3))
		time.Sleep(2 * lookTime)
		synctest.Wait()
		require.Len(t, here.notices(), 1, "what is one session's is told where it is")
		require.Len(t, handed, 1)

		alone = true
		n.Report(Limited, session("other", 4))
		time.Sleep(2 * lookTime)
		synctest.Wait()
		require.Len(t, here.notices(), 2, "a host that is alone tells people itself")
		require.True(t, n.CanReport())
	})
}

func TestANoticeThatIsAcceptedIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, quiet := &fakeChannel{name: "a", events: []Event{Limited}}, &fakeChannel{name: "b", events: []Event{GaveUp}}
		n := running(t, Options{Config: Config{Channels: ways(here, quiet)}})
		for range 2 { // the second time, as if the first acknowledgement was lost
			require.NoError(t, n.Accept(t.Context(), Notice{ID: "x", Event: Limited, Host: "other", Title: "limited"}))
			settle()
		}
		require.Len(t, here.notices(), 1)
		require.Equal(t, "other", here.notices()[0].Host)
		require.Empty(t, quiet.notices())
	})
}

func TestANoticeThatNobodyHereWantsIsLeftToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := running(t, Options{Config: Config{Channels: ways(&fakeChannel{name: "a", events: []Event{Usage}})}})
		require.True(t, n.CanReport(), "of what is used")
		require.ErrorContains(t, n.Accept(t.Context(), Notice{ID: "x", Event: Limited, Host: "other"}), "another host sends it")
		require.False(t, n.CanReport(), "another one has its turn")
		time.Sleep(declineFor)
		require.True(t, n.CanReport())
		require.Error(t, n.Accept(t.Context(), Notice{ID: "y", Event: Limited, Host: "other"}))
		require.True(t, n.CanReport(), "whoever hands in what nobody wants does not keep this host from telling the rest")
		time.Sleep(declineAgain)
		require.Error(t, n.Accept(t.Context(), Notice{ID: "z", Event: Limited, Host: "other"}))
		require.False(t, n.CanReport())
	})
}

func TestWhoIsToldOfParkedSessionsIsToldOfHostsThatAreGone(t *testing.T) {
	c := Config{Channels: ways(&fakeChannel{name: "a", events: []Event{Parked}}, &fakeChannel{name: "b", events: []Event{Recovered}})}
	require.Equal(t, []string{"a"}, c.wanting(HostGone))
}
