// Package feed turns what agents write into observations for the engine: it decodes the
// lines of transcripts, and takes over what agents with a database of their own report.
package feed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"resumed/internal/agent"
	"resumed/internal/ownership"
	"resumed/internal/resume"
	"resumed/internal/watch"
)

// Options are what Feeds need. All are required.
type Options struct {
	// Observe applies observations in order. Once it has returned nil they are
	// not lost.
	Observe func(context.Context, []resume.Observation) error

	// Keep stores how far a place was read. It reaches the disk after what was observed
	// before it, never earlier.
	Keep func(place string, cursor json.RawMessage)

	// Kept returns the stored cursor of a place: of a file that appeared after the first reading, or of a
	// database.
	Kept func(place string) (json.RawMessage, bool)

	// Elsewhere reports whether another resumed has the lease of the session: then
	// prompts in it are not a person's.
	Elsewhere func(resume.Key) bool

	// Since returns a time: a transcript without a cursor that was last written before it is
	// too old to matter and is not read.
	Since func() time.Time

	// Trust says which users may own a transcript.
	Trust func() ownership.Trust

	Log *slog.Logger
}

// Cursors are the stored cursors of all places.
type Cursors map[string]json.RawMessage

// Feeds are the feeds of all agents. Nothing is read before Run; ReadNew and Await wait for
// it.
type Feeds struct {
	opts   Options
	begin  chan []*feed  // of size 1: feeds that Run is to start
	ended  chan struct{} // closed when Run has ended
	warned sync.Map      // paths of another user that were logged

	mu      sync.Mutex // guards what follows
	feeds   []*feed
	swapped chan struct{} // closed when other feeds take the place of these
}

// New returns the feeds of those agents. They read from the cursors on.
func New(opts Options, agents map[string]agent.Agent, cursors Cursors) *Feeds {
	f := &Feeds{opts: opts, begin: make(chan []*feed, 1), ended: make(chan struct{}), swapped: make(chan struct{})}
	for _, name := range slices.Sorted(maps.Keys(agents)) {
		f.feeds = append(f.feeds, f.of(agents[name], cursors)...)
	}
	f.begin <- f.feeds
	return f
}

// Run reads until ctx is done, or until one of the feeds fails.
func (f *Feeds) Run(ctx context.Context) error {
	defer close(f.ended)
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

// Swap replaces agents: the feeds of those that changed are stopped, and new ones go on from
// the stored cursors. The other feeds are not touched. cursors is called after the old feeds
// have stopped.
func (f *Feeds) Swap(ctx context.Context, agents map[string]agent.Agent, cursors func() Cursors) {
	var keep, begin, stop []*feed
	kept := make(map[string]bool)
	feeds, _ := f.current()
	for _, one := range feeds {
		if name := one.agent.Name(); agents[name] == one.agent {
			keep, kept[name] = append(keep, one), true
		} else {
			stop = append(stop, one)
		}
	}
	for _, one := range stop {
		one.stop()
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
	// Until here ReadNew meets the stopped feeds and waits: no resume starts without a look.
	f.mu.Lock()
	close(f.swapped)
	f.feeds, f.swapped = slices.Concat(keep, begin), make(chan struct{})
	f.mu.Unlock()
	select {
	case f.begin <- begin:
	case <-ctx.Done():
	}
}

// lookTimeout bounds ReadNew.
const lookTimeout = time.Minute

// ReadNew reads what is new about a session now. It first waits for the first reading of all of
// the agent's files: another session there may show that a person went on.
func (f *Feeds) ReadNew(ctx context.Context, session resume.Session) error {
	ctx, cancel := context.WithTimeoutCause(ctx, lookTimeout, fmt.Errorf("it took more than %s", lookTimeout))
	defer cancel()
	for {
		_, swapped := f.current()
		err := f.lookOnce(ctx, session)
		if !errors.Is(err, watch.ErrStopped) {
			return err
		}
		select {
		case <-swapped: // by new feeds, which are asked now
		case <-f.ended:
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
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

// Await returns when all files of an agent were read for the first time.
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

func (f *Feeds) current() (feeds []*feed, swapped <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.feeds, f.swapped
}

func (f *Feeds) ofAgent(name string) []*feed {
	feeds, _ := f.current()
	return slices.DeleteFunc(slices.Clone(feeds), func(one *feed) bool { return one.agent.Name() != name })
}

func (f *Feeds) of(a agent.Agent, cursors Cursors) []*feed {
	var feeds []*feed
	switch a := a.(type) {
	case agent.DatabaseAgent:
		feeds = append(feeds, f.followed(a))
	case agent.FileAgent:
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
	look  func(context.Context, resume.Session) error // reads what is new about a session
	ready chan struct{}                               // closed when all files were read for the first time
	done  chan struct{}                               // closed when it has stopped

	stopping context.Context // done when it is to stop,
	stop     context.CancelFunc
}

func newFeed(a agent.Agent) *feed {
	one := &feed{agent: a, ready: make(chan struct{}), done: make(chan struct{})}
	one.stopping, one.stop = context.WithCancel(context.Background())
	return one
}

// serve runs the feed until it is to stop, and sends a failure.
func (f *feed) serve(ctx context.Context, failed chan<- error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(f.stopping, cancel)()
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

// followed makes the feed of an agent that reads its own database.
func (f *Feeds) followed(a agent.DatabaseAgent) *feed {
	one := newFeed(a)
	place := func(name string) string { return a.Name() + ":" + name }
	one.look = a.ReadNew
	one.run = func(ctx context.Context) error {
		return a.Follow(ctx, agent.Feed{
			Observe: func(ctx context.Context, observations []resume.Observation) error {
				observations = slices.DeleteFunc(observations, func(seen resume.Observation) bool {
					return seen.Transcript != "" && f.foreign(a.Name(), seen.Transcript, f.opts.Trust().Owner(seen.Transcript))
				})
				for i := range observations {
					observations[i] = tidy(observations[i], a.Name())
				}
				return f.observe(ctx, observations)
			},
			LoadCursor:  func(name string) (json.RawMessage, bool) { return f.opts.Kept(place(name)) },
			StoreCursor: func(name string, cursor json.RawMessage) { f.keep(place(name), name, cursor) },
			Ready:       func() { close(one.ready) },
			Log:         f.opts.Log.With("agent", a.Name()),
		})
	}
	return one
}

// foreign reports whether err says that the file belongs to a user who is not trusted. Such a
// file is not observed, which is logged once. Who else can write to the file is checked before
// a resume.
func (f *Feeds) foreign(agent, path string, err error) bool {
	wrong, ok := errors.AsType[*ownership.Error](err)
	if !ok {
		return false
	}
	if _, known := f.warned.LoadOrStore(path, true); !known {
		f.opts.Log.Warn("a transcript of another user is not read; when that is corrected or resume.trusted_users names its owner, restart",
			"agent", agent, "path", path, "err", wrong)
	}
	return true
}

// keep stores how far the file at path was read, unless it was passed over once: the next daemon reads all of it.
func (f *Feeds) keep(place, path string, cursor json.RawMessage) {
	if _, passed := f.warned.Load(path); !passed {
		f.opts.Keep(place, cursor)
	}
}

// observe passes observations on. It marks prompts that another resumed wrote, which an agent
// cannot know.
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

// maxHookCalls bounds how many calls of hooks wait. The sessions of others are read when their file
// changes, as without hooks.
const maxHookCalls = 64

// HookCalls reads the transcripts that hooks of agents name. A hook decides nothing: it only makes
// the daemon read a watched file at once.
type HookCalls struct {
	session func(context.Context, resume.Key) (resume.Session, error)
	look    func(context.Context, resume.Session) error
	log     *slog.Logger
	calls   chan hookCall
}

// hookCall is a session, and its transcript as the hook names it.
type hookCall struct {
	key        resume.Key
	transcript string
}

// NewHookCalls returns an empty list of calls.
func NewHookCalls(session func(context.Context, resume.Key) (resume.Session, error), look func(context.Context, resume.Session) error, log *slog.Logger) *HookCalls {
	return &HookCalls{session: session, look: look, log: log, calls: make(chan hookCall, maxHookCalls)}
}

// Take notes what a hook asks for. It does not block.
func (h *HookCalls) Take(key resume.Key, transcript string) {
	select {
	case h.calls <- hookCall{key, transcript}:
	default:
	}
}

// Run reads whenever a hook asks for it, until ctx is done.
func (h *HookCalls) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case call := <-h.calls:
			if err := h.read(ctx, call); err != nil && ctx.Err() == nil {
				h.log.Debug("a hook asked for a look that told nothing", "agent", call.key.Agent, "session", call.key.ID, "err", err)
			}
		}
	}
}

// read reads what is new of a session. For a known session the path that the hook names is
// ignored.
func (h *HookCalls) read(ctx context.Context, call hookCall) error {
	session, err := h.session(ctx, call.key)
	switch {
	case errors.Is(err, resume.ErrNoSession) && filepath.IsAbs(call.transcript):
		session = resume.Session{Key: call.key, Transcript: filepath.Clean(call.transcript)}
	case err != nil:
		return err
	}
	return h.look(ctx, session)
}
