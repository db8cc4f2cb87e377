// Package feed turns what agents write into observations: from lines of files,
// or by agents that report by themselves, to what the engine is told.
package feed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"resumed/internal/agent"
	"resumed/internal/ownership"
	"resumed/internal/resume"
	"resumed/internal/watch"
)

// Options are what Feeds work with. All but Since and Kept are required.
type Options struct {
	// Observe applies what was read, in order. When it has returned nil it will
	// not be lost.
	Observe func(context.Context, []resume.Observation) error

	// Keep keeps how far a place was read. It is on disk after what was observed
	// ahead of it, never before.
	Keep func(place string, cursor json.RawMessage)

	// Kept returns how far a place was read, as it is stored now. It is asked for
	// places that come when all that lay there was read. Nil: nothing is known.
	Kept func(place string) (json.RawMessage, bool)

	// Elsewhere reports whether another resumed looks after the session: its
	// prompts are not a person's.
	Elsewhere func(resume.Key) bool

	// Since returns the time before which a transcript that nobody has read must have
	// moved for the last time to be left unread: nothing in it matters any more. Nil:
	// each is read.
	Since func() time.Time

	// Trust is who may have written what is read.
	Trust func() ownership.Trust

	Log *slog.Logger
}

// Cursors is how far every place was read, as it is stored.
type Cursors map[string]json.RawMessage

// Feeds are the feeds of all agents. Run must be running for anything to be
// read; until then who asks for a look waits.
type Feeds struct {
	opts  Options
	begin chan []*feed // of size 1: to be started by Run, and by nobody else
	told  sync.Map     // paths of which it was said that they are another user's

	mu    sync.Mutex // guards what follows
	feeds []*feed
	swap  <-chan struct{} // closed when a swap that is under way is over; nil: none is
}

// New returns the feeds of those agents, to begin where the cursors stand.
func New(opts Options, agents map[string]agent.Agent, cursors Cursors) *Feeds {
	f := &Feeds{opts: opts, begin: make(chan []*feed, 1)}
	for _, name := range slices.Sorted(maps.Keys(agents)) {
		f.feeds = append(f.feeds, f.of(agents[name], cursors)...)
	}
	f.begin <- f.feeds
	return f
}

// Run reads until ctx is done, or until one of the feeds fails.
func (f *Feeds) Run(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	failed := make(chan error, 1)
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-failed:
			return err
		case begin := <-f.begin:
			for _, one := range begin {
				running.Go(func() { one.serve(ctx, failed) })
			}
		}
	}
}

// Swap puts other agents in place: the feeds of those that changed are stopped
// and their successors start where these stopped. The others go on untouched.
// cursors is asked for once those have stopped.
func (f *Feeds) Swap(ctx context.Context, agents map[string]agent.Agent, cursors func() Cursors) {
	defer f.swapping()()
	var keep, begin []*feed
	kept := make(map[string]bool)
	var stop []*feed
	for _, one := range f.all() {
		if name := one.agent.Name(); agents[name] == one.agent {
			keep, kept[name] = append(keep, one), true
		} else {
			stop = append(stop, one)
		}
	}
	for _, one := range stop {
		close(one.quit)
	}
	for _, one := range stop {
		select {
		case <-one.done:
		case <-ctx.Done():
			return
		}
	}
	stored := cursors()
	for _, name := range slices.Sorted(maps.Keys(agents)) {
		if !kept[name] {
			begin = append(begin, f.of(agents[name], stored)...)
		}
	}
	// Until here a look meets those that have stopped, and waits: no resume goes
	// on without one.
	f.mu.Lock()
	f.feeds = slices.Concat(keep, begin)
	f.mu.Unlock()
	select {
	case f.begin <- begin:
	case <-ctx.Done():
	}
}

// lookTimeout bounds how long a look at a transcript may take.
const lookTimeout = time.Minute

// Look reads what is new about a session now, after all that lay in its agent's
// files: another session there may tell that a person went on.
func (f *Feeds) Look(ctx context.Context, session resume.Session) error {
	ctx, cancel := context.WithTimeoutCause(ctx, lookTimeout, fmt.Errorf("it took more than %s", lookTimeout))
	defer cancel()
	for {
		seen, _ := f.current()
		err := f.lookOnce(ctx, session)
		if !errors.Is(err, watch.ErrStopped) {
			return err
		}
		now, swap := f.current()
		switch {
		case swap != nil: // others take their place: these tell
			select {
			case <-swap:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		case slices.Equal(seen, now):
			return err // the daemon stops
		}
	}
}

func (f *Feeds) lookOnce(ctx context.Context, session resume.Session) error {
	if err := f.Await(ctx, session.Key.Agent); err != nil {
		return err
	}
	for _, one := range f.ofAgent(session.Key.Agent) {
		if err := one.look(ctx, session); err != nil {
			return err
		}
	}
	return nil
}

// Await returns when all that lay in the files of an agent was read.
func (f *Feeds) Await(ctx context.Context, agent string) error {
	for _, one := range f.ofAgent(agent) {
		select {
		case <-one.ready:
		case <-one.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

func (f *Feeds) all() []*feed {
	feeds, _ := f.current()
	return feeds
}

// current returns the feeds, and what is closed when a swap that is under way is
// over; nil: none is.
func (f *Feeds) current() (feeds []*feed, swap <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.feeds, f.swap
}

// swapping says that others take the place of the feeds, until over is called.
func (f *Feeds) swapping() (over func()) {
	swap := make(chan struct{})
	f.mu.Lock()
	f.swap = swap
	f.mu.Unlock()
	return func() {
		f.mu.Lock()
		f.swap = nil
		f.mu.Unlock()
		close(swap)
	}
}

func (f *Feeds) ofAgent(name string) []*feed {
	return slices.DeleteFunc(slices.Clone(f.all()), func(one *feed) bool { return one.agent.Name() != name })
}

// of makes the feeds of one agent.
func (f *Feeds) of(a agent.Agent, cursors Cursors) []*feed {
	var feeds []*feed
	switch a := a.(type) {
	case agent.Follower:
		feeds = append(feeds, f.followed(a, cursors))
	case agent.Reader:
		for _, src := range a.Sources() {
			feeds = append(feeds, f.transcripts(a, src, cursors))
		}
	}
	return feeds
}

// feed turns what one agent writes in one place into observations.
type feed struct {
	agent agent.Agent
	run   func(context.Context) error
	look  func(context.Context, resume.Session) error // reads what is new about a session now
	ready chan struct{}                               // closed when all that lay there was read
	quit  chan struct{}                               // closed when it is to stop
	done  chan struct{}                               // closed when it has stopped
}

func newFeed(a agent.Agent) *feed {
	return &feed{agent: a, ready: make(chan struct{}), quit: make(chan struct{}), done: make(chan struct{})}
}

// serve runs the feed until it is told to quit, and tells the first failure.
func (f *feed) serve(ctx context.Context, failed chan<- error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-f.quit:
			cancel()
		case <-f.done:
		}
	}()
	defer close(f.done)
	err := f.run(ctx)
	if err == nil || ctx.Err() != nil {
		return
	}
	select {
	case failed <- fmt.Errorf("watcher of %s: %w", f.agent.Name(), err):
	default:
	}
}

// followed lets an agent that has no files of lines report by itself.
func (f *Feeds) followed(a agent.Follower, cursors Cursors) *feed {
	one := newFeed(a)
	own := make(Cursors) // those of all others need not stay in memory
	for place, cursor := range cursors {
		if name, ok := strings.CutPrefix(place, a.Name()+":"); ok {
			own[name] = cursor
		}
	}
	one.look = a.Look
	one.run = func(ctx context.Context) error {
		return a.Follow(ctx, agent.Feed{
			See: func(ctx context.Context, observations []resume.Observation) error {
				observations = slices.DeleteFunc(observations, func(seen resume.Observation) bool {
					return seen.Transcript != "" && f.foreign(a.Name(), seen.Transcript, f.opts.Trust().Owner(seen.Transcript))
				})
				for i := range observations {
					observations[i] = tidy(observations[i], a.Name())
				}
				return f.observe(ctx, observations)
			},
			Kept: func(name string) (json.RawMessage, bool) {
				cursor, ok := own[name]
				return cursor, ok
			},
			Keep:  func(name string, cursor json.RawMessage) { f.opts.Keep(a.Name()+":"+name, cursor) },
			Ready: func() { close(one.ready) },
			Log:   f.opts.Log.With("agent", a.Name()),
		})
	}
	return one
}

// foreign reports whether a file belongs, as err says, to a user who is not
// trusted: it is not even observed. That is said once. Who else may have written it
// is looked at when it is to be obeyed, and then a person is told.
func (f *Feeds) foreign(agent, path string, err error) bool {
	wrong, ok := errors.AsType[*ownership.Error](err)
	if !ok {
		return false
	}
	if _, told := f.told.LoadOrStore(path, true); !told {
		f.opts.Log.Warn("a transcript of another user is not read; when that is corrected or resume.trusted_users names its owner, restart",
			"agent", agent, "path", path, "err", wrong)
	}
	return true
}

// observe hands on what agents say, with what they cannot know: that a prompt is
// of another resumed.
func (f *Feeds) observe(ctx context.Context, observations []resume.Observation) error {
	for i, seen := range observations {
		ev, ok := seen.Event.(resume.Prompted)
		if ok && ev.By == "" && f.opts.Elsewhere(seen.Key) {
			ev.By = "another resumed"
			observations[i].Event = ev
		}
	}
	return f.opts.Observe(ctx, observations)
}
