package engine

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
	"resumed/internal/resume"
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
	rules.MaxWait, rules.Stagger, rules.MaxConcurrent = 0, 0, 3
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

// looks returns how many sessions the engine reads for each of these operations.
func looks(t *testing.T, sessions int) map[string]int {
	t.Helper()
	counted := make(map[string]int)
	synctest.Test(t, func(t *testing.T) {
		w := crowded(t, sessions)
		visited := func() (n int) {
			require.NoError(t, w.do(t.Context(), func(context.Context) {
				n = w.book.looks
				n += w.ready.fresh.visited
				for _, alike := range w.ready.told {
					n += alike.visited
				}
				for _, a := range w.accounts {
					n += a.windows.all.visited + a.windows.ends.visited + a.windows.bars.visited
				}
			}))
			return n
		}
		count := func(what string, do func() error) {
			synctest.Wait()
			before := visited()
			require.NoError(t, do(), what)
			synctest.Wait()
			counted[what] = visited() - before
		}
		// Twice: a movement disproves the windows of thousands, and the next read skips these for the
		// last time.
		for round, id := range []string{"one", "two"} {
			see := func(ev resume.Event) func() error {
				return func() error { w.seeShared(id, ev); return nil }
			}
			ctx, key := t.Context(), resume.Key{Agent: "bot", ID: id}
			count("a session that is new", see(resume.Progressed{At: time.Now()}))
			count("a movement", see(resume.Progressed{At: time.Now()}))
			count("a limit", see(limitedUntil(time.Now(), limit.UsageLimit, time.Now().Add(10*time.Minute))))
			count("a session", func() error { _, err := w.Session(ctx, key); return err })
			count("some sessions", func() error { _, err := w.These(ctx, []resume.Key{key}); return err })
			count("a name", func() error { _, err := w.Find(ctx, id); return err })
			count("the accounts", func() error { _, err := w.Accounts(ctx); return err })
			count("the figures", func() error { _, err := w.Tallies(ctx); return err })
			count("a wait that is over", func() error { time.Sleep(20 * time.Minute); return nil })
			require.Len(t, w.started(), 2+round, w.session(id).Reason)
			count("the next limit", see(limitedUntil(time.Now(), limit.UsageLimit, time.Now().Add(10*time.Hour))))
			count("a recovery", see(resume.Progressed{At: time.Now()}))
		}
		w.stop()
	})
	return counted
}

// Each step and each question costs the same, however many sessions there are.
func TestAStepAndALookCostTheSameHoweverManySessionsThereAre(t *testing.T) {
	few, many := looks(t, 10), looks(t, 10_000)
	for what, n := range many {
		require.LessOrEqual(t, n, few[what]+5, what)
		require.LessOrEqual(t, n, 60, what)
	}
}

// The page reads all sessions that were stopped, and the summary of the service does so with every
// step. That must not copy them.
func TestALookAtAllThatWereStoppedCopiesNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crowded(t, 1000)
		kept, err := w.Kept(t.Context()) // now each has its name
		require.NoError(t, err)
		require.Len(t, kept, 750)
		least := uint64(math.MaxUint64) // other goroutines may allocate meanwhile
		for range 5 {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err = w.Kept(t.Context())
			runtime.ReadMemStats(&after)
			require.NoError(t, err)
			least = min(least, (after.TotalAlloc-before.TotalAlloc)/uint64(len(kept)))
		}
		w.stop()
		require.Less(t, least, uint64(100), "bytes for each")
	})
}
