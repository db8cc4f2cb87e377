package control

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"resumed/internal/resume"
	"resumed/internal/wake"
)

// Update is one line of the stream of changes: a status that lists only what changed since the
// line before. The first one is complete.
type Update struct {
	Status
	Whole bool         `json:"whole"`          // Sessions are all that exist: drop the others
	Gone  []resume.Key `json:"gone,omitempty"` // sessions that are no longer listed
}

// A stream sends changes in batches.
const (
	// bundleGap is the least time between two lines of one stream: the first change is sent
	// at once, the changes after it within this time in one line.
	bundleGap = 10 * time.Millisecond

	// manyChanges is how many changed sessions are listed one by one. If there are more, all
	// sessions are sent again, so that little waits for a slow reader. It is above an outage
	// that stops two thousand sessions: all sessions together may be many more.
	manyChanges = 4096

	// readerPatience is how long a reader may take for one line. A slower one is
	// disconnected, and can connect again.
	readerPatience = 30 * time.Second

	// BeatEvery is how often a stream without news shows that the daemon lives.
	BeatEvery = 3 * time.Second

	// beatPatience is how long a client waits for a sign of life.
	beatPatience = 3 * BeatEvery
)

// ErrQuiet is returned if there was no news for BeatEvery.
var ErrQuiet = errors.New("nothing has changed")

// Changes tells followers which sessions changed. It stores keys and not contents: however slow a
// follower is, little waits for it, and recording a change never blocks. The zero value is ready.
type Changes struct {
	// mu guards the field below, and what each follower did not get yet.
	mu        sync.Mutex
	followers map[*Subscriber]struct{}
}

// Note records that a session changed or was removed.
func (c *Changes) Note(key resume.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for f := range c.followers {
		if f.keys[key] = struct{}{}; len(f.keys) > manyChanges {
			f.sendAll()
		}
		f.news.Send()
	}
}

// NoteDaemon records that the daemon itself or an account changed, and no session.
func (c *Changes) NoteDaemon() { c.Note(resume.Key{}) }

// NoteAll records that anything may have changed, also the daemon itself.
func (c *Changes) NoteAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for f := range c.followers {
		f.sendAll()
	}
}

// Subscriber gets the changes of a backend. Only one goroutine may use it.
type Subscriber struct {
	backend Backend
	changes *Changes
	all     bool
	readyAt time.Time   // when the next update may be made
	news    wake.Signal // there is something to send

	// What was not sent yet, guarded by the mutex of changes.
	keys  map[resume.Key]struct{}
	whole bool // more than the sessions in keys
}

// Follow returns a follower. Its first update is complete. all includes sessions that were
// never interrupted. Leave must be called.
func Follow(backend Backend, all bool) *Subscriber {
	c := backend.Changes()
	f := &Subscriber{backend: backend, changes: c, all: all, news: wake.NewSignal(), keys: make(map[resume.Key]struct{})}
	f.sendAll()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.followers == nil {
		c.followers = make(map[*Subscriber]struct{})
	}
	c.followers[f] = struct{}{}
	return f
}

// Leave removes the follower.
func (f *Subscriber) Leave() {
	f.changes.mu.Lock()
	defer f.changes.mu.Unlock()
	delete(f.changes.followers, f)
}

// sendAll makes the next update complete.
func (f *Subscriber) sendAll() {
	clear(f.keys)
	f.whole = true
	f.news.Send()
}

// take returns the recorded changes and clears them.
func (f *Subscriber) take() (keys []resume.Key, whole bool) {
	f.changes.mu.Lock()
	defer f.changes.mu.Unlock()
	keys, whole = slices.Collect(maps.Keys(f.keys)), f.whole
	clear(f.keys)
	f.whole = false
	return keys, whole
}

// Next waits until something changed and returns it, or ErrQuiet. Changes shortly after each other are in one
// update. After another error nothing is lost: the next update is complete.
func (f *Subscriber) Next(ctx context.Context) (Update, error) {
	if !wake.Sleep(ctx, time.Until(f.readyAt)) {
		return Update{}, context.Cause(ctx)
	}
	select {
	case <-ctx.Done():
		return Update{}, context.Cause(ctx)
	case <-time.After(BeatEvery):
		return Update{}, ErrQuiet
	case <-f.news:
	}
	update, err := f.gather(ctx)
	if err != nil {
		f.changes.mu.Lock()
		defer f.changes.mu.Unlock()
		f.sendAll()
		return Update{}, err
	}
	f.readyAt = time.Now().Add(bundleGap)
	return update, nil
}

// gather makes the update with the current state of what changed.
func (f *Subscriber) gather(ctx context.Context) (Update, error) {
	keys, whole := f.take()
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

// events streams changes, one JSON document per line, and an empty line as a sign of life.
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
		quiet := errors.Is(err, ErrQuiet)
		if err != nil && !quiet && first {
			answer(w, nil, err)
		}
		if err != nil && !quiet {
			return
		}
		if first {
			w.Header().Set("Content-Type", "application/x-ndjson")
		}
		_ = out.SetWriteDeadline(time.Now().Add(readerPatience)) // every unix socket can
		if quiet {
			_, err = io.WriteString(w, "\n")
		} else {
			err = lines.Encode(update)
		}
		if err != nil || out.Flush() != nil {
			return // the reader is gone
		}
	}
}
