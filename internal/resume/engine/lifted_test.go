package engine

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
	"resumed/internal/resume"
	"resumed/internal/resume/sentence"
)

func TestALimitThatIsOverBeforeItsReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, defaultRules(), works)
		reset := time.Now().Add(5 * time.Hour)
		model := func(id, name string) { w.seeOf("", id, resume.Progressed{At: time.Now(), Model: name}) }
		for id, name := range map[string]string{"proof": "opus", "same": "opus", "other": "sonnet", "later": "opus"} {
			model(id, name)
		}
		time.Sleep(time.Second)
		stopped := time.Now()
		for _, id := range []string{"proof", "same", "other"} {
			w.seeOf("", id, limitedUntil(stopped, limit.UsageLimit, reset))
		}
		w.seeOf("", "later", limitedUntil(stopped, limit.UsageLimit, reset.Add(48*time.Hour)))
		w.seeOf("elsewhere", "provider", limitedUntil(stopped, limit.UsageLimit, reset))

		time.Sleep(time.Hour)
		w.seeOf("", "proof", resume.Prompted{At: time.Now()})
		require.True(t, w.session("same").NextAt.After(reset), "a prompt proves nothing")
		time.Sleep(time.Second)
		model("proof", "opus")
		same := w.session("same")
		require.Contains(t, sentence.Of(same), "its limit was over before the reset at")
		require.Contains(t, sentence.Of(same), "session proof of the same account works again")
		require.WithinDuration(t, time.Now().Add(time.Minute), same.NextAt, time.Second, "with the margin")
		require.True(t, reset.Equal(same.Limit.Reset.At), "what was stated stays")
		for _, id := range []string{"other", "later", "provider"} {
			require.False(t, w.session(id).NextAt.Before(reset), "%s waits for another limit", id)
		}

		time.Sleep(2 * time.Minute)
		require.Equal(t, resume.Resuming, w.session("same").State)
		w.seeOf("", "same", limitedUntil(time.Now(), limit.UsageLimit, reset))
		require.True(t, w.session("same").LiftedAt.IsZero(), "it met the limit all the same")
		w.stop()
	})
}

func TestAnotherModelProvesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, defaultRules(), works)
		reset := time.Now().Add(5 * time.Hour)
		for _, id := range []string{"proof", "same"} {
			w.seeOf("", id, resume.Progressed{At: time.Now(), Model: "opus"})
			w.seeOf("", id, limitedUntil(time.Now(), limit.UsageLimit, reset))
		}
		time.Sleep(time.Hour)
		w.seeOf("", "proof", resume.Prompted{At: time.Now()})
		time.Sleep(time.Second)
		w.seeOf("", "proof", resume.Progressed{At: time.Now(), Model: "sonnet"})
		require.True(t, w.session("same").NextAt.After(reset))
		w.stop()
	})
}

func TestAResetThatMovedEarlierCountsForTheOthers(t *testing.T) {
	for name, run := range map[string]func(context.Context, *world, resume.Session){
		"told while the command runs":  works,
		"read after the command's end": fails,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, defaultRules(), run)
				reset, earlier := time.Now().Add(5*time.Hour), time.Now().Add(2*time.Hour)
				for _, id := range []string{"told", "other"} {
					w.seeOf("", id, limitedUntil(time.Now(), limit.UsageLimit, reset))
				}
				time.Sleep(time.Hour)
				w.order("told", resume.Retry{})
				time.Sleep(2 * time.Second)
				w.seeOf("", "told", limitedUntil(time.Now(), limit.UsageLimit, earlier))
				other := w.session("other")
				require.True(t, earlier.Equal(other.Limit.Reset.At))
				require.Contains(t, sentence.Of(other), "its limit resets before "+reset.UTC().Format(time.RFC3339))
				require.False(t, other.NextAt.Before(earlier))
				require.True(t, other.NextAt.Before(reset))
				w.stop()
			})
		})
	}
}

func TestAnotherLimitMovesNoReset(t *testing.T) {
	for name, c := range map[string]struct {
		class limit.Class
		model string
	}{
		"a rate limit":  {limit.RateLimit, "opus"},
		"another model": {limit.UsageLimit, "sonnet"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, defaultRules(), works)
				reset := time.Now().Add(5 * time.Hour)
				for id, model := range map[string]string{"told": c.model, "other": "opus"} {
					w.seeOf("", id, resume.Progressed{At: time.Now(), Model: model})
					w.seeOf("", id, limitedUntil(time.Now(), limit.UsageLimit, reset))
				}
				time.Sleep(time.Hour)
				w.order("told", resume.Retry{})
				time.Sleep(time.Second)
				w.seeOf("", "told", limitedUntil(time.Now(), c.class, time.Now().Add(time.Minute)))
				require.True(t, reset.Equal(w.session("other").Limit.Reset.At))
				w.stop()
			})
		})
	}
}
