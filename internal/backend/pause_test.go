package backend

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// slow is an engine or a store with a pause state that is slow to change: each call takes one of
// delays.
type slow struct {
	paused bool
	delays []time.Duration
	calls  int
	broken error
}

func (s *slow) hear(paused bool) {
	delay := s.delays[min(s.calls, len(s.delays)-1)]
	s.calls++
	time.Sleep(delay)
	s.paused = paused
}

type slowEngine struct{ slow }

func (s *slowEngine) SetPaused(_ context.Context, paused bool) error {
	if s.broken == nil {
		s.hear(paused)
	}
	return s.broken
}

type slowDisk struct{ slow }

func (s *slowDisk) SetPaused(paused bool) { s.hear(paused) }

// The socket pauses while the page unpauses: whichever is slow, the disk must not say "paused" while
// the engine runs.
func TestOrdersAtTheSameTimeLeaveDiskAndEngineOfOneMind(t *testing.T) {
	delays := [][]time.Duration{{0}, {time.Second, 0}, {0, time.Second}}
	for _, engineTakes := range delays {
		for _, diskTakes := range delays {
			synctest.Test(t, func(t *testing.T) {
				engine, disk := &slowEngine{slow{delays: engineTakes}}, &slowDisk{slow{delays: diskTakes}}
				p := &pauseSwitch{engine: engine, store: disk, turn: make(chan struct{}, 1)}
				failed := make(chan error, 2)
				for _, paused := range []bool{true, false} {
					go func() { failed <- p.set(t.Context(), paused) }()
					synctest.Wait() // it is in progress, or done
				}
				require.NoError(t, errors.Join(<-failed, <-failed))
				require.False(t, engine.paused, "the last order counts")
				require.False(t, disk.paused, "engine takes %v, disk takes %v", engineTakes, diskTakes)
				require.False(t, p.paused.Load())
			})
		}
	}
}

func TestAnOrderThatCannotHaveItsTurnChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		engine, disk := &slowEngine{slow{delays: []time.Duration{time.Minute}}}, &slowDisk{slow{delays: []time.Duration{0}}}
		p := &pauseSwitch{engine: engine, store: disk, turn: make(chan struct{}, 1)}
		failed := make(chan error, 1)
		go func() { failed <- p.set(t.Context(), true) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, p.set(ctx, false), context.DeadlineExceeded)
		require.NoError(t, <-failed)
		require.Equal(t, []bool{true, true, true}, []bool{engine.paused, disk.paused, p.paused.Load()})
		require.Equal(t, 1, engine.calls)
	})
}

func TestAnEngineThatDoesNotAnswerIsNotPausedOnDisk(t *testing.T) {
	broken := errors.New("it hangs")
	engine, disk := &slowEngine{slow{broken: broken}}, &slowDisk{}
	p := &pauseSwitch{engine: engine, store: disk, turn: make(chan struct{}, 1)}
	require.ErrorIs(t, p.set(t.Context(), true), broken)
	require.Zero(t, disk.calls)
	require.False(t, p.paused.Load())
	engine.broken, engine.delays, disk.delays = nil, []time.Duration{0}, []time.Duration{0}
	require.NoError(t, p.set(t.Context(), true), "its turn is over")
	require.True(t, disk.paused)
}
