package engine

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

	"resumed/internal/config"
	"resumed/internal/limit"
	"resumed/internal/resume"
	"resumed/internal/resume/sentence"
)

// world is an engine in a bubble, with a scripted agent.
type world struct {
	*Engine
	t       *testing.T
	mu      sync.Mutex
	began   []time.Duration // when resumes began, since the start of the world
	changes []resume.Change
	epoch   time.Time
	stop    func()
	offset  int64
}

// newWorld runs an engine in which act carries out the resumes.
func newWorld(t *testing.T, rules resume.Rules, act func(ctx context.Context, w *world, s resume.Session)) *world {
	return newWorldOf(t, Options{Rules: rules}, act)
}

// newWorldOf is newWorld with what an earlier daemon stored.
func newWorldOf(t *testing.T, opts Options, act func(ctx context.Context, w *world, s resume.Session)) *world {
	w := &world{t: t, epoch: time.Now()}
	marks := 0
	opts.Act = func(ctx context.Context, s resume.Session) {
		w.mu.Lock()
		w.began = append(w.began, time.Since(w.epoch))
		w.mu.Unlock()
		act(ctx, w, s)
	}
	opts.Changed = func(c resume.Change) { w.changes = append(w.changes, c) }
	opts.Rand = func() float64 { return half }
	opts.Mark = func() string { marks++; return fmt.Sprint(marks) }
	w.Engine = New(opts)
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

func (w *world) see(id string, ev resume.Event) {
	w.offset++
	require.NoError(w.t, w.Observe(w.t.Context(), []resume.Observation{{
		Key: resume.Key{Agent: "bot", ID: id}, Account: "bot:" + id, Cwd: "/src/" + id, Transcript: "/log", Pos: resume.Position{Epoch: "1", Offset: w.offset}, Event: ev,
	}}))
}

// seeShared is see for sessions of one account.
func (w *world) seeShared(id string, ev resume.Event) {
	w.offset++
	require.NoError(w.t, w.Observe(w.t.Context(), []resume.Observation{{
		Key: resume.Key{Agent: "bot", ID: id}, Account: "bot:default", Cwd: "/src/" + id, Pos: resume.Position{Epoch: "1", Offset: w.offset}, Event: ev,
	}}))
}

func (w *world) account() resume.Account {
	all, err := w.Accounts(w.t.Context())
	require.NoError(w.t, err)
	require.Len(w.t, all, 1)
	return all[0]
}

func (w *world) session(id string) resume.Session {
	s, err := w.Session(w.t.Context(), resume.Key{Agent: "bot", ID: id})
	require.NoError(w.t, err)
	return s
}

// fails takes a second and fails.
func fails(ctx context.Context, w *world, s resume.Session) {
	mark := s.Run.Mark
	_, _ = w.Apply(ctx, s.Key, resume.Started{Mark: mark, Process: resume.Process{PID: 9}})
	time.Sleep(time.Second)
	_, _ = w.Apply(ctx, s.Key, resume.Ended{Mark: mark, Outcome: resume.Failed, Err: "exit status 1"})
}

// The rules are those of a user without a file, or with values in [backoff].
func TestEngineKeepsTheScheduleAndGivesUp(t *testing.T) {
	const own = "[backoff]\nbase_delay = \"10s\"\nmax_retries = 3\n"
	for name, c := range map[string]struct {
		file  string
		class limit.Class
		began []time.Duration // in seconds; the first ones
		tries int
		after time.Duration // that it has given up
	}{
		"a limit, without a file":         {"", limit.RateLimit, []time.Duration{30, 91, 212, 453, 754}, 5, 755 * time.Second},
		"a limit, by the file":            {own, limit.RateLimit, []time.Duration{10, 31, 72}, 3, 73 * time.Second},
		"an outage, by the file":          {own, limit.Overloaded, []time.Duration{10, 31, 72}, 3, 73 * time.Second},
		"no server, by the file":          {own, limit.ServerError, []time.Duration{10, 31, 72}, 3, 73 * time.Second},
		"no network, by the file":         {own, limit.Network, []time.Duration{10, 31, 72}, 3, 73 * time.Second},
		"an outage, without a file":       {"", limit.Overloaded, []time.Duration{30, 91, 212, 453, 934, 1835}, 52, 12*time.Hour + time.Second},
		"a file that sets something else": {"[resume]\nmargin = \"2m\"\n", limit.Network, []time.Duration{30, 91, 212, 453, 934, 1835}, 52, 12*time.Hour + time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, err := config.Parse("resumed.toml", []byte(c.file), nil)
			require.NoError(t, err)
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, cfg.Rules(), fails)
				w.see("a", limited(time.Now(), c.class))
				time.Sleep(24 * time.Hour)
				w.stop()
				for i, seconds := range c.began {
					require.Equal(t, seconds*time.Second, w.started()[i])
				}
				last := w.changes[len(w.changes)-1]
				require.True(t, last.Entered(resume.GaveUp))
				require.Equal(t, c.tries, last.After.Tries())
				require.Equal(t, c.after, last.At.Sub(w.epoch))
			})
		})
	}
}

func TestEngineWakesALaptopThatSleptThroughTheReset(t *testing.T) {
	// Inside a bubble the machine cannot sleep; the delay is bounded because no sleep is longer than a
	// minute.
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
		order resume.Order
		want  []string
	}{
		"oldest first": {resume.Oldest, []string{"s1", "s2", "s3", "s4", "s5"}},
		"newest first": {resume.Newest, []string{"s5", "s4", "s3", "s2", "s1"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				running, most := 0, 0
				var order []string
				rules := defaultRules()
				rules.MaxConcurrent, rules.Order = 1, c.order
				w := newWorld(t, rules, func(ctx context.Context, w *world, s resume.Session) {
					order = append(order, s.Key.ID)
					running++
					most = max(most, running)
					time.Sleep(10 * time.Second)
					running--
					_, _ = w.Apply(ctx, s.Key, resume.Progressed{At: time.Now()})
					_, _ = w.Apply(ctx, s.Key, resume.Ended{Mark: s.Run.Mark, Outcome: resume.Delivered})
				})
				reset := time.Now().Add(time.Minute)
				for i := range 5 {
					w.see(fmt.Sprintf("s%d", i+1), limitedUntil(time.Now(), limit.RateLimit, reset))
					time.Sleep(time.Second)
				}
				time.Sleep(65 * time.Second)
				require.Contains(t, sentence.Of(w.session(c.want[4])), "max_concurrent")
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
		line := resume.Observation{Key: resume.Key{Agent: "bot", ID: "a"}, Pos: resume.Position{Epoch: "1", Offset: 100}, Event: limited(time.Now(), limit.RateLimit)}
		require.NoError(t, w.Observe(t.Context(), []resume.Observation{line}))
		_, err := w.Apply(t.Context(), line.Key, resume.Forget{})
		require.NoError(t, err)
		require.NoError(t, w.Observe(t.Context(), []resume.Observation{line}), "the file is read again")
		require.Equal(t, resume.Watching, w.session("a").State)

		line.Pos.Epoch, line.Event = "2", limited(time.Now().Add(time.Millisecond), limit.RateLimit)
		require.NoError(t, w.Observe(t.Context(), []resume.Observation{line}), "another file, and another refusal")
		require.Equal(t, resume.Waiting, w.session("a").State)
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
		require.Equal(t, "due, but resumed is paused", sentence.Of(w.session("a")))
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

// Sessions that become due by new rules are started only after others has returned, however long that
// takes.
func TestNothingStartsByRulesThatAreHalfInForce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var whole atomic.Bool
		w := newWorld(t, defaultRules(), func(ctx context.Context, w *world, s resume.Session) {
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
		w := newWorld(t, defaultRules(), func(ctx context.Context, _ *world, _ resume.Session) { <-ctx.Done() })
		w.see("a", limited(time.Now(), limit.RateLimit))
		w.see("b", limitedUntil(time.Now(), limit.UsageLimit, time.Now().Add(9*time.Hour)))
		time.Sleep(time.Minute)
		before := time.Now()
		w.stop()
		require.Zero(t, time.Since(before))
		last := w.changes[len(w.changes)-1].After
		require.Equal(t, resume.Resuming, last.State, "a resume cut off by our own stop is no failed attempt")
	})
}

func TestEngineForgetsWhatIsLongOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, defaultRules(), fails)
		w.see("a", limited(time.Now(), limit.RateLimit))
		w.see("a", resume.Progressed{At: time.Now()})
		time.Sleep(23 * time.Hour)
		require.NotZero(t, w.session("a").LimitedAt)
		time.Sleep(3 * time.Hour)
		require.Zero(t, w.session("a").LimitedAt)
		require.True(t, slices.ContainsFunc(w.changes, func(c resume.Change) bool { return c.Dropped }))
		w.stop()
	})
}

func TestEngineKnowsNoStrangers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, defaultRules(), fails)
		_, err := w.Apply(t.Context(), resume.Key{Agent: "bot", ID: "nobody"}, resume.Retry{})
		require.ErrorIs(t, err, resume.ErrNoSession)
		w.stop()
	})
}

// recovers takes ten seconds to move, and a minute to end.
func recovers(ctx context.Context, w *world, s resume.Session) {
	mark := s.Run.Mark
	_, _ = w.Apply(ctx, s.Key, resume.Started{Mark: mark, Process: resume.Process{PID: 9}})
	time.Sleep(10 * time.Second)
	_, _ = w.Apply(ctx, s.Key, resume.Progressed{At: time.Now()})
	time.Sleep(50 * time.Second)
	_, _ = w.Apply(ctx, s.Key, resume.Ended{Mark: mark, Outcome: resume.Delivered})
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
		require.Equal(t, resume.Account{AccountKey: resume.AccountKey{Name: "bot:default"}, State: resume.Open, ResetAt: reset, Sessions: 4, Kept: 4}, w.account())
		time.Sleep(time.Hour + 5*time.Second)
		require.Equal(t, resume.HalfOpen, w.account().State)
		require.Contains(t, sentence.Of(w.session("s2")), "the first one tries alone")
		time.Sleep(10 * time.Second)
		require.Equal(t, resume.Closed, w.account().State)
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
		w := newWorld(t, rules, func(ctx context.Context, w *world, s resume.Session) {
			if len(w.started()) > 1 {
				recovers(ctx, w, s)
				return
			}
			_, _ = w.Apply(ctx, s.Key, resume.Started{Mark: s.Run.Mark, Process: resume.Process{PID: 9}})
			time.Sleep(time.Second)
			_, _ = w.Apply(ctx, s.Key, limitedUntil(time.Now(), limit.UsageLimit, later))
			_, _ = w.Apply(ctx, s.Key, resume.Ended{Mark: s.Run.Mark, Outcome: resume.Failed})
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
		w := newWorld(t, rules, func(ctx context.Context, w *world, s resume.Session) {
			if s.Key.ID < "c" {
				_, _ = w.Apply(ctx, s.Key, resume.NotSent{Mark: s.Run.Mark, Why: "its directory is gone", Then: resume.Park})
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
		require.NoError(t, w.Observe(t.Context(), []resume.Observation{{
			Key: resume.Key{Agent: "bot", ID: "new"}, Account: "x", Cwd: "/src/old", Pos: resume.Position{Epoch: "1", Offset: w.offset}, Event: resume.Progressed{At: time.Now()},
		}}))
		time.Sleep(2 * time.Hour)
		require.Empty(t, w.started())
		require.Equal(t, resume.Parked, w.session("old").State)
		require.Contains(t, sentence.Of(w.session("old")), "session new was started in the same directory")

		_, err := w.Apply(t.Context(), resume.Key{Agent: "bot", ID: "old"}, resume.Retry{})
		require.NoError(t, err)
		synctest.Wait()
		require.Len(t, w.started(), 1, "a person's order is stronger")
		w.stop()
	})
}

func TestSessionsThatShareADirectoryByDesignDoNotSupersedeEachOther(t *testing.T) {
	for name, c := range map[string]struct {
		parallel map[string]bool
		other    resume.Event
	}{
		"by design":              {map[string]bool{"bot": true}, resume.Progressed{At: time.Now()}},
		"the other one is stuck": {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rules := defaultRules()
				rules.Parallel = c.parallel
				w := newWorld(t, rules, recovers)
				w.see("old", limited(time.Now(), limit.RateLimit))
				time.Sleep(time.Second)
				events := []resume.Event{resume.Progressed{At: time.Now()}}
				if c.other == nil {
					events = append(events, limitedUntil(time.Now(), limit.UsageLimit, time.Now().Add(time.Hour)))
				}
				for _, ev := range events {
					w.offset++
					require.NoError(t, w.Observe(t.Context(), []resume.Observation{{
						Key: resume.Key{Agent: "bot", ID: "new"}, Account: "x", Cwd: "/src/old", Pos: resume.Position{Epoch: "1", Offset: w.offset}, Event: ev,
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
			e := New(Options{
				Rules: defaultRules(), Changed: func(resume.Change) {}, Rand: func() float64 { return half },
			})
			now := time.Now()
			keys := make([]resume.Key, n)
			for i := range keys {
				keys[i] = resume.Key{Agent: "bot", ID: fmt.Sprint(i)}
				e.observe(b.Context(), resume.Observation{Key: keys[i], Pos: resume.Position{Epoch: "1", Offset: 0}, Event: limited(now, limit.RateLimit)})
			}
			i := 0
			for b.Loop() {
				i++
				key := keys[i%n]
				e.observe(b.Context(), resume.Observation{Key: key, Pos: resume.Position{Epoch: "1", Offset: int64(2 * i)}, Event: resume.Progressed{At: now}})
				e.observe(b.Context(), resume.Observation{Key: key, Pos: resume.Position{Epoch: "1", Offset: int64(2*i + 1)}, Event: limited(now, limit.RateLimit)})
			}
		})
	}
}

// Another file of a session may be an old copy.
func TestWhatASessionHasLeftBehindChangesNothing(t *testing.T) {
	limitedAt := func(at time.Time) resume.Limited { return limited(at, limit.Overloaded) }
	for rule, c := range map[string]struct {
		events func(now time.Time) []resume.Event
		copied func(now time.Time) []resume.Event
		want   resume.State
		taken  bool
		other  string // account
	}{
		"a refusal that it waits for, copied to another account": {
			events: func(now time.Time) []resume.Event { return []resume.Event{limitedAt(now)} },
			copied: func(now time.Time) []resume.Event { return []resume.Event{limitedAt(now)} },
			want:   resume.Waiting, other: "bot:other",
		},
		"a refusal from before it moved": {
			func(now time.Time) []resume.Event { return []resume.Event{resume.Progressed{At: now}} },
			func(now time.Time) []resume.Event {
				return []resume.Event{resume.Prompted{At: now.Add(-time.Hour)}, limitedAt(now.Add(-time.Minute))}
			},
			resume.Watching, false, "",
		},
		"a refusal that it got over": {
			func(now time.Time) []resume.Event { return []resume.Event{limitedAt(now), resume.Cancelled{At: now}} },
			func(now time.Time) []resume.Event { return []resume.Event{resume.Prompted{At: now}, limitedAt(now)} },
			resume.Watching, false, "",
		},
		"movement from before it was stopped": {
			func(now time.Time) []resume.Event { return []resume.Event{limitedAt(now)} },
			func(now time.Time) []resume.Event {
				return []resume.Event{resume.Progressed{At: now.Add(-time.Minute)}}
			},
			resume.Waiting, false, "",
		},
		"but a refusal that it waits for tells where its file lies now": {
			func(now time.Time) []resume.Event { return []resume.Event{limitedAt(now)} },
			func(now time.Time) []resume.Event {
				return []resume.Event{resume.Progressed{At: now.Add(-time.Minute)}, limitedAt(now)}
			},
			resume.Waiting, true, "",
		},
		"but a refusal since then counts": {
			func(now time.Time) []resume.Event {
				return []resume.Event{resume.Progressed{At: now.Add(-time.Second)}}
			},
			func(now time.Time) []resume.Event { return []resume.Event{limitedAt(now)} },
			resume.Waiting, true, "",
		},
	} {
		t.Run(rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, defaultRules(), func(context.Context, *world, resume.Session) {})
				defer w.stop()
				now := time.Now()
				for _, ev := range c.events(now) {
					w.see("s", ev)
				}
				for i, ev := range c.copied(now) {
					require.NoError(t, w.Observe(t.Context(), []resume.Observation{{
						Key: resume.Key{Agent: "bot", ID: "s"}, Account: c.other, Transcript: "/copy", Pos: resume.Position{Epoch: "2", Offset: int64(i + 1)}, Event: ev,
					}}))
				}
				s, err := w.Session(t.Context(), resume.Key{Agent: "bot", ID: "s"})
				require.NoError(t, err)
				require.Equal(t, c.want, s.State)
				require.Equal(t, c.taken, s.Transcript == "/copy")
			})
		})
	}
}
