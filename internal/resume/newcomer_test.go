package resume

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
)

func (w *world) seeIn(dir, id string, sight Observation) {
	w.offset++
	sight.Key, sight.Account, sight.Cwd, sight.Pos = Key{"bot", id}, "bot:"+id, dir, Position{"1", w.offset}
	require.NoError(w.t, w.Observe(w.t.Context(), []Observation{sight}))
}

// waits is a resume that is about to be sent.
func waits(context.Context, *world, Session) {}

func (w *world) superseded(id string) string {
	why, err := w.Superseded(w.t.Context(), Key{"bot", id})
	require.NoError(w.t, err)
	return why
}

// restarted is a world that knows what the other one has put on disk of a
// session.
func (w *world) restarted(id string, rules Rules) *world {
	data, err := json.Marshal(w.session(id))
	require.NoError(w.t, err)
	w.stop()
	var kept Session
	require.NoError(w.t, json.Unmarshal(data, &kept))
	next := newWorldOf(w.t, Options{Rules: rules, Sessions: []Session{kept}}, waits)
	next.offset = w.offset
	return next
}

func TestWhoWentOnInTheDirectoryIsKnownAfterARestart(t *testing.T) {
	hour := func() Limited { return limitedUntil(time.Now(), limit.UsageLimit, time.Now().Add(time.Hour)) }
	parallel := defaultRules()
	parallel.Parallel = map[string]bool{"bot": true}
	for name, c := range map[string]struct {
		before, after func(*world)
		rules         Rules
		want          bool
	}{
		"it was begun after the stop": {
			before: func(w *world) {
				w.seeIn("/src", "old", Observation{Event: hour()})
				time.Sleep(time.Second)
				w.seeIn("/src", "new", Observation{Event: Progressed{At: time.Now()}})
			}, want: true,
		},
		"the stop is read late": {
			before: func(w *world) {
				at := time.Now()
				time.Sleep(time.Second)
				w.seeIn("/src", "new", Observation{Event: Progressed{At: time.Now()}})
				w.seeIn("/src", "old", Observation{Event: limitedUntil(at, limit.UsageLimit, time.Now().Add(time.Hour))})
			}, want: true,
		},
		"it works elsewhere": {
			before: func(w *world) {
				w.seeIn("/src", "old", Observation{Event: hour()})
				time.Sleep(time.Second)
				w.seeIn("/elsewhere", "new", Observation{Event: Progressed{At: time.Now()}})
			},
		},
		"it was there before": {
			before: func(w *world) {
				w.seeIn("/src", "new", Observation{Event: Progressed{At: time.Now()}})
				time.Sleep(time.Second)
				w.seeIn("/src", "old", Observation{Event: hour()})
				time.Sleep(time.Second)
				w.seeIn("/src", "new", Observation{Event: Progressed{At: time.Now()}})
			},
			after: func(w *world) { w.seeIn("/src", "new", Observation{Late: true, Event: Progressed{At: time.Now()}}) },
		},
		"its file was there before": {
			before: func(w *world) {
				made := time.Now()
				time.Sleep(time.Second)
				w.seeIn("/src", "old", Observation{Event: hour()})
				time.Sleep(time.Second)
				w.seeIn("/src", "new", Observation{Made: made, Event: Progressed{At: time.Now()}})
			},
		},
		"it began while no daemon ran": {
			before: func(w *world) { w.seeIn("/src", "old", Observation{Event: hour()}); time.Sleep(time.Second) },
			after: func(w *world) {
				w.seeIn("/src", "new", Observation{Late: true, Made: time.Now(), Event: Progressed{At: time.Now()}})
			},
			want: true,
		},
		"it is stopped as well": {
			before: func(w *world) {
				w.seeIn("/src", "old", Observation{Event: hour()})
				time.Sleep(time.Second)
				w.seeIn("/src", "new", Observation{Event: Progressed{At: time.Now()}})
			},
			after: func(w *world) { w.seeIn("/src", "new", Observation{Late: true, Event: hour()}) },
		},
		"the session was stopped again since": {
			before: func(w *world) {
				w.seeIn("/src", "old", Observation{Event: hour()})
				time.Sleep(time.Second)
				w.seeIn("/src", "new", Observation{Event: Progressed{At: time.Now()}})
			},
			after: func(w *world) { time.Sleep(time.Second); w.seeIn("/src", "old", Observation{Event: hour()}) },
		},
		"a person wants it all the same": {
			before: func(w *world) {
				w.seeIn("/src", "old", Observation{Event: hour()})
				time.Sleep(time.Second)
				w.seeIn("/src", "new", Observation{Event: Progressed{At: time.Now()}})
			},
			after: func(w *world) { _, _ = w.Apply(w.t.Context(), Key{"bot", "old"}, Retry{}) },
		},
		"such sessions share a directory": {
			before: func(w *world) {
				w.seeIn("/src", "old", Observation{Event: hour()})
				time.Sleep(time.Second)
				w.seeIn("/src", "new", Observation{Event: Progressed{At: time.Now()}})
			}, rules: parallel,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rules := c.rules
				if rules.MaxConcurrent == 0 {
					rules = defaultRules()
				}
				w := newWorld(t, rules, waits)
				c.before(w)
				w = w.restarted("old", rules)
				if c.after != nil {
					c.after(w)
				}
				require.Equal(t, c.want, w.superseded("old") != "", w.superseded("old"))
				w.stop()
			})
		})
	}
}

// What is over for a day is not listed any more, but when it goes on that is not
// its beginning.
func TestASessionThatWasForgottenIsNotBegunAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, defaultRules(), waits)
		w.seeIn("/src", "first", Observation{Event: limited(time.Now(), limit.RateLimit)})
		w.seeIn("/src", "first", Observation{Event: Progressed{At: time.Now()}})
		time.Sleep(26 * time.Hour)
		w.seeIn("/src", "second", Observation{Event: limitedUntil(time.Now(), limit.UsageLimit, time.Now().Add(time.Hour))})
		time.Sleep(time.Second)
		w.seeIn("/src", "first", Observation{Event: Progressed{At: time.Now()}})
		require.Empty(t, w.superseded("second"))
		w.stop()
	})
}

// A commit hook or a script that asks an agent something in the directory of a
// session that waits does not go on with that session's work.
func TestWhoTakesThePlaceOfASessionThatWasStopped(t *testing.T) {
	joins := func(w *world, id, kind string) {
		time.Sleep(time.Second)
		w.seeIn("/src", id, Observation{Kind: kind, Event: Progressed{At: time.Now()}})
	}
	identified := func(w *world, kind string) {
		_, err := w.Apply(w.t.Context(), Key{"bot", "new"}, Identified{Kind: kind})
		require.NoError(w.t, err)
	}
	for name, c := range map[string]struct {
		newcomers Newcomers
		happens   func(*world)
		want      bool
	}{
		"a person does":                 {InteractiveNewcomers, func(w *world) { joins(w, "new", Interactive) }, true},
		"who does not tell is a person": {InteractiveNewcomers, func(w *world) { joins(w, "new", "") }, true},
		"a side job does not":           {InteractiveNewcomers, func(w *world) { joins(w, "new", Headless) }, false},
		"one by its process does not":   {InteractiveNewcomers, func(w *world) { joins(w, "new", ""); identified(w, Headless) }, false},
		"a side job that a person took over does": {InteractiveNewcomers, func(w *world) {
			joins(w, "new", Headless)
			joins(w, "new", Interactive)
		}, true},
		"a person's session that a script continues does": {InteractiveNewcomers, func(w *world) {
			joins(w, "new", Interactive)
			joins(w, "new", Headless)
		}, true},
		"a side job after a person leaves that one there": {InteractiveNewcomers, func(w *world) {
			joins(w, "new", Interactive)
			joins(w, "hook", Headless)
		}, true},
		"a side job does where any newcomer counts": {AnyNewcomer, func(w *world) { joins(w, "new", Headless) }, true},
		"nobody does where none counts":             {NoNewcomer, func(w *world) { joins(w, "new", Interactive) }, false},
	} {
		for when, restarts := range map[string]bool{"": false, ", also after a restart": true} {
			t.Run(name+when, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					rules := defaultRules()
					rules.Newcomers = c.newcomers
					w := newWorld(t, rules, works)
					w.seeIn("/src", "old", Observation{Event: limitedUntil(time.Now(), limit.UsageLimit, time.Now().Add(time.Hour))})
					c.happens(w)
					if restarts {
						w = w.restarted("old", rules)
					}
					require.Equal(t, c.want, w.superseded("old") != "", w.superseded("old"))
					if !restarts {
						time.Sleep(2 * time.Hour)
						require.Equal(t, c.want, w.session("old").State == Parked, w.session("old").State)
					}
					w.stop()
				})
			})
		}
	}
}
