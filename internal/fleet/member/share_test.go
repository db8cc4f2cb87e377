package member

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/fleet"
	"resumed/internal/notify"
	"resumed/internal/resume"
)

// told is what people were told by the hosts of a fleet.
type told struct {
	by      []string
	percent []float64
}

// usageHost is a host that hands in how much of an allowance is used, and tells people when it is
// its turn.
func usageHost(t *testing.T, store fleet.Store, name string, local resume.AccountKey, heard *told) *Client {
	t.Helper()
	m := &membership{host: name, identities: fleet.Identities{Find: func(resume.Session) string { return "5eed.-" }, Found: func() {}}}
	m.identities.Await(t.Context(), resume.Session{Account: local.Name, Provider: local.Provider})
	m.fleet = fleet.New(fleet.Options{
		Store: store, Host: name, Life: name, Rand: func() float64 { return 0.5 },
		Rules: func() fleet.Rules { return fleet.Rules{} }, Account: func(resume.Session) string { return "" }, Stir: func(context.Context) {},
		Deliver: func(_ context.Context, n fleet.Notice) error {
			var notice notify.Notice
			require.NoError(t, json.Unmarshal(n.Data, &notice))
			heard.by = append(heard.by, name)
			heard.percent = append(heard.percent, notice.Allowance.Percent)
			return nil
		},
	})
	c := &Client{}
	c.state.Store(&state{membership: m})
	return c
}

// Three hosts use one account, and each of them sees a mark passed: people are told once, and
// again at the next mark and in the next window.
func TestUsageIsToldOnceForAllHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, heard := fleet.NewMemory(time.Now), &told{}
		accounts := []resume.AccountKey{{Name: "codex:default"}, {Name: "codex:default"}, {Name: "codex:work"}} // one, whatever hosts call it
		var hosts []*Client
		for i, name := range []string{"laptop", "server", "box"} {
			c := usageHost(t, store, name, accounts[i], heard)
			hosts = append(hosts, c)
			go func() { _ = c.current().fleet.Run(t.Context()) }()
		}
		settle := func() { time.Sleep(2 * fleet.Heartbeat); synctest.Wait() }
		settle()
		all := func(percent float64, resets time.Time) {
			for i, c := range hosts {
				require.True(t, c.Share(t.Context(), notify.Notice{
					Event: notify.Usage, Account: accounts[i].Name, Sessions: []resume.View{},
					Allowance: &notify.Allowance{Window: "five_hour", Percent: percent, ResetsAt: resets.Add(time.Duration(i) * time.Second)},
				}), "the fleet tells it")
			}
			settle()
		}
		window := time.Now().Add(3 * time.Hour)
		all(80, window)
		require.Equal(t, []float64{80}, heard.percent)
		all(80, window)
		require.Equal(t, []float64{80}, heard.percent, "who comes late is heard, and nobody is told again")
		all(95, window)
		require.Equal(t, []float64{80, 95}, heard.percent)
		all(80, window.Add(5*time.Hour))
		require.Equal(t, []float64{80, 95, 80}, heard.percent)
		require.Subset(t, heard.by[:1], heard.by, "by one of them")

		another := notify.Notice{Event: notify.Usage, Account: "codex:private", Allowance: &notify.Allowance{Window: "five_hour", Percent: 80, ResetsAt: window}}
		require.False(t, hosts[0].Share(t.Context(), another), "of an account that nobody knows each host tells itself")
	})
}
