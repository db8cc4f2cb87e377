package metrics

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/config"
	"resumed/internal/limit"
	"resumed/internal/notify"
	"resumed/internal/resume"
	"resumed/internal/usage"
)

// noon is when every test begins.
var noon = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

// standing is the state of the daemon.
type standing struct {
	sessions []resume.Session
	accounts []resume.Account
	pending  int
	refused  bool
	stuck    error // the engine does not answer
	fleet    *Fleet
}

func (s *standing) Accounts(context.Context) ([]resume.Account, error) { return s.accounts, s.stuck }
func (s *standing) Windows(account resume.AccountKey) []usage.Window {
	if account.Name == "other:default" {
		return []usage.Window{{Kind: usage.FiveHours, Used: 71.5}}
	}
	return nil
}
func (s *standing) Agents() []string          { return []string{"diary"} }
func (s *standing) PendingNotices() int       { return s.pending }
func (s *standing) Loaded() (time.Time, bool) { return noon, !s.refused }

func (s *standing) Fleet() (Fleet, bool) {
	if s.fleet == nil {
		return Fleet{}, false
	}
	return *s.fleet, true
}

func (s *standing) source() Source {
	return Source{
		Tallies: s.Tallies, Accounts: s.Accounts, Windows: s.Windows, Agents: s.Agents, PendingNotices: s.PendingNotices, Loaded: s.Loaded, Fleet: s.Fleet,
		Tasks: func(context.Context) ([]resume.Session, error) { return nil, nil },
	}
}

func (s *standing) Tallies(context.Context) (map[string]resume.Tally, error) {
	tallies := make(map[string]resume.Tally)
	for _, one := range s.sessions {
		tally := tallies[one.Key.Agent]
		tally[one.State]++
		tallies[one.Key.Agent] = tally
	}
	return tallies, s.stuck
}

// observe counts what happens to a session, one event every ten seconds.
func observe(m *Metrics, events ...resume.Event) {
	rules := config.Default().Rules()
	rules.Backoff.Jitter = false
	rules.Backoff.BaseDelay, rules.Backoff.MaxRetries = 5*time.Second, 2
	s, now := resume.Session{Key: resume.Key{Agent: "diary", ID: "a"}}, noon
	for _, ev := range events {
		after := s.Next(ev, rules, now, 0.5)
		m.Observe(resume.Change{At: now, Event: ev, Before: s, After: after})
		s, now = after, now.Add(10*time.Second)
	}
}

// scrape returns the lines of a scrape that begin with one of the names.
func scrape(t *testing.T, m *Metrics, names ...string) []string {
	t.Helper()
	answer := httptest.NewRecorder()
	m.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	require.Equal(t, http.StatusOK, answer.Code)
	found := []string{}
	for line := range strings.Lines(answer.Body.String()) {
		for _, name := range names {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, name) {
				found = append(found, line)
			}
		}
	}
	return found
}

// counted returns the counters that are not 0.
func counted(t *testing.T, m *Metrics) []string {
	t.Helper()
	moved := []string{}
	for _, line := range scrape(t, m, "resumed_interruptions_total", "resumed_resumes_total", "resumed_give_ups_total",
		"resumed_notifications_total", "resumed_detection_seconds_sum", "resumed_detection_seconds_count",
		"resumed_wait_seconds_sum", "resumed_wait_seconds_count") {
		if !strings.HasSuffix(line, " 0") {
			moved = append(moved, line)
		}
	}
	return moved
}

func refused(ago time.Duration) resume.Limited {
	return resume.Limited{At: noon.Add(-ago), Verdict: limit.Verdict{Class: limit.RateLimit, WaitHelps: true}}
}

func TestWhatEachStepCounts(t *testing.T) {
	first := refused(time.Minute)
	first.First = true
	started := resume.Started{Mark: "1", Process: resume.Process{PID: 42}}
	again := resume.Started{Mark: "2", Process: resume.Process{PID: 43}}
	failed := func(mark string) resume.Ended {
		return resume.Ended{Mark: mark, Outcome: resume.Failed, Err: "exit status 1"}
	}
	due := resume.Due{Mark: "1"}
	const (
		interrupted = `resumed_interruptions_total{agent="diary",class="rate_limit"} 1`
		detected    = `resumed_detection_seconds_count 1`
		waited      = `resumed_wait_seconds_count 1`
	)
	for name, c := range map[string]struct {
		events []resume.Event
		want   []string
	}{
		"works": {[]resume.Event{resume.Prompted{At: noon}, resume.Progressed{At: noon}}, nil},
		"is stopped": {
			[]resume.Event{refused(250 * time.Millisecond)},
			[]string{interrupted, "resumed_detection_seconds_sum 0.25", detected},
		},
		"was stopped before it was found": {[]resume.Event{first}, []string{interrupted}},
		"is refused by a clock that runs ahead": {
			[]resume.Event{refused(-time.Minute)}, []string{interrupted, detected},
		},
		"repeats itself": {
			[]resume.Event{refused(time.Second), refused(0)},
			[]string{interrupted, "resumed_detection_seconds_sum 1", detected},
		},
		"is held back": {
			[]resume.Event{first, due, resume.NotSent{Mark: "1", Why: "not now"}}, []string{interrupted},
		},
		"is resumed": {
			[]resume.Event{first, due, started, started},
			[]string{interrupted, "resumed_wait_seconds_sum 70", waited},
		},
		"moves again": {
			[]resume.Event{first, due, started, resume.Progressed{At: noon.Add(30 * time.Second)}, resume.Ended{Mark: "1", Outcome: resume.Delivered}},
			[]string{interrupted, `resumed_resumes_total{agent="diary",outcome="recovered"} 1`, "resumed_wait_seconds_sum 70", waited},
		},
		"is stopped again": {
			[]resume.Event{first, due, started, refused(-30 * time.Second)},
			[]string{
				"resumed_detection_seconds_count 1",
				`resumed_interruptions_total{agent="diary",class="rate_limit"} 2`,
				`resumed_resumes_total{agent="diary",outcome="limited"} 1`, "resumed_wait_seconds_sum 70", waited,
			},
		},
		"is given up": {
			[]resume.Event{first, due, started, failed("1"), resume.Due{Mark: "2"}, again, failed("2")},
			[]string{
				`resumed_give_ups_total{agent="diary"} 1`, interrupted, `resumed_resumes_total{agent="diary",outcome="failed"} 2`,
				"resumed_wait_seconds_sum 80", "resumed_wait_seconds_count 2",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := New("1.0", new(standing).source())
			observe(m, c.events...)
			require.ElementsMatch(t, c.want, counted(t, m))
		})
	}
}

func TestADeliveryIsCountedByItsEnd(t *testing.T) {
	m := New("1.0", new(standing).source())
	m.Delivered("phone", notify.Delivered)
	m.Delivered("phone", notify.Delivered)
	m.Delivered("desk", notify.Unavailable)
	require.Equal(t, []string{
		`resumed_notifications_total{name="desk",outcome="unavailable"} 1`,
		`resumed_notifications_total{name="phone",outcome="delivered"} 2`,
	}, counted(t, m))
}

// If a counter first appears with 1, Prometheus does not see the increase.
func TestWhatMayMoveIsThereFromTheBeginning(t *testing.T) {
	m := New("1.0", new(standing).source())
	m.Expect([]string{"diary"}, []string{"phone"})
	observe(m, refused(0), resume.Due{Mark: "1"}, resume.Started{Mark: "1"})
	m.Expect([]string{"diary", "other"}, []string{"phone"}) // a reload
	require.Equal(t, []string{`resumed_interruptions_total{agent="diary",class="rate_limit"} 1`}, scrape(t, m, `resumed_interruptions_total{agent="diary",class="rate_limit"}`))
	require.Len(t, scrape(t, m, "resumed_give_ups_total"), 2)
	require.Len(t, scrape(t, m, `resumed_resumes_total{agent="diary"`), len(outcomes))
	require.Len(t, scrape(t, m, "resumed_notifications_total"), len(notify.Outcomes()))
	require.Empty(t, scrape(t, m, `resumed_interruptions_total{agent="diary",class="none"}`, `resumed_interruptions_total{agent="diary",class="cancelled"}`))
}

func TestHowThingsStandIsAskedWhenSomebodyLooks(t *testing.T) {
	session := func(agent string, state resume.State) resume.Session {
		return resume.Session{Key: resume.Key{Agent: agent}, State: state}
	}
	account := func(name, provider string, state resume.Breaker) resume.Account {
		return resume.Account{AccountKey: resume.AccountKey{Name: name, Provider: provider}, State: state}
	}
	s := &standing{
		pending:  3,
		refused:  true,
		sessions: []resume.Session{session("other", resume.Waiting), session("other", resume.Waiting), session("other", resume.Parked)},
		accounts: []resume.Account{
			account("other:default", "", resume.Closed), account("diary:work", "p", resume.Open), account("diary:work", "q", resume.Closed),
		},
	}
	m := New("1.0", s.source())
	mine := func() []string {
		return scrape(t, m, "resumed_sessions", "resumed_account", "resumed_notifications_pending", "resumed_config", "resumed_build_info")
	}
	daemon := []string{
		`resumed_build_info{goversion="` + runtime.Version() + `",version="1.0"} 1`,
		"resumed_config_last_reload_success_timestamp_seconds 1.794744e+09",
		"resumed_config_last_reload_successful 0",
		"resumed_notifications_pending 3",
	}
	require.ElementsMatch(t, append([]string{
		`resumed_account_open{account="diary:work"} 1`,
		`resumed_account_open{account="other:default"} 0`,
		`resumed_account_used_ratio{account="other:default",provider="",window="five_hour"} 0.715`,
		`resumed_account_provider_open{account="diary:work",provider="p"} 1`,
		`resumed_account_provider_open{account="diary:work",provider="q"} 0`,
		`resumed_sessions{agent="diary",state="gave_up"} 0`,
		`resumed_sessions{agent="diary",state="parked"} 0`,
		`resumed_sessions{agent="diary",state="resuming"} 0`,
		`resumed_sessions{agent="diary",state="settling"} 0`,
		`resumed_sessions{agent="diary",state="waiting"} 0`,
		`resumed_sessions{agent="diary",state="watching"} 0`,
		`resumed_sessions{agent="other",state="gave_up"} 0`,
		`resumed_sessions{agent="other",state="parked"} 1`,
		`resumed_sessions{agent="other",state="resuming"} 0`,
		`resumed_sessions{agent="other",state="settling"} 0`,
		`resumed_sessions{agent="other",state="waiting"} 2`,
		`resumed_sessions{agent="other",state="watching"} 0`,
	}, daemon...), mine())

	s.stuck = errors.New("it hangs")
	require.ElementsMatch(t, daemon, mine(), "the rest may tell why")
}
