package engine

import (
	"encoding/json"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/backoff"
	"resumed/internal/limit"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

var bot = resume.Key{Agent: "bot", ID: "s"}

// seen is the view of a session AGENT/ID in that state.
func seen(full string, state resume.State, more ...func(*view.Session)) view.Session {
	agent, id, _ := strings.Cut(full, "/")
	v := view.Session{Agent: agent, ID: id, State: state}
	for _, f := range more {
		f(&v)
	}
	return v
}

var noon = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

// half is the random number that adds no jitter to a symmetric policy.
const half = 0.5

// defaultRules are those of a user without own settings.
func defaultRules() resume.Rules {
	return resume.Rules{
		Backoff:       backoff.Default(),
		Margin:        time.Minute,
		MaxWait:       192 * time.Hour,
		Settle:        2 * time.Minute,
		Lookback:      6 * time.Hour,
		MaxWindows:    8,
		MaxConcurrent: 2,
		Stagger:       20 * time.Second,
		Order:         resume.Oldest,
	}
}

// walk applies events to one session at given times.
type walk struct {
	resume.Session
	rules resume.Rules
	now   time.Time
}

func newWalk() *walk {
	return &walk{
		Session: resume.Session{Key: resume.Key{Agent: "claude-code", ID: "4f2a"}, Cwd: "/src/shop"},
		rules:   defaultRules(),
		now:     noon,
	}
}

func (w *walk) after(d time.Duration) *walk { w.now = w.now.Add(d); return w }

func (w *walk) do(events ...resume.Event) *walk {
	for _, ev := range events {
		w.Session = w.Next(ev, w.rules, w.now, half)
	}
	return w
}

// resume lets the wait end and the command start.
func (w *walk) resume() *walk {
	if w.now.Before(w.NextAt) {
		w.now = w.NextAt
	}
	mark := fmt.Sprintf("m%d", w.Runs+1)
	return w.do(resume.Due{Mark: mark}, resume.Started{Mark: mark, Process: resume.Process{PID: 7, Start: 1}})
}

func (w *walk) end(how resume.Outcome) *walk {
	return w.do(resume.Ended{Mark: w.Run.Mark, Outcome: how, Err: "exit status 1"})
}

func limited(at time.Time, c limit.Class) resume.Limited {
	return resume.Limited{At: at, Verdict: limit.Verdict{Class: c, WaitHelps: c.Transient()}, Text: "try later"}
}

func limitedUntil(at time.Time, c limit.Class, reset time.Time) resume.Limited {
	ev := limited(at, c)
	ev.Reset = limit.Reset{At: reset, Source: limit.Structured}
	return ev
}

// ridingOut are rules under which sessions wait out an outage.
func ridingOut(t testing.TB) resume.Rules {
	rules := defaultRules()
	outage, ok := backoff.Named("outage")
	require.True(t, ok)
	policy := resume.Policy{Name: "outage", Policy: outage}
	rules.ByClass = map[limit.Class]resume.Policy{limit.Overloaded: policy, limit.ServerError: policy, limit.Network: policy}
	return rules
}

// strange are times that files may have.
var strange = map[string]time.Time{
	"year -1 in UTC":   time.Date(0, 1, 1, 0, 0, 0, 0, time.FixedZone("", 14*3600)),
	"year 10000":       time.Date(9999, 12, 31, 23, 59, 59, 0, time.FixedZone("", -14*3600)),
	"9e15 ms":          time.UnixMilli(9e15),
	"the end of 9999":  time.Unix(253402300799, 0),
	"the first second": time.Unix(-1<<62, 0),
	"the last second":  time.Unix(1<<62, 0),
}

func mustBeTold(t *testing.T, s resume.Session) {
	t.Helper()
	_, err := json.Marshal(s)
	require.NoError(t, err)
	_, err = json.Marshal(view.Of(s, 1))
	require.NoError(t, err)
}

var updateViews = flag.Bool("update-views", false, "write the golden views anew")
