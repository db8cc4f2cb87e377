package resume

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/backoff"
	"resumed/internal/limit"
)

// ridingOut are rules under which outages are ridden out.
func ridingOut(t testing.TB) Rules {
	rules := defaultRules()
	policy, ok := backoff.Named("outage")
	require.True(t, ok)
	rules.ByClass = map[limit.Class]backoff.Policy{limit.Overloaded: policy, limit.ServerError: policy, limit.Network: policy}
	return rules
}

// refusedUntil is a provider that is overloaded until then.
func refusedUntil(end time.Time) func(context.Context, *world, Session) {
	return func(ctx context.Context, w *world, s Session) {
		_, _ = w.Apply(ctx, s.Key, Started{Mark: s.Run.Mark, Process: Process{PID: 9}})
		time.Sleep(time.Second)
		if now := time.Now(); now.Before(end) {
			w.see(s.Key.ID, limited(now, limit.Overloaded))
		} else {
			w.see(s.Key.ID, Progressed{At: now})
		}
		_, _ = w.Apply(ctx, s.Key, Ended{Mark: s.Run.Mark, Outcome: Failed, Err: "exit status 1"})
	}
}

func TestAnOutageIsRiddenOutForHalfADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		w := newWorld(t, ridingOut(t), refusedUntil(start.Add(100*time.Hour)))
		w.see("a", limited(start, limit.Overloaded))
		time.Sleep(10 * time.Minute)
		require.Equal(t, Waiting, w.session("a").State)
		require.Equal(t, start.Add(12*time.Hour), w.session("a").GivesUpAt)
		time.Sleep(20 * time.Hour)
		s := w.session("a")
		w.stop()
		require.Equal(t, GaveUp, s.State)
		began := w.started()
		require.Equal(t, 12*time.Hour, began[len(began)-1], "the last try is made when the time is up")
		require.Greater(t, len(began), 45)
		require.Equal(t, len(began), s.Tries())
		var told []Session
		for _, c := range w.changes {
			if c.Calls() {
				told = append(told, c.After)
			}
		}
		require.Len(t, told, 1, "a person is told once")
		require.Equal(t, 5, told[0].Tries(), "when anything else would have given up")
		require.Equal(t, "provider overloaded, still tried after 5 resumes, until 2000-01-01T12:00:00Z: try later", told[0].Reason)
		require.Contains(t, s.Reason, "gave up after")
	})
}

func TestHowLongAnOutageIsRiddenOut(t *testing.T) {
	hours := func(n int) time.Duration { return time.Duration(n) * time.Hour }
	short := func(rules *Rules) {
		for class, p := range rules.ByClass {
			p.MaxElapsed = time.Hour
			rules.ByClass[class] = p
		}
	}
	for name, c := range map[string]struct {
		rules   func(*Rules)
		happens func(w *world)
		want    State
	}{
		"it ends with the provider's":      {nil, func(*world) { time.Sleep(hours(4)) }, Watching},
		"its time counts from the first":   {short, func(*world) { time.Sleep(hours(2)) }, GaveUp},
		"a person gives it as much again":  {short, func(w *world) { time.Sleep(hours(2)); w.order("a", Retry{}); time.Sleep(hours(2)) }, Watching},
		"another class has its own number": {nil, func(w *world) { w.see("a", limited(time.Now(), limit.Timeout)); time.Sleep(hours(1)) }, Waiting},
		"what is paused is tried after all": {short, func(w *world) {
			w.order("a", Pause{})
			time.Sleep(hours(30))
			w.order("a", Unpause{})
			time.Sleep(hours(1))
		}, Watching},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rules := ridingOut(t)
				if c.rules != nil {
					c.rules(&rules)
				}
				w := newWorld(t, rules, refusedUntil(time.Now().Add(hours(3))))
				w.see("a", limited(time.Now(), limit.Overloaded))
				c.happens(w)
				require.Equal(t, c.want, w.session("a").State, w.session("a").Reason)
				w.stop()
			})
		})
	}
}

func TestOneSessionTriesForAllInAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := ridingOut(t)
		rules.MaxConcurrent, rules.Stagger = 10, 0
		w := newWorld(t, rules, works)
		for _, id := range []string{"a", "b", "c"} {
			w.seeOf("anthropic", id, limited(time.Now(), limit.Overloaded))
		}
		w.seeOf("openai", "o", limited(time.Now(), limit.Overloaded))
		time.Sleep(time.Minute)
		require.Len(t, w.started(), 2, "one of each provider")
		require.Equal(t, HalfOpen, w.accountOf("anthropic").State)
		w.stop()
	})
}

func TestVeryManyTriesAreCountedAndNotAllRemembered(t *testing.T) {
	rules := defaultRules()
	rules.Backoff = backoff.Policy{Strategy: backoff.Fixed, BaseDelay: time.Second, MaxDelay: time.Second, MaxElapsed: time.Hour}
	w := &walk{rules: rules, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	w.Session = w.Next(limited(w.now, limit.RateLimit), rules, w.now, half)
	for i := range 300 {
		w.now = w.NextAt
		w.Session = w.Next(Due{Mark: fmt.Sprint(i)}, rules, w.now, half)
		w.Session = w.Next(Ended{Mark: fmt.Sprint(i), Outcome: Failed, Err: "no"}, rules, w.now, half)
	}
	require.Equal(t, 300, w.Tries())
	require.Len(t, w.Attempts, maxAttempts)
	require.Equal(t, 300, w.View(0).Attempt)
}

func TestTheLongestWaitFollowsTheOutagesThatWereSeen(t *testing.T) {
	minutes := func(n float64) time.Duration { return time.Duration(n * float64(time.Minute)) }
	var r Recoveries
	for n := range 19 {
		r = r.with("anthropic", minutes(float64(n+30)))
	}
	_, ok := r.Cap("anthropic")
	require.False(t, ok, "19 are too few")
	r = r.with("anthropic", minutes(49))
	longest, ok := r.Cap("anthropic")
	require.True(t, ok)
	require.Equal(t, (minutes(39.5) / 4).Round(time.Second), longest, "a quarter of the median")
	for range 200 {
		r = r.with("anthropic", time.Second)
	}
	require.Len(t, r["anthropic"], keptRecoveries)
	longest, _ = r.Cap("anthropic")
	require.Equal(t, time.Minute, longest, "no wait is shorter at its longest")
	for range 200 {
		r = r.with("anthropic", 12*time.Hour)
	}
	longest, _ = r.Cap("anthropic")
	require.Equal(t, 15*time.Minute, longest)

	own := ridingOut(t)
	own.recoveries = r.with("x", 0)
	for range 200 {
		own.recoveries = own.recoveries.with("bot", time.Minute)
	}
	s := Session{Key: Key{"bot", "a"}, Limit: limit.Verdict{Class: limit.Overloaded}}
	require.Equal(t, time.Minute, own.policyOf(s).MaxDelay)
	policy := own.ByClass[limit.Overloaded]
	policy.BaseDelay++
	own.ByClass[limit.Overloaded] = policy
	require.Equal(t, 15*time.Minute, own.policyOf(s).MaxDelay, "a person's own policy stays as it was written")
}

func TestAnOutageThatIsOverTeaches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told Recoveries
		start := time.Now()
		w := newWorldOf(t, Options{Rules: ridingOut(t), Learned: func(r Recoveries) { told = r }}, refusedUntil(start.Add(50*time.Minute)))
		w.see("a", limited(start, limit.Overloaded))
		w.see("b", limited(start, limit.RateLimit))
		w.see("b", Progressed{At: start.Add(time.Second)})
		time.Sleep(3 * time.Hour)
		require.Equal(t, Watching, w.session("a").State)
		require.NoError(t, w.SetRules(t.Context(), ridingOut(t), func() {}))
		w.stop()
		require.Len(t, told["bot"], 1, "a limit is no outage")
		require.InDelta(t, 50, told["bot"][0].Minutes(), 16)
		require.Len(t, w.opts.Rules.recoveries["bot"], 1, "other rules do not make it forget")
	})
}

// How long incidents last: 20 to 180 minutes, half of them up to 48.
func incident(u float64) time.Duration {
	between := func(low, high, share float64) time.Duration {
		return time.Duration(low * math.Pow(high/low, share) * float64(time.Minute))
	}
	if u < 0.5 {
		return between(20, 48, 2*u)
	}
	return between(48, 180, 2*u-1)
}

// rideOut lets one session meet an incident that lasts so long, and returns how
// often it was tried and, if it went on, how long after the end.
func rideOut(t *testing.T, rules Rules, learned Recoveries, lasts time.Duration, dice *rand.Rand) (tries int, lost time.Duration, wentOn bool) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		act := refusedUntil(start.Add(lasts))
		w := &world{t: t, epoch: start}
		w.Engine = NewEngine(Options{
			Rules: rules, Recoveries: learned, Rand: dice.Float64,
			Act:     func(ctx context.Context, s Session) { act(ctx, w, s) },
			Changed: func(c Change) { w.changes = append(w.changes, c) },
			Mark:    func() string { tries++; return fmt.Sprint(tries) },
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- w.Run(ctx) }()
		w.see("a", limited(start, limit.Overloaded))
		time.Sleep(24 * time.Hour)
		s := w.session("a")
		wentOn = s.State == Watching
		lost = s.MovedAt.Sub(start.Add(lasts))
		cancel()
		require.NoError(t, <-done)
	})
	return tries, lost, wentOn
}

const (
	incidents     = 300
	outageDoc     = "../../docs/backoff.md"
	outageBegin   = "<!-- outage: begin -->\n"
	outageEnd     = "<!-- outage: end -->\n"
	outageUpdates = "go test ./internal/resume -run OutageTable -update"
)

var update = flag.Bool("update", false, "write the table of outages into docs/backoff.md")

func outageTable(t *testing.T) string {
	var seen Recoveries
	dice := rand.New(rand.NewPCG(2026, 2))
	for range enoughRecoveries * 5 {
		seen = seen.with("bot", incident(dice.Float64()))
	}
	var b strings.Builder
	b.WriteString("| policy | given up | tries, on average | minutes lost after the end, on average |\n|---|---:|---:|---:|\n")
	for _, p := range []struct {
		name    string
		rules   Rules
		learned Recoveries
	}{
		{"`[backoff]`: 30 s … 5 m, 5 tries", defaultRules(), nil},
		{"`outage`: 30 s … 15 m, 12 h", ridingOut(t), nil},
		{"`outage`, learned from 100 such incidents", ridingOut(t), seen},
	} {
		dice := rand.New(rand.NewPCG(2026, 1)) // the same incidents for all
		gaveUp, tries, lost, went := 0, 0, time.Duration(0), 0
		for range incidents {
			n, late, ok := rideOut(t, p.rules, p.learned, incident(dice.Float64()), rand.New(rand.NewPCG(dice.Uint64(), 3)))
			tries += n
			if !ok {
				gaveUp++
				continue
			}
			lost += late
			went++
		}
		minutes := "–"
		if went > 0 {
			minutes = fmt.Sprintf("%.1f", lost.Minutes()/float64(went))
		}
		fmt.Fprintf(&b, "| %s | %d %% | %.1f | %s |\n", p.name, gaveUp*100/incidents, float64(tries)/incidents, minutes)
	}
	return b.String()
}

// TestOutageTableIsTheDocumented plays incidents through the engine and compares
// with the table in the documentation; -update writes it there, -v prints it.
func TestOutageTableIsTheDocumented(t *testing.T) {
	table := outageTable(t)
	t.Log("\n" + table)
	text, err := os.ReadFile(outageDoc)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(text), outageBegin)
	require.True(t, ok)
	documented, after, ok := strings.Cut(rest, outageEnd)
	require.True(t, ok)
	if *update {
		require.NoError(t, os.WriteFile(outageDoc, []byte(before+outageBegin+table+outageEnd+after), 0o644))
		return
	}
	require.Equal(t, table, documented, outageUpdates)
}
