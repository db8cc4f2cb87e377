package deliver

import (
	"context"
	"errors"
	"sync"
	"time"

	"resumed/internal/resume"
	"resumed/internal/runner"
)

// stopper ends a command that runs.
type stopper interface{ Stop(context.Context) error }

// commands are those that run, by mark.
type commands struct {
	mu      sync.Mutex // guards what follows
	running map[string]stopper
}

func (c *commands) get(mark string) stopper {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.running[mark]
}

func (c *commands) set(mark string, process stopper) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if process == nil {
		delete(c.running, mark)
	} else {
		c.running[mark] = process
	}
}

// await waits for a command, which can be stopped meanwhile.
func (c *commands) await(ctx context.Context, mark string, process *runner.Process) runner.Result {
	c.set(mark, process)
	defer c.set(mark, nil)
	return process.Wait(ctx)
}

// stopPatience is how long a command that is being started is waited for.
const stopPatience = 15 * time.Second

// Stop ends a command, also one that is just being started. A prompt that
// was handed to another's process has none.
func (d *Deliverer) Stop(ctx context.Context, key resume.Key, mark string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, stopPatience, errors.New("the resume is still being started: try again"))
	defer cancel()
	for ; ctx.Err() == nil; pause(ctx, lookPause) {
		if process := d.commands.get(mark); process != nil {
			return process.Stop(context.WithoutCancel(ctx))
		}
		session, err := d.opts.Engine.Session(ctx, key)
		if err != nil || session.Run == nil || session.Run.Mark != mark || session.Run.Unverifiable {
			return err
		}
	}
	return context.Cause(ctx)
}
