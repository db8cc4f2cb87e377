package app

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"resumed/internal/agent"
	"resumed/internal/lease"
	"resumed/internal/resume"
	"resumed/internal/state"
)

// feed turns what one agent writes in one place into events.
type feed struct {
	agent  agent.Agent
	run    func(context.Context) error
	look   func(context.Context, resume.Session) error // reads what is new about a session now
	ready  chan struct{}                               // closed when all that lay there was read
	cancel context.CancelFunc
	done   chan struct{} // closed when it has stopped
}

func newFeed(a agent.Agent) *feed {
	return &feed{agent: a, ready: make(chan struct{}), done: make(chan struct{})}
}

func (f *feed) start(s *stage) {
	ctx, cancel := context.WithCancel(s.ctx)
	f.cancel = cancel
	s.run("watcher of "+f.agent.Name(), func(context.Context) error {
		defer close(f.done)
		return f.run(ctx)
	})
}

func (f *feed) stop() {
	f.cancel()
	<-f.done
}

// feedsFor returns the feeds of one agent, to begin where the cursors stand.
func (d *daemon) feedsFor(a agent.Agent, cursors cursors) []*feed {
	if follower, ok := a.(agent.Follower); ok {
		return []*feed{newFollowerFeed(d, a, follower, cursors)}
	}
	var feeds []*feed
	for _, src := range a.Sources() {
		feeds = append(feeds, newFileFeed(d, a, src, cursors))
	}
	return feeds
}

// newFollowerFeed lets an agent that has no files of lines report by itself.
func newFollowerFeed(d *daemon, a agent.Agent, follower agent.Follower, cursors cursors) *feed {
	f := newFeed(a)
	f.look = follower.Look
	f.run = func(ctx context.Context) error {
		return follower.Follow(ctx, agent.Feed{
			See: func(ctx context.Context, observations []resume.Observation) error {
				for i := range observations {
					observations[i] = tidy(observations[i], a.Name())
				}
				return d.see(ctx, observations)
			},
			Kept: func(name string) (json.RawMessage, bool) {
				cursor, ok := cursors[a.Name()+":"+name]
				return cursor, ok
			},
			Keep:  func(name string, cursor json.RawMessage) { d.store.PutCursor(a.Name()+":"+name, cursor) },
			Ready: func() { close(f.ready) },
			Log:   d.log.With("agent", a.Name()),
		})
	}
	return f
}

// see hands on what agents say, with what they cannot know: that a prompt is
// of another resumed.
func (d *daemon) see(ctx context.Context, observations []resume.Observation) error {
	for i, sight := range observations {
		ev, ok := sight.Event.(resume.Prompted)
		if ok && ev.By == "" && lease.Elsewhere(d.leases.dirs, sight.Key.Agent, sight.Key.ID) {
			ev.By = "another resumed"
			observations[i].Event = ev
		}
	}
	return d.engine.Observe(ctx, observations)
}

// cursors is how far every place was read, as it is stored.
type cursors map[string]json.RawMessage

// setFeeds starts the feeds of all agents where an earlier daemon stopped.
func (d *daemon) setFeeds(snapshot state.Snapshot) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, name := range sortedKeys(d.agents) {
		for _, f := range d.feedsFor(d.agents[name], snapshot.Cursors) {
			f.start(d.inputs)
			d.feeds = append(d.feeds, f)
		}
	}
}

// lookTimeout bounds how long a look at a transcript may take.
const lookTimeout = time.Minute

// look reads what is new about a session now, after all that lay in its agent's
// files: another session there may tell that a person went on.
func (d *daemon) look(ctx context.Context, session resume.Session) error {
	ctx, cancel := context.WithTimeoutCause(ctx, lookTimeout, fmt.Errorf("it took more than %s", lookTimeout))
	defer cancel()
	feeds := d.feedsOf(session.Key.Agent)
	if err := awaitAll(ctx, feeds); err != nil {
		return err
	}
	for _, f := range feeds {
		if err := f.look(ctx, session); err != nil {
			return err
		}
	}
	return nil
}

// feedsOf returns the feeds of an agent.
func (d *daemon) feedsOf(name string) []*feed {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(d.feeds), func(f *feed) bool { return f.agent.Name() != name })
}

// awaitAll returns when all that lay in the files of the feeds was read.
func awaitAll(ctx context.Context, feeds []*feed) error {
	for _, f := range feeds {
		select {
		case <-f.ready:
		case <-f.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
