package engine

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
	"resumed/internal/resume"
	"resumed/internal/resume/sentence"
)

// refusing takes three seconds and is refused.
func refusing(class limit.Class) func(context.Context, *world, resume.Session) {
	return func(ctx context.Context, w *world, s resume.Session) {
		_, _ = w.Apply(ctx, s.Key, resume.Started{Mark: s.Run.Mark, Process: resume.Process{PID: 9}})
		time.Sleep(3 * time.Second)
		w.seeShared(s.Key.ID, limited(time.Now(), class))
		_, _ = w.Apply(ctx, s.Key, resume.Ended{Mark: s.Run.Mark, Outcome: resume.Failed, Err: "exit status 1"})
	}
}

// An account that refuses every session, such as one that its user has signed out of, is not tried with
// one session after the other.
func TestARefusalOfTheAccountHoldsTheOthersBack(t *testing.T) {
	const sessions = 20
	retryAll := func(w *world) {
		for n := range sessions {
			w.order(fmt.Sprint(n), resume.Retry{})
		}
	}
	for name, c := range map[string]struct {
		stopped, refused limit.Class
		happens          func(w *world)
		starts           int
	}{
		"all are tried again by order":           {limit.Auth, limit.Auth, retryAll, 1},
		"all are tried again by order, and held": {limit.Auth, limit.Auth, func(w *world) { retryAll(w); w.order("7", resume.Pause{}) }, 1},
		"the credits are used up":                {limit.Billing, limit.Billing, retryAll, 1},
		"it is found out when a limit ends":      {limit.UsageLimit, limit.Auth, func(*world) {}, 2}, // one refusal may have a cause of its own
		"a limit for one session alone":          {limit.ContextOverflow, limit.ContextOverflow, retryAll, sessions},
		"another model must be paid for":         {limit.UsageLimit, limit.Billing, func(*world) {}, sessions},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, defaultRules(), refusing(c.refused))
				reset := time.Now().Add(time.Minute)
				for n := range sessions {
					w.seeShared(fmt.Sprint(n), limitedUntil(time.Now(), c.stopped, reset))
				}
				time.Sleep(5 * time.Minute)
				c.happens(w)
				time.Sleep(time.Hour)
				require.Len(t, w.started(), c.starts)
				for n := range sessions {
					s := w.session(fmt.Sprint(n))
					require.Equal(t, resume.Parked, s.State, sentence.Of(s))
					require.Equal(t, c.refused, s.Limit.Class)
				}
				w.stop()
			})
		})
	}
}
