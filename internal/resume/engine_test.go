package resume

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
)

// world is an engine in a bubble, with a scripted agent.
type world struct {
	*Engine
	t       *testing.T
	mu      sync.Mutex
	began   []time.Duration // when resumes began, since the start of the world
	changes []Change
	epoch   time.Time
	stop    func()
	offset  int64
}

// newWorld runs an engine whose resumes are carried out by act.
func newWorld(t *testing.T, rules Rules, act func(ctx context.Context, w *world, s Session)) *world {
	return newWorldOf(t, Options{Rules: rules}, act)
}

// newWorldOf is newWorld with what an earlier daemon left.
func newWorldOf(t *testing.T, opts Options, act func(ctx context.Context, w *world, s Session)) *world {
	w := &world{t: t, epoch: time.Now()}
	marks := 0
	opts.Act = func(ctx context.Context, s Session) {
		w.mu.Lock()
		w.began = append(w.began, time.Since(w.epoch))
		w.mu.Unlock()
		act(ctx, w, s)
	}
	opts.Changed = func(c Change) { w.changes = append(w.changes, c) }
	opts.Rand = func() float64 { return half }
	opts.Mark = func() string { marks++; return fmt.Sprint(marks) }
	w.Engine = NewEngine(opts)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- w.Run(ctx) }()
	w.stop = func() {
		cancel()
		require.NoError(t, <-done)
	}
	return w
}

// started returns when resumes began.
func (w *world) started() []time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.began)
}

func (w *world) see(id string, ev Event) {
	w.offset++
	require.NoError(w.t, w.Observe(w.t.Context(), []Observation{{
		Key: Key{"bot", id}, Account: "bot:" + id, Cwd: "/src/" + id, Transcript: "/log", Pos: Position{"1", w.offset}, Event: ev,
	}}))
}

// seeShared is see for sessions of one account.
func (w *world) seeShared(id string, ev Event) {
	w.offset++
	require.NoError(w.t, w.Observe(w.t.Context(), []Observation{{
		Key: Key{"bot", id}, Account: "bot:default", Cwd: "/src/" + id, Pos: Position{"1", w.offset}, Event: ev,
	}}))
}

func (w *world) account() Account {
	all, err := w.Accounts(w.t.Context())
	require.NoError(w.t, err)
	require.Len(w.t, all, 1)
	return all[0]
}

func (w *world) session(id string) Session {
	s, err := w.Session(w.t.Context(), Key{"bot", id})
	require.NoError(w.t, err)
	return s
}

// fails takes a second and ends badly.
func fails(ctx context.Context, w *world, s Session) {
	mark := s.Run.Mark
	_, _ = w.Apply(ctx, s.Key, Started{Mark: mark, Process: Process{PID: 9}})
	time.Sleep(time.Second)
	_, _ = w.Apply(ctx, s.Key, Ended{Mark: mark, Outcome: Failed, Err: "exit status 1"})
}

func TestEngineKeepsTheScheduleAndGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, defaultRules(), fails)
		w.see("a", limited(time.Now(), limit.Overloaded))
		time.Sleep(time.Hour)
		w.stop()
		sec := time.Second
		require.Equal(t, []time.Duration{30 * sec, 91 * sec, 212 * sec, 453 * sec, 754 * sec}, w.started())
		last := w.changes[len(w.changes)-1]
		require.True(t, last.Entered(GaveUp))
		require.Len(t, last.After.Attempts, 5)
	})
}

func TestEngineWakesALaptopThatSleptThroughTheReset(t *testing.T) {
	// Inside a bubble nothing suspends; that no sleep is longer than a minute
	// is what bounds the delay.
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, defaultRules(), fails)
		w.see("a", limitedUntil(time.Now(), limit.UsageLimit, time.Now().Add(100*time.Hour)))
		var sleep time.Duration
		require.NoError(t, w.do(t.Context(), func(context.Context) { sleep = w.sleep() }))
		require.LessOrEqual(t, sleep, time.Minute)
		w.stop()
	})
}

func TestEngineNeverRunsMoreThanAllowed(t *testing.T) {
	for name, c := range map[string]struct {
		order Order
		want  []string
	}{
		"oldest first": {Oldest, []string{"s1", "s2", "s3", "s4", "s5"}},
		"newest first": {Newest, []string{"s5", "s4", "s3", "s2", "s1"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				running, most := 0, 0
				var order []string
				rules := defaultRules()
				rules.MaxConcurrent, rules.Order = 1, c.order
				w := newWorld(t, rules, func(ctx context.Context, w *world, s Session) {
					order = append(order, s.Key.ID)
					running++
					most = max(most, running)
					time.Sleep(10 * time.Second)
					running--
					_, _ = w.Apply(ctx, s.Key, Progressed{At: time.Now()})
					_, _ = w.Apply(ctx, s.Key, Ended{Mark: s.Run.Mark, Outcome: Delivered})
				})
				reset := time.Now().Add(time.Minute)
				for i := range 5 {
					w.see(fmt.Sprintf("s%d", i+1), limitedUntil(time.Now(), limit.RateLimit, reset))
					time.Sleep(time.Second)
				}
				time.Sleep(65 * time.Second)
				require.Contains(t, w.session(c.want[4]).Reason, "max_concurrent")
				time.Sleep(time.Minute)
				w.stop()
				require.Equal(t, c.want, order)
				require.Equal(t, 1, most)
			})
		})
	}
}

func TestEnginePassesOverWhatItWasToldBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, defaultRules(), fails)
		line := Observation{Key: Key{"bot", "a"}, Pos: Position{"1", 100}, Event: limited(time.Now(), limit.RateLimit)}
		require.NoError(t, w.Observe(t.Context(), []Observation{line}))
		_, err := w.Apply(t.Context(), line.Key, Forget{})
		require.NoError(t, err)
		require.NoError(t, w.Observe(t.Context(), []Observation{line}), "the file is read again")
		require.Equal(t, Watching, w.session("a").State)

		line.Pos.Epoch, line.Event = "2", limited(time.Now().Add(time.Millisecond), limit.RateLimit)
		require.NoError(t, w.Observe(t.Context(), []Observation{line}), "another file, and another refusal")
		require.Equal(t, Waiting, w.session("a").State)
		w.stop()
	})
}

func TestEnginePauseHoldsWhatComesDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, defaultRules(), fails)
		require.NoError(t, w.SetPaused(t.Context(), true))
		w.see("a", limited(time.Now(), limit.RateLimit))
		time.Sleep(10 * time.Minute)
		require.Empty(t, w.started())
		require.Equal(t, "due, but resumed is paused", w.session("a").Reason)
		require.NoError(t, w.SetPaused(t.Context(), false))
		synctest.Wait()
		require.Equal(t, []time.Duration{10 * time.Minute}, w.started())
		w.stop()
	})
}

func TestEngineRulesChangeLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, defaultRules(), fails)
		w.see("a", limited(time.Now(), limit.RateLimit))
		rules := defaultRules()
		rules.Backoff.BaseDelay = 5 * time.Second
		require.NoError(t, w.SetRules(t.Context(), rules, func() {}))
		time.Sleep(6 * time.Second)
		w.stop()
		require.Equal(t, []time.Duration{5 * time.Second}, w.started())
	})
}

// What comes due by new rules is started with what goes with them, however long that takes.
func TestNothingStartsByRulesThatAreHalfInForce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var whole atomic.Bool
		w := newWorld(t, defaultRules(), func(ctx context.Context, w *world, s Session) {
			require.True(t, whole.Load())
			fails(ctx, w, s)
		})
		w.see("a", limited(time.Now(), limit.RateLimit))
		time.Sleep(10 * time.Second)
		rules := defaultRules()
		rules.Backoff.BaseDelay = 5 * time.Second // it is over
		require.NoError(t, w.SetRules(t.Context(), rules, func() {
			time.Sleep(time.Second)
			whole.Store(true)
		}))
		synctest.Wait()
		w.stop()
		require.Equal(t, []time.Duration{11 * time.Second}, w.started())
	})
}

func TestEngineStopsWithoutWaitingForWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, defaultRules(), func(ctx context.Context, _ *world, _ Session) { <-ctx.Done() })
		w.see("a", limited(time.Now(), limit.RateLimit))
		w.see("b", limitedUntil(time.Now(), limit.UsageLimit, time.Now().Add(9*time.Hour)))
		time.Sleep(time.Minute)
		before := time.Now()
		w.stop()
		require.Zero(t, time.Since(before))
		last := w.changes[len(w.changes)-1].After
		require.Equal(t, Resuming, last.State, "a resume cut off by our own stop is no failed attempt")
	})
}

func TestEngineForgetsWhatIsLongOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, defaultRules(), fails)
		w.see("a", limited(time.Now(), limit.RateLimit))
		w.see("a", Progressed{At: time.Now()})
		time.Sleep(23 * time.Hour)
		require.NotZero(t, w.session("a").LimitedAt)
		time.Sleep(3 * time.Hour)
		require.Zero(t, w.session("a").LimitedAt)
		require.True(t, slices.ContainsFunc(w.changes, func(c Change) bool { return c.Dropped }))
		w.stop()
	})
}

func TestEngineKnowsNoStrangers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, defaultRules(), fails)
		_, err := w.Apply(t.Context(), Key{"bot", "nobody"}, Retry{})
		require.ErrorIs(t, err, ErrNoSession)
		w.stop()
	})
}

// recovers takes ten seconds to move, and a minute to end.
func recovers(ctx context.Context, w *world, s Session) {
	mark := s.Run.Mark
	_, _ = w.Apply(ctx, s.Key, Started{Mark: mark, Process: Process{PID: 9}})
	time.Sleep(10 * time.Second)
	_, _ = w.Apply(ctx, s.Key, Progressed{At: time.Now()})
	time.Sleep(50 * time.Second)
	_, _ = w.Apply(ctx, s.Key, Ended{Mark: mark, Outcome: Delivered})
}

func TestTheFirstOfAnAccountTriesAloneAndTheRestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := defaultRules()
		rules.MaxConcurrent, rules.Margin = 10, 0
		w := newWorld(t, rules, recovers)
		reset := time.Now().Add(time.Hour)
		for i := range 4 {
			w.seeShared(fmt.Sprintf("s%d", i+1), limitedUntil(time.Now(), limit.UsageLimit, reset))
		}
		require.Equal(t, Account{AccountKey: AccountKey{Name: "bot:default"}, State: Open, ResetAt: reset, Sessions: 4, Kept: 4}, w.account())
		time.Sleep(time.Hour + 5*time.Second)
		require.Equal(t, HalfOpen, w.account().State)
		require.Contains(t, w.session("s2").Reason, "the first one tries alone")
		time.Sleep(10 * time.Second)
		require.Equal(t, Closed, w.account().State)
		time.Sleep(time.Hour)
		w.stop()
		require.Equal(t, []time.Duration{time.Hour, time.Hour + 20*time.Second, time.Hour + 40*time.Second, time.Hour + time.Minute}, w.started())
	})
}

func TestWhenTheFirstMeetsTheLimitAgainAllWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := defaultRules()
		rules.MaxConcurrent, rules.Margin = 10, 0
		later := time.Now().Add(5 * time.Hour)
		w := newWorld(t, rules, func(ctx context.Context, w *world, s Session) {
			if len(w.started()) > 1 {
				recovers(ctx, w, s)
				return
			}
			_, _ = w.Apply(ctx, s.Key, Started{Mark: s.Run.Mark, Process: Process{PID: 9}})
			time.Sleep(time.Second)
			_, _ = w.Apply(ctx, s.Key, limitedUntil(time.Now(), limit.UsageLimit, later))
			_, _ = w.Apply(ctx, s.Key, Ended{Mark: s.Run.Mark, Outcome: Failed})
		})
		start := time.Now()
		for i := range 3 {
			w.seeShared(fmt.Sprintf("s%d", i+1), limitedUntil(time.Now(), limit.UsageLimit, start.Add(time.Hour)))
		}
		w.seeShared("weekly", limitedUntil(time.Now(), limit.UsageLimit, start.Add(100*time.Hour)))
		time.Sleep(2 * time.Hour)
		require.Len(t, w.started(), 1, "one attempt for all of them")
		require.Equal(t, later, w.session("s3").NextAt)
		require.Empty(t, w.session("s3").Attempts, "waiting costs no attempt")
		require.Equal(t, start.Add(100*time.Hour), w.session("weekly").NextAt, "another limit is another matter")
		time.Sleep(4 * time.Hour)
		require.Len(t, w.started(), 4)
		w.stop()
	})
}

func TestAProbeThatFailsByItselfLetsTheNextOneTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := defaultRules()
		rules.MaxConcurrent, rules.Margin, rules.Stagger = 10, 0, 0
		w := newWorld(t, rules, fails)
		reset := time.Now().Add(time.Minute)
		w.seeShared("a", limitedUntil(time.Now(), limit.UsageLimit, reset))
		w.seeShared("b", limitedUntil(time.Now(), limit.UsageLimit, reset))
		time.Sleep(63 * time.Second)
		w.stop()
		require.Equal(t, []time.Duration{60 * time.Second, 61 * time.Second}, w.started())
	})
}

func TestASessionThatIsLeftAloneKeepsNobodyWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := defaultRules()
		rules.MaxConcurrent, rules.Margin = 10, 0
		w := newWorld(t, rules, func(ctx context.Context, w *world, s Session) {
			if s.Key.ID < "c" {
				_, _ = w.Apply(ctx, s.Key, NotSent{Mark: s.Run.Mark, Why: "its directory is gone", Park: true})
				return
			}
			recovers(ctx, w, s)
		})
		for _, id := range []string{"a", "b", "c", "d"} {
			w.seeShared(id, limitedUntil(time.Now(), limit.UsageLimit, time.Now().Add(time.Minute)))
		}
		time.Sleep(10 * time.Minute)
		w.stop()
		minute := time.Minute
		require.Equal(t, []time.Duration{minute, minute, minute, minute + rules.Stagger}, w.started())
	})
}

func TestAPersonWhoWentOnInAnotherSessionIsNotDisturbed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, defaultRules(), fails)
		w.see("old", limitedUntil(time.Now(), limit.UsageLimit, time.Now().Add(time.Hour)))
		time.Sleep(time.Minute)
		w.offset++
		require.NoError(t, w.Observe(t.Context(), []Observation{{
			Key: Key{"bot", "new"}, Account: "x", Cwd: "/src/old", Pos: Position{"1", w.offset}, Event: Progressed{At: time.Now()},
		}}))
		time.Sleep(2 * time.Hour)
		require.Empty(t, w.started())
		require.Equal(t, Parked, w.session("old").State)
		require.Contains(t, w.session("old").Reason, "session new was started in the same directory")

		_, err := w.Apply(t.Context(), Key{"bot", "old"}, Retry{})
		require.NoError(t, err)
		synctest.Wait()
		require.Len(t, w.started(), 1, "a person's order is stronger")
		w.stop()
	})
}

func TestSessionsThatShareADirectoryByDesignDoNotSupersedeEachOther(t *testing.T) {
	for name, c := range map[string]struct {
		parallel map[string]bool
		other    Event
	}{
		"by design":              {map[string]bool{"bot": true}, Progressed{At: time.Now()}},
		"the other one is stuck": {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rules := defaultRules()
				rules.Parallel = c.parallel
				w := newWorld(t, rules, recovers)
				w.see("old", limited(time.Now(), limit.RateLimit))
				time.Sleep(time.Second)
				events := []Event{Progressed{At: time.Now()}}
				if c.other == nil {
					events = append(events, limitedUntil(time.Now(), limit.UsageLimit, time.Now().Add(time.Hour)))
				}
				for _, ev := range events {
					w.offset++
					require.NoError(t, w.Observe(t.Context(), []Observation{{
						Key: Key{"bot", "new"}, Account: "x", Cwd: "/src/old", Pos: Position{"1", w.offset}, Event: ev,
					}}))
				}
				time.Sleep(2 * time.Minute)
				require.Len(t, w.started(), 1)
				w.stop()
			})
		})
	}
}

func BenchmarkEngineLimitAndProgress(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			e := NewEngine(Options{
				Rules: defaultRules(), Changed: func(Change) {}, Rand: func() float64 { return half },
			})
			now := time.Now()
			keys := make([]Key, n)
			for i := range keys {
				keys[i] = Key{"bot", fmt.Sprint(i)}
				e.see(b.Context(), Observation{Key: keys[i], Pos: Position{"1", 0}, Event: limited(now, limit.RateLimit)})
			}
			i := 0
			for b.Loop() {
				i++
				key := keys[i%n]
				e.see(b.Context(), Observation{Key: key, Pos: Position{"1", int64(2 * i)}, Event: Progressed{At: now}})
				e.see(b.Context(), Observation{Key: key, Pos: Position{"1", int64(2*i + 1)}, Event: limited(now, limit.RateLimit)})
			}
		})
	}
}

// Another file that tells of a session may be a copy of what is long over.
func TestWhatASessionHasLeftBehindChangesNothing(t *testing.T) {
	limitedAt := func(at time.Time) Limited { return limited(at, limit.Overloaded) }
	for rule, c := range map[string]struct {
		events func(now time.Time) []Event
		copied func(now time.Time) []Event
		want   State
		taken  bool
		other  string // account
	}{
		"a refusal that it waits for, copied to another account": {
			events: func(now time.Time) []Event { return []Event{limitedAt(now)} },
			copied: func(now time.Time) []Event { return []Event{limitedAt(now)} },
			want:   Waiting, other: "bot:other",
		},
		"a refusal from before it moved": {
			func(now time.Time) []Event { return []Event{Progressed{At: now}} },
			func(now time.Time) []Event {
				return []Event{Prompted{At: now.Add(-time.Hour)}, limitedAt(now.Add(-time.Minute))}
			},
			Watching, false, "",
		},
		"a refusal that it got over": {
			func(now time.Time) []Event { return []Event{limitedAt(now), Cancelled{At: now}} },
			func(now time.Time) []Event { return []Event{Prompted{At: now}, limitedAt(now)} },
			Watching, false, "",
		},
		"movement from before it was stopped": {
			func(now time.Time) []Event { return []Event{limitedAt(now)} },
			func(now time.Time) []Event { return []Event{Progressed{At: now.Add(-time.Minute)}} },
			Waiting, false, "",
		},
		"but a refusal that it waits for tells where its file lies now": {
			func(now time.Time) []Event { return []Event{limitedAt(now)} },
			func(now time.Time) []Event { return []Event{Progressed{At: now.Add(-time.Minute)}, limitedAt(now)} },
			Waiting, true, "",
		},
		"but a refusal since then counts": {
			func(now time.Time) []Event { return []Event{Progressed{At: now.Add(-time.Second)}} },
			func(now time.Time) []Event { return []Event{limitedAt(now)} },
			Waiting, true, "",
		},
	} {
		t.Run(rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, defaultRules(), func(context.Context, *world, Session) {})
				defer w.stop()
				now := time.Now()
				for _, ev := range c.events(now) {
					w.see("s", ev)
				}
				for i, ev := range c.copied(now) {
					require.NoError(t, w.Observe(t.Context(), []Observation{{
						Key: Key{"bot", "s"}, Account: c.other, Transcript: "/copy", Pos: Position{"2", int64(i + 1)}, Event: ev,
					}}))
				}
				s, err := w.Session(t.Context(), Key{"bot", "s"})
				require.NoError(t, err)
				require.Equal(t, c.want, s.State)
				require.Equal(t, c.taken, s.Transcript == "/copy")
			})
		})
	}
}
