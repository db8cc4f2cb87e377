package notify

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

var errDead = errors.New("the process is dead")

// mortal counts the steps of a process that are visible from outside, and kills it at one of them:
// after that nothing it does has any effect.
type mortal struct {
	mu   sync.Mutex
	left int // steps to live
	last string
}

func (m *mortal) step(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.left <= 0 {
		return errDead
	}
	m.left--
	m.last = name
	return nil
}

// TestKillAtEveryStepLosesAndDoublesNothing kills the process at each step, before and after the step
// had its effect, starts another one on the same store, and checks what people received.
func TestKillAtEveryStepLosesAndDoublesNothing(t *testing.T) {
	for steps := 0; ; steps++ {
		var lived bool
		synctest.Test(t, func(t *testing.T) { lived = killAfter(t, steps) })
		if lived {
			require.Greater(t, steps, 10, "the life of a notice has more steps than that")
			return
		}
	}
}

// killAfter returns whether the first process ended without being killed.
func killAfter(t *testing.T, steps int) bool {
	const sessions = 3
	store := newMemStore()
	life := &mortal{left: steps}
	store.gate = func(op string, after bool) error { return life.step(fmt.Sprint(op, " after=", after)) }

	var mu sync.Mutex // guards received
	received := map[string][]Notice{}
	channel := func(name string, life *mortal) *fakeChannel {
		return &fakeChannel{name: name, send: func(_ context.Context, n Notice) error {
			if err := life.step("send"); err != nil {
				return err
			}
			mu.Lock()
			received[name] = append(received[name], n)
			mu.Unlock()
			return life.step("answer")
		}}
	}
	tell := func(n *Notifier) {
		for i := range sessions {
			n.Report(GaveUp, session("x", i))
			time.Sleep(time.Second)
		}
	}

	// The first process.
	n := New(Options{Store: store, Log: quiet(), Config: Config{
		GroupWait: 10 * time.Second,
		Channels:  ways(channel("a", life), channel("b", life)),
	}})
	ctx, kill := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { _ = n.Run(ctx); close(ended) }()
	tell(n)
	time.Sleep(15 * time.Second)
	synctest.Wait()
	lived, last := life.left > 0, life.last
	life.mu.Lock()
	life.left = 0
	life.mu.Unlock()
	kill()
	<-ended
	store.crash()

	// If the process died after the receiver accepted a notice and before that was stored, the notice
	// is sent again, with the same id. Nothing else may be sent twice.
	unrecorded := map[string]bool{}
	for name, notices := range received {
		for _, notice := range notices {
			if store.ended[notice.ID+" "+name] == "" {
				unrecorded[notice.ID+" "+name] = true
			}
		}
	}

	// The second process: the sessions are stored as given up, so they are reported again.
	eternal := &mortal{left: 1 << 30}
	store.gate = nil
	n, stop := start(t, Options{Store: store, Config: Config{
		GroupWait: 10 * time.Second,
		Channels:  ways(channel("a", eternal), channel("b", eternal)),
	}})
	tell(n)
	time.Sleep(time.Hour)
	stop()

	for _, name := range []string{"a", "b"} {
		seen, ids := map[string]string{}, map[string]int{}
		for _, notice := range received[name] {
			ids[notice.ID]++
			for _, v := range notice.Sessions {
				if before, ok := seen[v.ID]; ok {
					require.Equal(t, before, notice.ID, "killed after %d steps (%s): %s told twice of %s", steps, last, name, v.ID)
				}
				seen[v.ID] = notice.ID
			}
		}
		require.Len(t, seen, sessions, "killed after %d steps (%s): %s was not told everything", steps, last, name)
		for id, times := range ids {
			require.True(t, times == 1 || unrecorded[id+" "+name] && times == 2, "killed after %d steps (%s): %s received %s %d times", steps, last, name, id, times)
		}
	}
	require.Empty(t, store.Pending())
	return lived
}

func TestNoticeOfAnEarlierProcessTakesNoMoreSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemStore()
		ch := &fakeChannel{name: "a"}
		cfg := Config{Channels: ways(ch), GroupWait: time.Hour}
		n, stop := start(t, Options{Store: store, Config: cfg})
		n.Report(GaveUp, session("x", 1))
		settle()
		stop()

		n, stop = start(t, Options{Store: store, Config: cfg})
		n.Report(GaveUp, session("x", 1)) // reported again to be sure
		n.Report(GaveUp, session("x", 2))
		settle()
		require.Len(t, ch.notices(), 1, "nobody waits for what cannot come any more")
		require.Len(t, ch.notices()[0].Sessions, 1)
		time.Sleep(2 * time.Hour)
		stop()
		require.Len(t, ch.notices(), 2)
		require.Len(t, ch.notices()[1].Sessions, 1)
	})
}
