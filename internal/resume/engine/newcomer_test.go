package engine

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
	"resumed/internal/resume"
	"resumed/internal/resume/sentence"
)

func (w *world) seeIn(dir, id string, sight resume.Observation) {
	w.offset++
	sight.Key, sight.Account, sight.Cwd, sight.Pos = resume.Key{Agent: "bot", ID: id}, "bot:"+id, dir, resume.Position{Epoch: "1", Offset: w.offset}
	require.NoError(w.t, w.Observe(w.t.Context(), []resume.Observation{sight}))
}

// waits is a resume that is about to be sent.
func waits(context.Context, *world, resume.Session) {}

func (w *world) superseded(id string) string {
	why, err := w.Superseded(w.t.Context(), resume.Key{Agent: "bot", ID: id})
	require.NoError(w.t, err)
	return sentence.Why(resume.Session{Key: resume.Key{Agent: "bot", ID: id}}, why)
}

// restarted is a world that loads what the other one has stored of a session.
func (w *world) restarted(id string, rules resume.Rules) *world {
	data, err := json.Marshal(w.session(id))
	require.NoError(w.t, err)
	w.stop()
	var kept resume.Session
	require.NoError(w.t, json.Unmarshal(data, &kept))
	next := newWorldOf(w.t, Options{Rules: rules, Sessions: []resume.Session{kept}}, waits)
	next.offset = w.offset
	return next
}

func TestWhoWentOnInTheDirectoryIsKnownAfterARestart(t *testing.T) {
	hour := func() resume.Limited { return limitedUntil(time.Now(), limit.UsageLimit, time.Now().Add(time.Hour)) }
	parallel := defaultRules()
	parallel.Parallel = map[string]bool{"bot": true}
	for name, c := range map[string]struct {
		before, after func(*world)
		rules         resume.Rules
		want          bool
	}{
		"it was begun after the stop": {
			before: func(w *world) {
				w.seeIn("/src", "old", resume.Observation{Event: hour()})
				time.Sleep(time.Second)
				w.seeIn("/src", "new", resume.Observation{Event: resume.Progressed{At: time.Now()}})
			}, want: true,
		},
		"the stop is read late": {
			before: func(w *world) {
				at := time.Now()
				time.Sleep(time.Second)
				w.seeIn("/src", "new", resume.Observation{Event: resume.Progressed{At: time.Now()}})
				w.seeIn("/src", "old", resume.Observation{Event: limitedUntil(at, limit.UsageLimit, time.Now().Add(time.Hour))})
			}, want: true,
		},
		"it works elsewhere": {
			before: func(w *world) {
				w.seeIn("/src", "old", resume.Observation{Event: hour()})
				time.Sleep(time.Second)
				w.seeIn("/elsewhere", "new", resume.Observation{Event: resume.Progressed{At: time.Now()}})
			},
		},
		"it was there before": {
			before: func(w *world) {
				w.seeIn("/src", "new", resume.Observation{Event: resume.Progressed{At: time.Now()}})
				time.Sleep(time.Second)
				w.seeIn("/src", "old", resume.Observation{Event: hour()})
				time.Sleep(time.Second)
				w.seeIn("/src", "new", resume.Observation{Event: resume.Progressed{At: time.Now()}})
			},
			after: func(w *world) {
				w.seeIn("/src", "new", resume.Observation{Late: true, Event: resume.Progressed{At: time.Now()}})
			},
		},
		"its file was there before": {
			before: func(w *world) {
				made := time.Now()
				time.Sleep(time.Second)
				w.seeIn("/src", "old", resume.Observation{Event: hour()})
				time.Sleep(time.Second)
				w.seeIn("/src", "new", resume.Observation{Made: made, Event: resume.Progressed{At: time.Now()}})
			},
		},
		"it began while no daemon ran": {
			before: func(w *world) { w.seeIn("/src", "old", resume.Observation{Event: hour()}); time.Sleep(time.Second) },
			after: func(w *world) {
				w.seeIn("/src", "new", resume.Observation{Late: true, Made: time.Now(), Event: resume.Progressed{At: time.Now()}})
			},
			want: true,
		},
		"it is stopped as well": {
			before: func(w *world) {
				w.seeIn("/src", "old", resume.Observation{Event: hour()})
				time.Sleep(time.Second)
				w.seeIn("/src", "new", resume.Observation{Event: resume.Progressed{At: time.Now()}})
			},
			after: func(w *world) { w.seeIn("/src", "new", resume.Observation{Late: true, Event: hour()}) },
		},
		"the session was stopped again since": {
			before: func(w *world) {
				w.seeIn("/src", "old", resume.Observation{Event: hour()})
				time.Sleep(time.Second)
				w.seeIn("/src", "new", resume.Observation{Event: resume.Progressed{At: time.Now()}})
			},
			after: func(w *world) { time.Sleep(time.Second); w.seeIn("/src", "old", resume.Observation{Event: hour()}) },
		},
		"a person wants it all the same": {
			before: func(w *world) {
				w.seeIn("/src", "old", resume.Observation{Event: hour()})
				time.Sleep(time.Second)
				w.seeIn("/src", "new", resume.Observation{Event: resume.Progressed{At: time.Now()}})
			},
			after: func(w *world) { _, _ = w.Apply(w.t.Context(), resume.Key{Agent: "bot", ID: "old"}, resume.Retry{}) },
		},
		"such sessions share a directory": {
			before: func(w *world) {
				w.seeIn("/src", "old", resume.Observation{Event: hour()})
				time.Sleep(time.Second)
				w.seeIn("/src", "new", resume.Observation{Event: resume.Progressed{At: time.Now()}})
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

// A session that recovered a day ago is not listed any more, but it is not new when it continues.
func TestASessionThatWasForgottenIsNotBegunAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, defaultRules(), waits)
		w.seeIn("/src", "first", resume.Observation{Event: limited(time.Now(), limit.RateLimit)})
		w.seeIn("/src", "first", resume.Observation{Event: resume.Progressed{At: time.Now()}})
		time.Sleep(26 * time.Hour)
		w.seeIn("/src", "second", resume.Observation{Event: limitedUntil(time.Now(), limit.UsageLimit, time.Now().Add(time.Hour))})
		time.Sleep(time.Second)
		w.seeIn("/src", "first", resume.Observation{Event: resume.Progressed{At: time.Now()}})
		require.Empty(t, w.superseded("second"))
		w.stop()
	})
}

// A commit hook or a script that runs an agent in the directory of a waiting session does not continue
// that session's work.
func TestWhoTakesThePlaceOfASessionThatWasStopped(t *testing.T) {
	joins := func(w *world, id, kind string) {
		time.Sleep(time.Second)
		w.seeIn("/src", id, resume.Observation{Kind: kind, Event: resume.Progressed{At: time.Now()}})
	}
	identified := func(w *world, kind string) {
		_, err := w.Apply(w.t.Context(), resume.Key{Agent: "bot", ID: "new"}, resume.Learned{Kind: kind})
		require.NoError(w.t, err)
	}
	for name, c := range map[string]struct {
		newcomers resume.Newcomers
		happens   func(*world)
		want      bool
	}{
		"a person does":                 {resume.InteractiveNewcomers, func(w *world) { joins(w, "new", resume.Interactive) }, true},
		"who does not tell is a person": {resume.InteractiveNewcomers, func(w *world) { joins(w, "new", "") }, true},
		"a side job does not":           {resume.InteractiveNewcomers, func(w *world) { joins(w, "new", resume.Headless) }, false},
		"one by its process does not":   {resume.InteractiveNewcomers, func(w *world) { joins(w, "new", ""); identified(w, resume.Headless) }, false},
		"a side job that a person took over does": {resume.InteractiveNewcomers, func(w *world) {
			joins(w, "new", resume.Headless)
			joins(w, "new", resume.Interactive)
		}, true},
		"a person's session that a script continues does": {resume.InteractiveNewcomers, func(w *world) {
			joins(w, "new", resume.Interactive)
			joins(w, "new", resume.Headless)
		}, true},
		"a side job after a person leaves that one there": {resume.InteractiveNewcomers, func(w *world) {
			joins(w, "new", resume.Interactive)
			joins(w, "hook", resume.Headless)
		}, true},
		"a side job does where any newcomer counts": {resume.AnyNewcomer, func(w *world) { joins(w, "new", resume.Headless) }, true},
		"nobody does where none counts":             {resume.NoNewcomer, func(w *world) { joins(w, "new", resume.Interactive) }, false},
	} {
		for when, restarts := range map[string]bool{"": false, ", also after a restart": true} {
			t.Run(name+when, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					rules := defaultRules()
					rules.Newcomers = c.newcomers
					w := newWorld(t, rules, works)
					w.seeIn("/src", "old", resume.Observation{Event: limitedUntil(time.Now(), limit.UsageLimit, time.Now().Add(time.Hour))})
					c.happens(w)
					if restarts {
						w = w.restarted("old", rules)
					}
					require.Equal(t, c.want, w.superseded("old") != "", w.superseded("old"))
					if !restarts {
						time.Sleep(2 * time.Hour)
						require.Equal(t, c.want, w.session("old").State == resume.Parked, w.session("old").State)
					}
					w.stop()
				})
			})
		}
	}
}
