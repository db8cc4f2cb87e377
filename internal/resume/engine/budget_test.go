package engine

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
	"resumed/internal/resume"
)

// bare is an engine without a running loop: the test takes its steps.
func bare(sessions int) *Engine {
	e := New(Options{
		Rules: defaultRules(), Rand: func() float64 { return half }, Mark: counter(),
		Act: func(context.Context, resume.Session) {}, Changed: func(resume.Change) {},
	})
	for i := range sessions {
		e.observe(context.Background(), crowdMember(i))
	}
	return e
}

// Handling a line allocates little: the budgets are today's values and a bit more. Raise one only for a
// known reason.
func TestTheHotPathsKeepTheirBudgetsOfMemory(t *testing.T) {
	e, ctx := bare(1000), context.Background()
	sight := crowdMember(7)
	s, _ := e.book.get(sight.Key)
	works := resume.Change{Before: s, After: s}
	works.After.Seen.Offset, works.After.MovedAt = 99, time.Now()
	for what, c := range map[string]struct {
		budget float64
		do     func()
	}{
		"a movement": {10, func() {
			sight.Pos.Offset++
			sight.Event = resume.Progressed{At: time.Now()}
			e.observe(ctx, sight)
		}},
		"a limit and a recovery": {20, func() {
			sight.Pos.Offset++
			sight.Event = limitedUntil(time.Now(), limit.UsageLimit, time.Now().Add(time.Hour))
			e.observe(ctx, sight)
			sight.Pos.Offset++
			sight.Event = resume.Progressed{At: time.Now()}
			e.observe(ctx, sight)
		}},
		"whether it only works on": {2, func() { works.WorksOn() }},
		"a look at a session":      {4, func() { _, _ = e.book.get(sight.Key) }},
		"a turn without news":      {1, func() { e.handleDue(ctx) }},
		"a name among a thousand":  {3, func() { _ = e.book.name(sight.Key) }},
	} {
		require.LessOrEqual(t, testing.AllocsPerRun(200, c.do), c.budget, what)
	}
}

// A hundred thousand sessions fit into 250 MB, with everything else in the daemon.
func TestASessionThatWasNeverStoppedTakesLittleMemory(t *testing.T) {
	const sessions, most = 20_000, 1_700
	held := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := held()
	e := bare(sessions)
	each := (held() - before) / sessions
	runtime.KeepAlive(e)
	t.Logf("%d bytes each", each)
	require.LessOrEqual(t, each, uint64(most))
}
