package fleet_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/fleet"
)

// deaf is a store that sends no changes, as while a connection is lost.
type deaf struct{ line }

func (d deaf) Watch(ctx context.Context) (<-chan fleet.Entry, error) {
	none := make(chan fleet.Entry)
	context.AfterFunc(ctx, func() { close(none) })
	return none, nil
}

// Once a limit is over, a host starts one session in each stagger. In a large fleet it waits longer
// only in the few steps in which the ramp grows, however short these are.
func TestNoHostWaitsForLongerThanTheStepsTake(t *testing.T) {
	for _, c := range []struct {
		hosts, sessions int
		stagger         time.Duration
		steps           int // in which all of them have started
	}{
		{2, 6, time.Second, 12},
		{12, 8, 20 * time.Second, 18},
		{40, 8, 20 * time.Second, 20},
		{40, 8, 250 * time.Millisecond, 20},
	} {
		t.Run(fmt.Sprintf("%d hosts of %d sessions, %s", c.hosts, c.sessions, c.stagger), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				h := newHouse(t)
				h.stagger, h.takes, h.reset = c.stagger, c.stagger/2, time.Now().Add(time.Minute)
				for i := range c.hosts {
					h.join(ctx, fmt.Sprint("h", i), c.sessions)
				}
				time.Sleep(time.Minute + time.Duration(c.steps+1)*c.stagger)
				synctest.Wait()
				steps := h.inSteps()
				sum := 0
				for _, n := range steps {
					sum += n
				}
				t.Log(steps)
				require.Equal(t, c.hosts*c.sessions, sum, "%v", steps)
				require.LessOrEqual(t, len(steps), c.steps, "%v", steps)
			})
		})
	}
}

// A session that was not refused itself waits for the limit of another host. If that limit is over
// earlier, the session is no longer held back: at once, or at the next heartbeat if its host missed the
// change.
func TestALimitThatIsOverSoonerHoldsNobodyBack(t *testing.T) {
	for _, c := range []struct {
		name   string
		deaf   bool
		within time.Duration
	}{
		{"it is told", false, time.Second},
		{"it is not told", true, fleet.Heartbeat + time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				h := newHouse(t)
				h.reset = time.Now().Add(time.Hour)
				a := h.join(ctx, "a", 1)
				time.Sleep(time.Minute)
				h.deaf, h.reset = c.deaf, time.Time{}
				h.join(ctx, "b", 1)
				time.Sleep(10 * time.Minute)
				synctest.Wait()
				require.Empty(t, h.inSteps())
				require.NoError(t, a.Forget(ctx, "a1.anthropic"))
				time.Sleep(c.within)
				synctest.Wait()
				require.Equal(t, []int{1}, h.inSteps())
				time.Sleep(time.Minute) // until it has moved
			})
		})
	}
}
