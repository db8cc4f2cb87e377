package deliver

import (
	"context"
	"errors"
	"time"

	"resumed/internal/resume"
)

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
