package engine

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
	"resumed/internal/resume"
)

// Between the claim and the command the transcript is read, which may take time.
func TestNothingIsSentAfterAPause(t *testing.T) {
	for name, c := range map[string]struct {
		pause, unpause func(context.Context, *world) error
	}{
		"of all": {
			func(ctx context.Context, w *world) error { return w.SetPaused(ctx, true) },
			func(ctx context.Context, w *world) error { return w.SetPaused(ctx, false) },
		},
		"of the session": {
			func(ctx context.Context, w *world) error { _, err := w.Apply(ctx, bot, resume.Pause{}); return err },
			func(ctx context.Context, w *world) error { _, err := w.Apply(ctx, bot, resume.Unpause{}); return err },
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var sent atomic.Int32
				w := newWorld(t, defaultRules(), func(ctx context.Context, w *world, s resume.Session) {
					time.Sleep(10 * time.Second)
					if after, err := w.Apply(ctx, s.Key, resume.Sending{Mark: s.Run.Mark}); err == nil && after.Run != nil && after.Run.Mark == s.Run.Mark {
						sent.Add(1)
					}
				})
				w.see("s", limitedUntil(time.Now(), limit.RateLimit, time.Now().Add(time.Minute)))
				time.Sleep(time.Minute + 5*time.Second)
				require.Equal(t, resume.Resuming, w.session("s").State)
				require.NoError(t, c.pause(t.Context(), w))
				time.Sleep(time.Hour)
				require.Zero(t, sent.Load())
				require.Equal(t, resume.Waiting, w.session("s").State)
				require.Empty(t, w.session("s").Attempts, "it cost nothing")

				require.NoError(t, c.unpause(t.Context(), w))
				time.Sleep(11 * time.Second)
				require.EqualValues(t, 1, sent.Load())
				w.stop()
			})
		})
	}
}

// A command that was begun is not taken back.
func TestAPauseLeavesWhatRunsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, defaultRules(), recovers)
		w.see("s", limitedUntil(time.Now(), limit.RateLimit, time.Now().Add(time.Minute)))
		time.Sleep(time.Minute + time.Second)
		require.NoError(t, w.SetPaused(t.Context(), true))
		time.Sleep(time.Minute)
		require.Equal(t, resume.Watching, w.session("s").State)
		require.Len(t, w.started(), 1)
		w.stop()
	})
}

// A daemon that starts long after a resume has not yet read its result.
func TestWhatSettledWhileNoDaemonRanIsNotJudgedUnread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := defaultRules()
		rules.Backoff.MaxRetries = 1
		began := time.Now().Add(-time.Hour)
		s := resume.Session{Key: bot, Account: "bot:s", Cwd: "/src/s"}.Next(limited(began, limit.Overloaded), rules, began, half)
		s = s.Next(resume.Due{Mark: "m"}, rules, s.NextAt, half)
		s = s.Next(resume.Started{Mark: "m"}, rules, began, half).Next(resume.Ended{Mark: "m", Outcome: resume.Delivered}, rules, began.Add(time.Minute), half)
		require.Equal(t, resume.Settling, s.State)
		w := newWorldOf(t, Options{Rules: rules, Sessions: []resume.Session{s}}, waits)
		time.Sleep(time.Second)
		w.see("s", resume.Progressed{At: began.Add(2 * time.Minute)})
		require.Equal(t, resume.Watching, w.session("s").State)
		for _, c := range w.changes {
			require.False(t, c.Entered(resume.GaveUp))
		}
		w.stop()
	})
}

// Orders at the same time leave the stored state as the engine has it: it is stored when it is applied.
func TestAPauseIsStoredWhenItIsApplied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var stored []bool
		w := newWorldOf(t, Options{Rules: defaultRules(), StorePaused: func(paused bool) { stored = append(stored, paused) }}, recovers)
		for _, paused := range []bool{true, false, true} {
			require.NoError(t, w.SetPaused(t.Context(), paused))
		}
		w.see("s", limitedUntil(time.Now(), limit.RateLimit, time.Now().Add(time.Minute)))
		time.Sleep(time.Hour)
		require.Equal(t, []bool{true, false, true}, stored)
		require.Equal(t, resume.Waiting, w.session("s").State, "the last order counts")
		w.stop()
	})
}
