package control

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"time"

	"resumed/internal/resume"
)

// Update is one line of the stream of changes: a status in which only what
// changed since the line before is listed. The first one is whole.
type Update struct {
	Status
	Whole bool         `json:"whole"`          // Sessions are all there are: forget the others
	Gone  []resume.Key `json:"gone,omitempty"` // sessions that are not listed any longer
}

// A stream is written in bundles.
const (
	// bundleGap is the least time between two lines of one stream: the first
	// change is told at once, what follows it within this goes into one line.
	bundleGap = 10 * time.Millisecond

	// manyChanges is how many sessions are told one by one. Beyond, all are
	// told anew: little may wait for a reader that is slow. An outage that stops two thousand is
	// not beyond: all that ever were stopped may be many more.
	manyChanges = 4096

	// readerPatience is how long a reader may take for one line. One that
	// takes longer is cut off, and starts over if it still cares.
	readerPatience = 30 * time.Second
)

// Changes tells those who follow the daemon which sessions changed. It keeps
// names, not news: however slow a follower is, little waits for it, and who
// notes a change never waits for anybody. The zero value is ready.
type Changes struct {
	// mu guards everything that follows, and the followers themselves.
	mu        sync.Mutex
	followers map[*follower]struct{}
}

// follower is one who wants to know, and what he was not told yet.
type follower struct {
	nudge chan struct{} // of size 1: there is something to tell
	keys  map[resume.Key]struct{}
	whole bool // more than the names in keys
}

// Note says that a session changed, or is not kept any longer.
func (c *Changes) Note(key resume.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for f := range c.followers {
		if f.keys[key] = struct{}{}; len(f.keys) > manyChanges {
			f.all()
		}
		f.wake()
	}
}

// NoteDaemon says that the daemon itself stands otherwise, or an account, and no session.
func (c *Changes) NoteDaemon() { c.Note(resume.Key{}) }

// NoteAll says that anything may have changed, the daemon itself too.
func (c *Changes) NoteAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for f := range c.followers {
		f.all()
		f.wake()
	}
}

// follow returns a follower who knows nothing yet.
func (c *Changes) follow() *follower {
	f := &follower{nudge: make(chan struct{}, 1), keys: make(map[resume.Key]struct{})}
	f.all()
	f.wake()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.followers == nil {
		c.followers = make(map[*follower]struct{})
	}
	c.followers[f] = struct{}{}
	return f
}

func (c *Changes) leave(f *follower) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.followers, f)
}

// take returns what is to be told, and begins to note anew.
func (c *Changes) take(f *follower) (keys []resume.Key, whole bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key := range f.keys {
		keys = append(keys, key)
	}
	whole = f.whole
	clear(f.keys)
	f.whole = false
	return keys, whole
}

// again has a follower told everything anew.
func (c *Changes) again(f *follower) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f.all()
	f.wake()
}

func (f *follower) all() {
	clear(f.keys)
	f.whole = true
}

func (f *follower) wake() {
	select {
	case f.nudge <- struct{}{}:
	default:
	}
}

// Follower is told by a backend what changed. One goroutine may use it.
type Follower struct {
	backend Backend
	all     bool
	unsaid  *follower
	ready   <-chan time.Time // when the next update may be gathered; nil: now
}

// Follow returns a follower who knows nothing yet: its first update is whole.
// all includes sessions that were never interrupted. Leave must be called.
func Follow(backend Backend, all bool) *Follower {
	return &Follower{backend: backend, all: all, unsaid: backend.Changes().follow()}
}

// Leave ends the following.
func (f *Follower) Leave() { f.backend.Changes().leave(f.unsaid) }

// Next waits until something changed and returns it. What changes in close
// succession is told at once. After an error nothing is lost: the next update
// is whole.
func (f *Follower) Next(ctx context.Context) (Update, error) {
	if f.ready != nil {
		if !proceed(ctx, f.ready) {
			return Update{}, context.Cause(ctx)
		}
		f.ready = nil
	}
	if !proceed(ctx, f.unsaid.nudge) {
		return Update{}, context.Cause(ctx)
	}
	keys, whole := f.backend.Changes().take(f.unsaid)
	update, err := f.gather(ctx, keys, whole)
	if err != nil {
		f.backend.Changes().again(f.unsaid)
		return Update{}, err
	}
	f.ready = time.After(bundleGap)
	return update, nil
}

// gather makes the update of what is to be told.
func (f *Follower) gather(ctx context.Context, keys []resume.Key, whole bool) (Update, error) {
	if whole {
		status, err := f.backend.Status(ctx, f.all)
		return Update{Status: status, Whole: true}, err
	}
	status, err := f.backend.Status(ctx, f.all, keys...)
	listed := make(map[resume.Key]bool, len(keys))
	for _, v := range status.Sessions {
		listed[v.Key()] = true
	}
	gone := slices.DeleteFunc(keys, func(key resume.Key) bool { return listed[key] || key == resume.Key{} })
	return Update{Status: status, Gone: gone}, err
}

// proceed waits for signal. It returns false where ctx is done before.
func proceed[T any](ctx context.Context, signal <-chan T) bool {
	select {
	case <-ctx.Done():
		return false
	case <-signal:
		return true
	}
}

// events streams what changes, one JSON document a line.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.stopping, cancel)()
	f := Follow(s.backend, r.FormValue("all") != "")
	defer f.Leave()
	out := http.NewResponseController(w)
	lines := json.NewEncoder(w)
	for first := true; ; first = false {
		update, err := f.Next(ctx)
		if err != nil && first {
			answer(w, nil, err)
		}
		if err != nil {
			return
		}
		if first {
			w.Header().Set("Content-Type", "application/x-ndjson")
		}
		_ = out.SetWriteDeadline(time.Now().Add(readerPatience)) // every unix socket can
		if lines.Encode(update) != nil || out.Flush() != nil {
			return // the reader is gone
		}
	}
}
