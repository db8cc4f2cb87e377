package app

import (
	"context"
	"fmt"
	"sync"
)

// stage is a set of parts that stop together.
type stage struct {
	ctx    context.Context
	cancel context.CancelFunc
	fail   context.CancelCauseFunc
	wg     sync.WaitGroup
}

// newStage returns a stage that outlives ctx: it ends with stop. If a part fails, the whole daemon
// stops.
func newStage(ctx context.Context, fail context.CancelCauseFunc) *stage {
	s := &stage{fail: fail}
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return s
}

func (s *stage) run(part string, run func(context.Context) error) {
	s.wg.Go(func() {
		if err := run(s.ctx); err != nil && s.ctx.Err() == nil {
			s.fail(&partError{part, err})
		}
	})
}

func (s *stage) stop() {
	s.cancel()
	s.wg.Wait()
}

func (s *stage) stopped() bool { return s.ctx.Err() != nil }

type partError struct {
	part string
	err  error
}

func (e *partError) Error() string { return fmt.Sprintf("%s ended: %v", e.part, e.err) }

func (e *partError) Unwrap() error { return e.err }
