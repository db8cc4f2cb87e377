package engine

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

	"resumed/internal/limit"
	"resumed/internal/resume"
	"resumed/internal/resume/sentence"
)

// refusedUntil is a provider that is overloaded until then.
func refusedUntil(end time.Time) func(context.Context, *world, resume.Session) {
	return func(ctx context.Context, w *world, s resume.Session) {
		_, _ = w.Apply(ctx, s.Key, resume.Started{Mark: s.Run.Mark, Process: resume.Process{PID: 9}})
		time.Sleep(time.Second)
		if now := time.Now(); now.Before(end) {
			w.see(s.Key.ID, limited(now, limit.Overloaded))
		} else {
			w.see(s.Key.ID, resume.Progressed{At: now})
		}
		_, _ = w.Apply(ctx, s.Key, resume.Ended{Mark: s.Run.Mark, Outcome: resume.Failed, Err: "exit status 1"})
	}
}

func TestAnOutageIsRiddenOutForHalfADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		w := newWorld(t, ridingOut(t), refusedUntil(start.Add(100*time.Hour)))
		w.see("a", limited(start, limit.Overloaded))
		time.Sleep(10 * time.Minute)
		require.Equal(t, resume.Waiting, w.session("a").State)
		require.Equal(t, start.Add(12*time.Hour), w.session("a").GivesUpAt)
		time.Sleep(20 * time.Hour)
		s := w.session("a")
		w.stop()
		require.Equal(t, resume.GaveUp, s.State)
		began := w.started()
		require.Equal(t, 12*time.Hour, began[len(began)-1], "the last try is made when the time is up")
		require.Greater(t, len(began), 45)
		require.Equal(t, len(began), s.Tries())
		var told []resume.Session
		for _, c := range w.changes {
			if c.NeedsPerson() {
				told = append(told, c.After)
			}
		}
		require.Len(t, told, 1, "a person is told once")
		require.Equal(t, 5, told[0].Tries(), "when anything else would have given up")
		require.Equal(t, "provider overloaded, still tried after 5 resumes, until 2000-01-01T12:00:00Z: try later", sentence.Of(told[0]))
		require.Contains(t, sentence.Of(s), "gave up after")
	})
}

func TestHowLongAnOutageIsRiddenOut(t *testing.T) {
	hours := func(n int) time.Duration { return time.Duration(n) * time.Hour }
	short := func(rules *resume.Rules) {
		for class, p := range rules.ByClass {
			p.MaxElapsed = time.Hour
			rules.ByClass[class] = p
		}
	}
	for name, c := range map[string]struct {
		rules   func(*resume.Rules)
		happens func(w *world)
		want    resume.State
	}{
		"it ends with the provider's":      {nil, func(*world) { time.Sleep(hours(4)) }, resume.Watching},
		"its time counts from the first":   {short, func(*world) { time.Sleep(hours(2)) }, resume.GaveUp},
		"a person gives it as much again":  {short, func(w *world) { time.Sleep(hours(2)); w.order("a", resume.Retry{}); time.Sleep(hours(2)) }, resume.Watching},
		"another class has its own number": {nil, func(w *world) { w.see("a", limited(time.Now(), limit.Timeout)); time.Sleep(hours(1)) }, resume.Waiting},
		"what is paused is tried after all": {short, func(w *world) {
			w.order("a", resume.Pause{})
			time.Sleep(hours(30))
			w.order("a", resume.Unpause{})
			time.Sleep(hours(1))
		}, resume.Watching},
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
				require.Equal(t, c.want, w.session("a").State, sentence.Of(w.session("a")))
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
		require.Equal(t, resume.HalfOpen, w.accountOf("anthropic").State)
		w.stop()
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

// rideOut lets one session meet an outage of that length, and returns how often it was tried and, if it
// continued, how long after the end.
func rideOut(t *testing.T, rules resume.Rules, lasts time.Duration, dice *rand.Rand) (tries int, lost time.Duration, wentOn bool) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		act := refusedUntil(start.Add(lasts))
		w := &world{t: t, epoch: start}
		w.Engine = New(Options{
			Rules: rules, Rand: dice.Float64,
			Act:     func(ctx context.Context, s resume.Session) { act(ctx, w, s) },
			Changed: func(c resume.Change) { w.changes = append(w.changes, c) },
			Mark:    func() string { tries++; return fmt.Sprint(tries) },
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- w.Run(ctx) }()
		w.see("a", limited(start, limit.Overloaded))
		time.Sleep(24 * time.Hour)
		s := w.session("a")
		wentOn = s.State == resume.Watching
		lost = s.MovedAt.Sub(start.Add(lasts))
		cancel()
		require.NoError(t, <-done)
	})
	return tries, lost, wentOn
}

const (
	incidents     = 300
	outageDoc     = "../../../docs/backoff.md"
	outageBegin   = "<!-- outage: begin -->\n"
	outageEnd     = "<!-- outage: end -->\n"
	outageUpdates = "go test ./internal/resume -run OutageTable -update"
)

var update = flag.Bool("update", false, "write the table of outages into docs/backoff.md")

func outageTable(t *testing.T) string {
	var b strings.Builder
	b.WriteString("| policy | given up | tries, on average | minutes lost after the end, on average |\n|---|---:|---:|---:|\n")
	for _, p := range []struct {
		name  string
		rules resume.Rules
	}{
		{"`[backoff]`: 30 s … 5 m, 5 tries", defaultRules()},
		{"`outage`: 30 s … 15 m, 12 h", ridingOut(t)},
	} {
		dice := rand.New(rand.NewPCG(2026, 1)) // the same incidents for all
		gaveUp, tries, lost, went := 0, 0, time.Duration(0), 0
		for range incidents {
			n, late, ok := rideOut(t, p.rules, incident(dice.Float64()), rand.New(rand.NewPCG(dice.Uint64(), 3)))
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
	if testing.Short() {
		t.Skip("NOT TRIED: without -short it is")
	}
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
