package deliver

import (
	"context"
	"sync"

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
func (c *commands) await(ctx context.Context, mark string, process Process) runner.Result {
	c.set(mark, process)
	defer c.set(mark, nil)
	return process.Wait(ctx)
}
