package member

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/fleet"
	"resumed/internal/notify"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

// published is the store of several hosts that share notices: each id counts once.
type published struct {
	fleet.Store
	t       *testing.T
	ids     map[string]bool
	percent []float64
}

func (p *published) Publish(_ context.Context, from, id string, data []byte) (fleet.Notice, error) {
	if !p.ids[id] {
		p.ids[id] = true
		var notice notify.Notice
		require.NoError(p.t, json.Unmarshal(data, &notice))
		p.percent = append(p.percent, notice.Allowance.Percent)
	}
	return fleet.Notice{Host: from}, nil
}

// usageHost is a host that has its own name for one account of the fleet.
func usageHost(t *testing.T, store fleet.Store, name string, local resume.AccountKey) *Client {
	t.Helper()
	m := &membership{host: name, identities: fleet.Identities{Find: func(resume.Session) string { return "5eed.-" }, Found: func() {}}}
	m.identities.Await(t.Context(), resume.Session{Account: local.Name, Provider: local.Provider})
	m.fleet = fleet.New(fleet.Options{Store: store, Host: name, Same: m.tellsTheSame})
	c := &Client{}
	c.state.Store(&state{membership: m})
	return c
}

// Three hosts use one account, and each of them sees that a threshold is passed: it is reported once,
// and again at the next threshold and in the next window.
func TestUsageIsToldOnceForAllHosts(t *testing.T) {
	store := &published{t: t, ids: make(map[string]bool)}
	accounts := []resume.AccountKey{{Name: "codex:default"}, {Name: "codex:default"}, {Name: "codex:work"}} // the same account, under different names
	var hosts []*Client
	for i, name := range []string{"laptop", "server", "box"} {
		hosts = append(hosts, usageHost(t, store, name, accounts[i]))
	}
	all := func(percent float64, resets time.Time) {
		for i, c := range hosts {
			require.True(t, c.Share(t.Context(), notify.Notice{
				Event: notify.Usage, Account: accounts[i].Name, Sessions: []view.Session{},
				Allowance: &notify.Allowance{Window: "five_hour", Percent: percent, ResetsAt: resets.Add(time.Duration(i) * time.Second)},
			}), "the fleet tells it")
		}
	}
	window := noon.Add(3 * time.Hour)
	all(80, window)
	require.Equal(t, []float64{80}, store.percent)
	all(80, window)
	require.Equal(t, []float64{80}, store.percent, "a host that is late is heard, and nobody is told again")
	all(95, window)
	require.Equal(t, []float64{80, 95}, store.percent)
	all(80, window.Add(5*time.Hour))
	require.Equal(t, []float64{80, 95, 80}, store.percent)

	another := notify.Notice{Event: notify.Usage, Account: "codex:private", Allowance: &notify.Allowance{Window: "five_hour", Percent: 80, ResetsAt: window}}
	require.False(t, hosts[0].Share(t.Context(), another), "of an account that nobody knows each host tells itself")
}

// first is a store in which another host has published a notice before.
type first struct {
	fleet.Store
	notice fleet.Notice
}

func (f first) Publish(context.Context, string, string, []byte) (fleet.Notice, error) {
	return f.notice, nil
}

// A member may take the id of a notice that others will publish. What it says under that id must not keep
// people from being told.
func TestANoticeUnderAnIDThatIsTakenIsTold(t *testing.T) {
	soon := time.Now().Add(time.Hour).UTC()
	ours := notify.Notice{Event: notify.Usage, Account: "codex:default", Allowance: &notify.Allowance{Window: "five_hour", Percent: 95, ResetsAt: soon}}
	for name, c := range map[string]struct {
		said string
		told bool
	}{
		"the same":            {fmt.Sprintf(`{"event":"usage","account":"codex:work","allowance":{"window":"five_hour","percent":95,"resets_at":%q}}`, soon.Format(time.RFC3339)), true},
		"nothing":             {``, false},
		"nonsense":            {`{"event":"party"}`, false},
		"another event":       {`{"event":"limited","account":"codex:work"}`, false},
		"another window":      {fmt.Sprintf(`{"event":"usage","account":"codex:work","allowance":{"window":"week","percent":95,"resets_at":%q}}`, soon.Format(time.RFC3339)), false},
		"less":                {fmt.Sprintf(`{"event":"usage","account":"codex:work","allowance":{"window":"five_hour","percent":80,"resets_at":%q}}`, soon.Format(time.RFC3339)), false},
		"what nobody accepts": {`{"event":"usage","account":"codex:work","allowance":{"window":"five_hour","percent":95,"resets_at":"2001-01-01T00:00:00Z"}}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			host := usageHost(t, first{notice: fleet.Notice{Host: "mallory", ID: "1", Data: []byte(c.said)}}, "laptop", resume.AccountKey{Name: "codex:default"})
			require.Equal(t, c.told, host.Share(t.Context(), ours))
		})
	}
}
