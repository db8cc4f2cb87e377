package engine

import (
	"context"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
	"resumed/internal/resume"
	"resumed/internal/resume/sentence"
)

// Sessions that wait behind one that tries get their reason once: a thousand that give up one after the
// other are a few thousand steps, not a million.
func TestWaitingForOthersIsOneStepHoweverManyGoFirst(t *testing.T) {
	const sessions = 300
	synctest.Test(t, func(t *testing.T) {
		rules := defaultRules()
		rules.Backoff.MaxRetries, rules.MaxConcurrent, rules.Stagger, rules.Settle = 1, 1, time.Second, 0
		steps := 0
		var e *Engine
		e = New(Options{
			Rules: rules, Rand: func() float64 { return 0.5 }, Mark: counter(),
			Changed: func(resume.Change) { steps++ },
			Act: func(ctx context.Context, s resume.Session) {
				_, _ = e.Apply(ctx, s.Key, resume.Started{Mark: s.Run.Mark, Process: resume.Process{PID: 7}})
				_, _ = e.Apply(ctx, s.Key, resume.Ended{Mark: s.Run.Mark, Outcome: resume.Failed, Err: "exit status 1"})
			},
		})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- e.Run(ctx) }()
		var all []resume.Observation
		for i := range sessions {
			all = append(all, resume.Observation{
				Key: resume.Key{Agent: "bot", ID: fmt.Sprint("s", i)}, Account: "bot:default", Pos: resume.Position{Epoch: "1", Offset: 1}, Event: limited(wallNow(), limit.RateLimit),
			})
		}
		require.NoError(t, e.Observe(ctx, all))
		time.Sleep(time.Hour)
		synctest.Wait()
		now, err := e.Sessions(ctx)
		require.NoError(t, err)
		for _, s := range now {
			require.Equal(t, resume.GaveUp, s.State, sentence.Of(*s))
		}
		require.Less(t, steps, 10*sessions)
		stop()
		require.NoError(t, <-done)
	})
}

func counter() func() string {
	n := 0
	return func() string { n++; return fmt.Sprint("mark-", n) }
}

func TestWhoGoesFirstByDirectoryThenByContextThenByAge(t *testing.T) {
	for rule, c := range map[string]struct {
		priority []resume.Priority
		order    resume.Order
		want     []string
	}{
		"by directory":              {[]resume.Priority{{Dir: "/src", Rank: 2}, {Dir: "/src/urgent", Rank: 1}}, resume.Oldest, []string{"urgent", "small", "large", "old", "elsewhere", "late"}},
		"without any, by context":   {nil, resume.Oldest, []string{"elsewhere", "small", "large", "urgent", "old", "late"}},
		"and of equal ones, by age": {nil, resume.Newest, []string{"elsewhere", "small", "large", "urgent", "late", "old"}},
	} {
		t.Run(rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rules := defaultRules()
				rules.MaxConcurrent, rules.Stagger, rules.Margin, rules.Priority, rules.Order = 1, 0, 0, c.priority, c.order
				require.Equal(t, c.want, inTurn(t, rules))
			})
		})
	}
}

// inTurn returns the order in which sessions are resumed that are due at the same time.
func inTurn(t *testing.T, rules resume.Rules) (order []string) {
	w := newWorld(t, rules, recovers)
	reset := time.Now().Add(time.Hour)
	stop := func(id, dir string, tokens int64) {
		time.Sleep(time.Second)
		w.offset++
		require.NoError(t, w.Observe(t.Context(), []resume.Observation{{
			Key: resume.Key{Agent: "bot", ID: id}, Account: "bot:" + id, Cwd: dir, Pos: resume.Position{Epoch: "1", Offset: w.offset},
			Event: limitedUntil(time.Now(), limit.UsageLimit, reset),
		}}))
		w.order(id, resume.Learned{Context: &resume.Context{Tokens: tokens, At: time.Now()}})
	}
	stop("elsewhere", "/other", 1)
	stop("old", "/src/a", 0)
	stop("large", "/src/b", 900)
	stop("small", "/src/c", 100)
	stop("urgent", "/src/urgent/x", 5000)
	stop("late", "/other", 0)
	time.Sleep(2 * time.Hour)
	w.stop()
	for _, c := range w.changes {
		if c.ClaimedRun() != nil {
			order = append(order, c.After.Key.ID)
		}
	}
	return order
}

// New rules sort the queue again.
func TestOtherRulesReorderThoseWhoAreDue(t *testing.T) {
	e := New(Options{})
	q, sessions := &e.ready, &e.book
	for i, dir := range []string{"/a", "/b", "/c"} {
		s := resume.Session{Key: resume.Key{Agent: "bot", ID: dir}, Cwd: dir, LimitedAt: time.Unix(int64(i), 0)}
		sessions.put(s)
		q.add(s, resume.Rules{})
	}
	e.opts.Rules = resume.Rules{Order: resume.Newest, Priority: []resume.Priority{{Dir: "/b", Rank: 1}}}
	e.sortReady()
	order := func() (ids []string) {
		for one := range q.from(queued{rank: math.MinInt}) {
			ids = append(ids, one.key.ID)
		}
		return ids
	}
	require.Equal(t, []string{"/b", "/c", "/a"}, order())
	q.drop(resume.Key{Agent: "bot", ID: "/c"})
	require.Equal(t, []string{"/b", "/a"}, order())
}
