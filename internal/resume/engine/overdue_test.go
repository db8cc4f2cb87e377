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

// asks sends a resume unless a person must be asked first, as the deliverer does.
func asks(ctx context.Context, w *world, s resume.Session) {
	if why := s.Overdue(); why.Kind != "" {
		_, _ = w.Apply(ctx, s.Key, resume.NotSent{Mark: s.Run.Mark, Known: why, Then: resume.Park})
		return
	}
	works(ctx, w, s)
}

func TestAWaitThatPassedLongAgoIsAskedAbout(t *testing.T) {
	day, hour := 24*time.Hour, time.Hour
	hours := defaultRules()
	hours.Overdue = day
	hours.NextAllowed = func(at time.Time) time.Time { // at night
		if at.Hour() < 8 {
			return at
		}
		return at.Truncate(day).Add(day)
	}
	never := defaultRules()
	for name, c := range map[string]struct {
		rules   *resume.Rules
		happens func(w *world) // with the session "a", whose usage limit lifts in an hour
		away    time.Duration  // how long no daemon runs then
		noted   time.Duration  // how long before its end the last daemon stored that it runs
		after   func(w *world) // when the next daemon has started
		want    resume.State   // two hours later
		reason  string
	}{
		"nobody was there for three days": {
			away: 3 * day, want: resume.Parked, reason: "its reset was at 2000-01-01T01:00:00Z, and resumed was not running (resume.overdue): `resumed retry a` continues it",
		},
		"nobody was there for a night":      {away: 12 * hour, want: resume.Resuming},
		"the reset is still to come":        {happens: func(w *world) { w.see("a", limitedUntil(time.Now(), limit.UsageLimit, time.Now().Add(100*hour))) }, away: 3 * day, want: resume.Waiting},
		"nobody is to be asked":             {rules: &never, away: 3 * day, want: resume.Resuming},
		"a person has wanted it before":     {happens: func(w *world) { w.order("a", resume.Pause{}); w.order("a", resume.Retry{}) }, away: 3 * day, after: func(w *world) { w.order("a", resume.Unpause{}) }, want: resume.Resuming},
		"it waited for its turn meanwhile":  {happens: func(w *world) { w.order("a", resume.Pause{}); time.Sleep(3 * day) }, away: hour, after: func(w *world) { w.order("a", resume.Unpause{}) }, want: resume.Resuming},
		"it waited, and nobody was there":   {happens: func(w *world) { w.order("a", resume.Pause{}); time.Sleep(3 * day) }, away: 2 * day, after: func(w *world) { w.order("a", resume.Unpause{}) }, want: resume.Parked, reason: "its reset was at "},
		"nobody noted that one was there":   {happens: func(w *world) { w.order("a", resume.Pause{}); time.Sleep(3 * day) }, away: hour, noted: 2 * day, after: func(w *world) { w.order("a", resume.Unpause{}) }, want: resume.Parked},
		"its hours begin later":             {rules: &hours, away: 59 * hour, after: func(*world) { time.Sleep(14 * hour) }, want: resume.Parked, reason: "its reset was"},
		"it was about to be sent":           {happens: func(*world) { time.Sleep(hour + time.Minute) }, away: 3 * day, after: func(w *world) { w.order("a", resume.Lost{Mark: "1"}) }, want: resume.Parked, reason: "its reset was at "},
		"without a reset it was to be sent": {happens: func(w *world) { w.see("a", limited(time.Now(), limit.UsageLimit)) }, away: 3 * day, want: resume.Parked, reason: "it was to be resumed at "},
		"it was stopped while nobody was there": {
			happens: func(w *world) { w.see("a", resume.Progressed{At: time.Now()}) }, away: 3 * day,
			after: func(w *world) { w.see("a", limited(time.Now().Add(-2*day), limit.Overloaded)) }, want: resume.Parked, reason: "it was to be resumed at ",
		},
		"it has gone on meanwhile": {
			away: 3 * day, after: func(w *world) { w.see("a", resume.Progressed{At: time.Now().Add(-day)}) }, want: resume.Watching,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rules := defaultRules()
				rules.Overdue = day
				if c.rules != nil {
					rules = *c.rules
				}
				act := asks
				if name == "it was about to be sent" {
					act = waits
				}
				w := newWorld(t, rules, act)
				w.see("a", limitedUntil(time.Now(), limit.UsageLimit, time.Now().Add(hour)))
				if c.happens != nil {
					c.happens(w)
				}
				data, err := json.Marshal(w.session("a"))
				require.NoError(t, err)
				w.stop()
				alive := time.Now().Add(-c.noted)
				time.Sleep(c.away)
				var kept resume.Session
				require.NoError(t, json.Unmarshal(data, &kept))
				offset := w.offset
				w = newWorldOf(t, Options{Rules: rules, Sessions: []resume.Session{kept}, AliveAt: alive}, func(ctx context.Context, w *world, s resume.Session) {
					time.Sleep(time.Minute) // its transcript is read again
					if now, err := w.Session(ctx, s.Key); err == nil && now.Run != nil && now.Run.Mark == s.Run.Mark {
						asks(ctx, w, now)
					}
				})
				w.offset = offset
				if c.after != nil {
					c.after(w)
				}
				time.Sleep(2 * hour)
				s := w.session("a")
				require.Equal(t, c.want, s.State, sentence.Of(s))
				require.Contains(t, sentence.Of(s), c.reason)
				if s.State == resume.Parked {
					w.order("a", resume.Retry{})
					time.Sleep(2 * time.Minute)
					require.Equal(t, resume.Resuming, w.session("a").State, "who is asked may say yes")
				}
				w.stop()
			})
		})
	}
}

func (w *world) order(id string, ev resume.Event) {
	_, err := w.Apply(w.t.Context(), resume.Key{Agent: "bot", ID: id}, ev)
	require.NoError(w.t, err)
}

// On a laptop that slept for days the same daemon continues.
func TestAMachineThatSleptForDaysAsksAboutWhatPassedMeanwhile(t *testing.T) {
	for slept, want := range map[time.Duration]resume.State{72 * time.Hour: resume.Parked, 12 * time.Hour: resume.Resuming} {
		synctest.Test(t, func(t *testing.T) {
			rules := defaultRules()
			rules.Overdue = 24 * time.Hour
			w := newWorld(t, rules, asks)
			require.NoError(t, w.SetPaused(t.Context(), true)) // so that the change below has no effect in the same turn
			w.see("a", limited(time.Now(), limit.Overloaded))
			require.NoError(t, w.do(t.Context(), func(context.Context) {
				s, _ := w.book.get(resume.Key{Agent: "bot", ID: "a"}) // as if it had been stopped that much earlier
				s.LimitedAt, s.WaitFrom = s.LimitedAt.Add(-slept), s.WaitFrom.Add(-slept)
				s.NextAt = s.NextAt.Add(-slept)
				w.keep(s)
				w.latest = w.latest.Add(-slept)
			}))
			time.Sleep(time.Minute)
			require.NoError(t, w.SetPaused(t.Context(), false))
			time.Sleep(time.Hour)
			require.Equal(t, want, w.session("a").State, sentence.Of(w.session("a")))
			w.stop()
		})
	}
}
