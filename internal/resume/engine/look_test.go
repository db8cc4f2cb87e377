package engine

import (
	"fmt"
	"math"
	"runtime"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
	"resumed/internal/resume"
	"resumed/internal/resume/sentence"
)

// crowdMember is the first observation of one of many sessions.
func crowdMember(i int) resume.Observation {
	id := fmt.Sprintf("%08x-4000-4000-8000-000000000000", uint32(i)*2654435761)
	return resume.Observation{
		Key: resume.Key{Agent: "bot", ID: id}, Account: "bot:default", Cwd: fmt.Sprintf("/src/%d", i/20), Transcript: fmt.Sprintf("/home/me/.bot/%d/%s.jsonl", i/20, id),
		Pos: resume.Position{Epoch: "1f-0", Offset: 1}, Event: resume.Progressed{At: time.Now()},
	}
}

// crowded runs an engine with many sessions of one account, twenty in each directory: of four, one
// works, two are stopped until tomorrow, and one is due and held back by earlier ones.
func crowded(t *testing.T, sessions int) *world {
	rules := defaultRules()
	rules.MaxWait, rules.Stagger, rules.MaxConcurrent, rules.Settle = 0, 0, 3, 24*time.Hour
	w := newWorld(t, rules, waits)
	tomorrow := time.Now().Add(24 * time.Hour)
	var all []resume.Observation
	for i := range sessions {
		seen := crowdMember(i)
		switch i % 4 {
		case 0, 1:
			seen.Event = limitedUntil(time.Now(), limit.UsageLimit, tomorrow.Add(time.Duration(i)*time.Second))
		case 2:
			seen.Event, seen.Account = limited(time.Now(), limit.Overloaded), "bot:other"
		}
		all = append(all, seen)
	}
	require.NoError(t, w.Observe(t.Context(), all))
	w.offset = 1
	time.Sleep(5 * time.Minute)
	require.Len(t, w.started(), 1, "the first one tries alone")
	return w
}

// A step, a question and a new task take a moment, also with ten thousand sessions, of which thousands
// are due. If each of them was compared with all others, it would be seconds.
func TestAStepAndALookTakeAMomentWithTenThousandSessions(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TRIED: without -short it is")
	}
	const moment = 250 * time.Millisecond
	took := make(map[string]time.Duration)
	synctest.Test(t, func(t *testing.T) {
		w := crowded(t, 10_000)
		measure := func(what string, do func() error) {
			synctest.Wait()
			began := realTime(t)
			require.NoError(t, do(), what)
			synctest.Wait()
			if spent := realTime(t) - began; took[what] == 0 || spent < took[what] { // other programs may have the processor
				took[what] = spent
			}
		}
		for round := range 3 {
			id := fmt.Sprint("one", round)
			see := func(ev resume.Event) func() error {
				return func() error { w.seeShared(id, ev); return nil }
			}
			ctx, key := t.Context(), resume.Key{Agent: "bot", ID: id}
			measure("a session that is new", see(resume.Progressed{At: time.Now()}))
			measure("a movement", see(resume.Progressed{At: time.Now()}))
			measure("a limit", see(limitedUntil(time.Now(), limit.UsageLimit, time.Now().Add(10*time.Minute))))
			measure("a session", func() error { _, err := w.Session(ctx, key); return err })
			measure("some sessions", func() error { _, err := w.These(ctx, []resume.Key{key}); return err })
			measure("a name", func() error { _, err := w.Find(ctx, id); return err })
			measure("the accounts", func() error { _, err := w.Accounts(ctx); return err })
			measure("the figures", func() error { _, err := w.Tallies(ctx); return err })
			measure("a wait that is over", func() error { time.Sleep(20 * time.Minute); return nil })
			require.Len(t, w.started(), 2+round, sentence.Of(w.session(id)))
			measure("the next limit", see(limitedUntil(time.Now(), limit.UsageLimit, time.Now().Add(10*time.Hour))))
			measure("a recovery", see(resume.Progressed{At: time.Now()}))
		}
		for n := range 1000 { // a file of prompts may be long
			measure("a task", func() error { _, err := w.Enqueue(t.Context(), task(fmt.Sprint("task", n))); return err })
		}
		w.stop()
	})
	for what, spent := range took {
		require.Less(t, spent, moment, what)
	}
	t.Log(took)
}

// realTime returns the time of the machine: that of a bubble stands still while the engine works.
func realTime(t *testing.T) time.Duration {
	var now syscall.Timeval
	require.NoError(t, syscall.Gettimeofday(&now))
	return time.Duration(now.Nano())
}

// The page reads all sessions that were stopped, and the summary of the service does so with every
// step. That must not copy them.
func TestALookAtAllThatWereStoppedCopiesNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crowded(t, 1000)
		kept, err := w.Stored(t.Context()) // now each has its name
		require.NoError(t, err)
		require.Len(t, kept, 750)
		least := uint64(math.MaxUint64) // other goroutines may allocate meanwhile
		for range 5 {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err = w.Stored(t.Context())
			runtime.ReadMemStats(&after)
			require.NoError(t, err)
			least = min(least, (after.TotalAlloc-before.TotalAlloc)/uint64(len(kept)))
		}
		w.stop()
		require.Less(t, least, uint64(100), "bytes for each")
	})
}
