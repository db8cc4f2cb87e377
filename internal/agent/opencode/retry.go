package opencode

import (
	"context"
	"time"

	"resumed/internal/agent/opencode/database"
	"resumed/internal/agent/opencode/server"
	"resumed/internal/resume"
)

// retry returns the event that says that a session waits for a retry by opencode itself.
func (a *Agent) retry(session string) (server.Event, bool) {
	found, ok := a.retries.Load(session)
	event, _ := found.(server.Event)
	return event, ok
}

// listen receives events from the server until ctx is done.
func (f *follower) listen(ctx context.Context) {
	client := f.agent.client()
	defer client.Close()
	listener := server.Listener{
		Client: client, Log: f.log.With("agent", f.agent.brand.name), Retry: retryPolicy,
		Waiting: func() map[string]string { // those in the server itself
			directories := make(map[string]string)
			for _, event := range f.agent.retries.Range {
				if e := event.(server.Event); e.PID == 0 {
					directories[e.Session] = e.Directory
				}
			}
			return directories
		},
		Send: func(e server.Event) {
			f.agent.mu.Lock()
			defer f.agent.mu.Unlock()
			f.take(ctx, e)
		},
	}
	listener.Listen(ctx)
}

// take processes events of a running opencode in order, and reports which sessions now wait for a retry.
func (f *follower) take(ctx context.Context, events ...server.Event) {
	retrying := make(map[string]bool)
	for _, e := range events {
		was, waited := f.agent.retry(e.Session)
		switch {
		case e.Kind == server.Retrying:
			f.agent.retries.Store(e.Session, e)
			retrying[e.Session] = true
		case e.Kind == server.Lost:
			if waited && was.PID == e.PID {
				f.died(ctx, was)
			}
		case e.Kind == server.Over || waited:
			f.agent.retries.Delete(e.Session)
			f.schedule(batchDelay)
		}
	}
	for session := range retrying {
		if e, ok := f.agent.retry(session); ok {
			f.report(ctx, e, true)
		}
	}
	f.findDead(ctx)
}

// findDead reports the sessions that waited for a retry until their process died: no other record says why they
// waited.
func (f *follower) findDead(ctx context.Context) {
	for _, event := range f.agent.retries.Range {
		if e := event.(server.Event); e.PID != 0 && !f.agent.finder().RunsAs(ctx, e.PID) {
			f.died(ctx, e)
		}
	}
}

func (f *follower) died(ctx context.Context, e server.Event) {
	f.report(ctx, e, false)
	f.agent.retries.Delete(e.Session)
}

// report reports that opencode waits for a retry, or that it did until it died.
func (f *follower) report(ctx context.Context, e server.Event, inProgress bool) {
	d, open, ok := f.openMessage(ctx, e)
	if !ok {
		return
	}
	at := time.UnixMilli(e.AtMS).UTC()
	event := resume.Limited{At: at, Verdict: e.Status.Verdict(f.agent.Limits, at), Text: e.Status.Message, First: !f.ready}
	open.Message.AtMS = e.AtMS
	if !inProgress {
		event.InProgress = false
		open.Message.AtMS++ // after the observation in progress
	}
	// If this fails it is reported again with the next reading.
	_ = f.feed.See(ctx, []resume.Observation{d.Observation(open.Session, open.Message, event)})
}

// openMessage returns the last message of the event's session, if it is not finished and began before the event.
func (f *follower) openMessage(ctx context.Context, e server.Event) (*followed, database.Open, bool) {
	for _, again := range []bool{false, true} {
		for _, d := range f.databases {
			if again {
				_ = f.read(ctx, d) // read logs the error
			}
			if open, ok := d.open[e.Session]; ok {
				return d, open, open.Message.AtMS <= e.AtMS
			}
		}
	}
	return nil, database.Open{}, false
}
