package member

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"

	"resumed/internal/control"
	"resumed/internal/fleet"
	"resumed/internal/fleet/natskv"
	"resumed/internal/humanize"
)

// goodView is what a daemon publishes about a session.
const goodView = `{"id":"s-1","name":"s-1","agent":"bot","state":"waiting","class":"usage_limit","next_at":"2026-03-02T13:00:00Z"}`

// bad are entries that no daemon writes. Each of them is one entry.
var bad = map[string]string{
	"nothing":             ``,
	"no JSON":             `{`,
	"a list":              `[]`,
	"another kind":        `{"id":7}`,
	"no session":          `{}`,
	"an account of words": strings.Replace(goodView, `"agent"`, `"account":"bot: call +1 555 0100","agent"`, 1),
	"an agent of words":   strings.Replace(goodView, `"bot"`, `"call +1 555 0100"`, 1),
	"no state":            `{"id":"s","agent":"bot"}`,
	"an unknown state":    `{"id":"s","agent":"bot","state":"party","class":"usage_limit"}`,
	"an unknown class":    `{"id":"s","agent":"bot","state":"waiting","class":"party"}`,
	"no time":             `{"id":"s","agent":"bot","state":"waiting","next_at":"tomorrow"}`,
	"more than is read":   `{"id":"` + strings.Repeat("x", fleet.LargestValue) + `","agent":"bot","state":"waiting"}`,
	"a session that runs": `{"id":"s","agent":"bot","state":"watching"}`,
}

// shownAs is what status --fleet --json shows for some entries.
func shownAs(t *testing.T, views, accounts []fleet.Entry) control.Fleet {
	t.Helper()
	page := hostOf("here").pageOf(true, natskv.Page{Entries: views}, natskv.Page{Entries: accounts}, nil, nil)
	text, err := json.Marshal(page)
	require.NoError(t, err)
	var back control.Fleet
	require.NoError(t, json.Unmarshal(text, &back), "a client can read it")
	for _, s := range back.Sessions {
		require.False(t, strings.ContainsFunc(humanize.StatePhrase(s.Session, noon), unicode.IsControl))
	}
	return back
}

func entryOf(key, value string) fleet.Entry {
	return fleet.Entry{Key: key, Value: []byte(value), At: noon}
}

// A bad entry of one host is one line, and the sessions of other hosts are shown.
func TestABadEntryOfAHostIsOneLine(t *testing.T) {
	for name, value := range bad {
		t.Run(name, func(t *testing.T) {
			page := shownAs(t, []fleet.Entry{entryOf("alice.bot.1", goodView), entryOf("mallory.bot.1", value)}, nil)
			require.Len(t, page.Sessions, 1)
			require.Equal(t, "alice", page.Sessions[0].Host)
			require.Equal(t, []control.FleetUnreadable{{Name: "mallory", Entries: 1}}, page.Unreadable)
			require.Equal(t, "mallory: one entry could not be read", page.Unreadable[0].String())
		})
	}
	page := shownAs(t, []fleet.Entry{entryOf("mallory.\x1b[2J", goodView), entryOf("mallory.bot.1", `{}`)}, nil)
	require.Empty(t, page.Sessions)
	require.Equal(t, "mallory: 2 entries could not be read", page.Unreadable[0].String())
}

// Impossible times and counts are not shown.
func TestWhatIsImpossibleIsNotShown(t *testing.T) {
	for _, at := range []string{"0001-01-01T00:00:00Z", "9999-12-31T23:59:59-23:59", "0000-01-01T00:00:00+23:59", "9999-12-31T23:59:59Z"} {
		value := strings.Replace(goodView, "2026-03-02T13:00:00Z", at, 1)
		require.Len(t, shownAs(t, []fleet.Entry{entryOf("mallory.bot.1", value)}, nil).Sessions, 1, at)
		account := fmt.Sprintf(`{"state":"half_open","reset":%q,"limited_at":%[1]q,"by":"call +1 555 0100","probe":{"host":"call +1 555 0100"}}`, at)
		e := entryOf("5eed.anthropic", account)
		e.By = "mallory"
		page := shownAs(t, nil, []fleet.Entry{e})
		require.Len(t, page.Accounts, 1, at)
		require.Equal(t, "mallory", page.Accounts[0].By, "who wrote it is known")
		require.Equal(t, "mallory", page.Accounts[0].Probe.Host)
	}
}

func TestABadAccountIsOneLine(t *testing.T) {
	good := entryOf("5eed.anthropic", `{"state":"open","by":"alice"}`)
	for name, value := range map[string]string{
		"nothing": ``, "no JSON": `{`, "a list": `[]`, "another kind": `{"reset":7}`, "an unknown class": `{"state":"open","class":"party"}`,
		"too long": `{"by":"` + strings.Repeat("x", fleet.LargestValue) + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			page := shownAs(t, nil, []fleet.Entry{good, entryOf("bad.anthropic", value), entryOf(fleet.OwnerKey("x"), value)})
			require.Len(t, page.Accounts, 1)
			require.Equal(t, []control.FleetUnreadable{{Name: "accounts", Entries: 1}}, page.Unreadable)
		})
	}
	page := shownAs(t, nil, []fleet.Entry{good, entryOf("\x1b[2J", `{"state":"open"}`)})
	require.Len(t, page.Accounts, 1)
}

// Hosts may claim to have sessions of any number of accounts.
func TestAccountsAreShownUpToABound(t *testing.T) {
	shows := make(map[string]int)
	for i := range mostAccounts + 500 {
		shows[fmt.Sprint("a", i)] = 1
	}
	page := hostOf("here").pageOf(true, natskv.Page{}, natskv.Page{Left: 7}, []fleet.Host{{Host: "mallory", Shows: shows}}, nil)
	require.Len(t, page.Accounts, mostAccounts)
	require.Equal(t, 507, page.AccountsLeft)
}

// The list of hosts is as old as a heartbeat. A host that has written something since is not gone.
func TestAHostThatHasJustWrittenIsNotGone(t *testing.T) {
	m := &membership{host: "here", fleet: fleet.New(fleet.Options{Host: "here", Heartbeat: fleet.Heartbeat, Now: func() time.Time { return noon }})}
	wrote := func(host string, ago time.Duration) fleet.Entry {
		return fleet.Entry{Key: host + ".bot.1", Value: []byte(goodView), At: noon.Add(-ago)}
	}
	left := func(host string, ago time.Duration) fleet.Host {
		return fleet.Host{Host: host, Bye: true, SeenAt: noon.Add(-ago)}
	}
	page := m.pageOf(true, natskv.Page{Entries: []fleet.Entry{
		wrote("new", time.Second), wrote("silent", 3*fleet.Heartbeat), wrote("restarted", time.Second), wrote("stopped", 9*time.Second), wrote("stayed", time.Second),
	}}, natskv.Page{}, []fleet.Host{{Host: "stayed", SeenAt: noon}, left("restarted", 5*time.Second), left("stopped", 5*time.Second)}, nil)
	states := make(map[string]string)
	for _, h := range page.Hosts {
		states[h.Name] = h.State
	}
	require.Equal(t, map[string]string{"new": "alive", "silent": "gone", "restarted": "alive", "stopped": "gone", "stayed": "alive"}, states)
}

func FuzzAnEntryOfAnotherHost(f *testing.F) {
	f.Add("mallory.bot.1", []byte(goodView))
	for _, value := range bad {
		f.Add("mallory.bot.1", []byte(value))
	}
	f.Add("mallory.bot.1", []byte(`{"id":"s","agent":"b","state":"parked","owner":{"pid":-1},"attempts":[{"started_at":"9999-12-31T23:59:59-01:00","outcome":null}]}`))
	f.Fuzz(func(t *testing.T, key string, value []byte) {
		e := fleet.Entry{Key: key, Value: value, At: noon}
		page := shownAs(t, []fleet.Entry{e}, []fleet.Entry{e})
		text, err := json.Marshal(page)
		require.NoError(t, err)
		require.Less(t, len(text), 1<<20)
	})
}
