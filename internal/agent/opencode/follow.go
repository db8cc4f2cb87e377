package opencode

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"resumed/internal/agent"
	"resumed/internal/backoff"
	"resumed/internal/resume"
	"resumed/internal/sqliteread"
)

const (
	// secondLook is how long after a look that brought nothing the next one is,
	// and each after that comes twice as late; there are so many that the look
	// by the clock comes first.
	secondLook = time.Second
	mostLooks  = 5

	// quiet is waited after the first sign of a change: what opencode writes
	// comes in bursts.
	quiet = 100 * time.Millisecond

	// pause lies between two looks while opencode keeps writing.
	pause = 500 * time.Millisecond
)

// patience is how a database that cannot be read, and a server that does not
// answer, are asked again. It never gives up: another look follows.
var patience = backoff.Policy{
	Strategy: backoff.Exponential, BaseDelay: 500 * time.Millisecond, MaxDelay: time.Minute,
	Jitter: true, JitterMode: backoff.Symmetric, JitterPercent: 0.2,
}

// errStopped is what Look returns when Follow has ended.
var errStopped = errors.New("the databases are not followed any more")

// look is a request to read now what is new.
type look struct {
	path string
	done chan error
}

// Look reports what is new about the session before it returns.
func (a *Agent) Look(ctx context.Context, session resume.Session) error {
	request := look{session.Transcript, make(chan error, 1)}
	select {
	case a.looks <- request:
	case <-a.finished:
		return errStopped
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-request.done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// errFollowed is what Follow returns when it was called before.
var errFollowed = errors.New("the databases are followed already")

// Follow reports what happens to opencode's sessions until ctx is done. One
// goroutine owns all that is known of the databases; a second one listens to
// the server where there is one. It may be called once.
func (a *Agent) Follow(ctx context.Context, feed agent.Feed) error {
	if a.followed.Swap(true) {
		return errFollowed
	}
	defer close(a.finished)
	f := &follower{
		agent: a, feed: feed, log: feed.Log, books: make(map[string]*book), open: make(map[string]standing),
		notes: make(chan note), journal: journal{path: a.events},
	}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	if a.server != nil {
		wg.Go(func() { f.listen(ctx) })
	}
	return f.run(ctx)
}

// follower is one run of Follow. All is owned by its goroutine but notes.
type follower struct {
	agent   *Agent
	feed    agent.Feed
	log     *slog.Logger
	watch   *watch
	books   map[string]*book
	open    map[string]standing // sessions whose last message is not over
	journal journal             // of the plugin
	notes   chan note           // what the server says

	alarm   *time.Timer // the next look
	due     time.Time   // when it rings; zero: it does not
	dirty   map[string]bool
	vain    map[string]int // how many looks in a row brought nothing
	lastRun time.Time
	ready   bool // what lay there was told: what comes now is new
}

// standing is a session whose last message is not over.
type standing struct {
	said    Said // by that message
	book    *book
	session conversation
}

func (f *follower) run(ctx context.Context) error {
	f.watch = newWatch(f.log, f.agent.deaf)
	defer f.watch.close()
	f.alarm = time.NewTimer(time.Hour)
	f.alarm.Stop()
	f.dirty, f.vain = make(map[string]bool), make(map[string]int)

	f.survey(ctx)
	if ctx.Err() != nil {
		return nil
	}
	f.ready = true
	f.feed.Ready()

	sweep := time.NewTicker(f.agent.rescan)
	defer sweep.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-f.watch.events:
			f.heard(ctx)
		case request := <-f.agent.looks:
			request.done <- f.lookNow(ctx, request.path)
		case n := <-f.notes:
			f.hear(ctx, n)
		case <-f.alarm.C:
			f.due = time.Time{}
			f.lookAtDirty(ctx)
		case <-sweep.C:
			f.survey(ctx)
		}
	}
}

// heard deals with events that have come.
func (f *follower) heard(ctx context.Context) {
	const most = 64 // others have their turn, too
	events, err := f.watch.notify.Take(most)
	for _, event := range events {
		if event.Op != fsnotify.Chmod {
			f.touched(event.Name)
		}
	}
	if err != nil {
		f.log.Warn("file events", "err", err)
		f.survey(ctx)
	}
}

// touched notes that a file changed; a look follows soon.
func (f *follower) touched(name string) {
	if name == f.agent.events {
		f.dirty[name] = true
		f.ring(quiet)
		return
	}
	if f.watch.isWaypoint(name) {
		f.dirty[""] = true // a directory that was missing may be there now
		f.ring(quiet)
		return
	}
	path := databaseOf(name)
	if h := f.agent.homeOf(path); filepath.Dir(path) == h.dir && h.has(filepath.Base(path)) {
		f.dirty[path] = true
		delete(f.vain, path)
		f.ring(max(quiet, pause-time.Since(f.lastRun)))
	}
}

// ring makes the next look happen after d at the latest.
func (f *follower) ring(d time.Duration) {
	at := time.Now().Add(d)
	if f.due.IsZero() || at.Before(f.due) {
		f.due = at
		f.alarm.Reset(d)
	}
}

// survey looks at everything that changed, by the clock and not by events.
func (f *follower) survey(ctx context.Context) {
	for _, h := range f.agent.homes {
		f.watch.add(h.dir)
		paths, err := h.databases()
		if err != nil {
			f.log.Warn("cannot look for databases", "dir", h.dir, "err", err)
		}
		for _, path := range paths {
			b := f.bookOf(path, h)
			if now, err := sqliteread.StampOf(path); err != nil || now != b.stamp || !b.live {
				f.lookOn(ctx, b)
			}
		}
	}
	if dir := filepath.Dir(f.agent.events); isDir(dir) {
		f.watch.add(dir)
	}
	f.readJournal(ctx)
	f.findDead(ctx)
}

func (f *follower) lookAtDirty(ctx context.Context) {
	dirty := f.dirty
	f.dirty = make(map[string]bool)
	if dirty[""] {
		f.survey(ctx)
	}
	for path := range dirty {
		switch path {
		case "":
		case f.agent.events:
			f.readJournal(ctx)
		default:
			f.lookOn(ctx, f.bookOf(path, f.agent.homeOf(path)))
		}
	}
}

// lookOn reads what is new in a database that was written to. A writer first
// writes, which is an event, and when the disk has it lets readers see it, which
// is none: more looks follow until nothing new is to be seen. That may also have
// begun just before we did, and what is seen may be an earlier write than the one that was heard.
func (f *follower) lookOn(ctx context.Context, b *book) {
	row := b.cursor.Row
	_ = f.lookAt(ctx, b) // it complains by itself, and what is in the way may be gone at the next look
	n := f.vain[b.path]
	switch {
	case ctx.Err() != nil:
		return
	case b.cursor.Row != row:
		n = 0
	case n == mostLooks:
		delete(f.vain, b.path)
		return
	}
	f.vain[b.path] = n + 1
	f.dirty[b.path] = true
	f.ring(secondLook << n)
}

// lookNow reads the database that a session is in, whether it changed or not.
func (f *follower) lookNow(ctx context.Context, path string) error {
	h := f.agent.homeOf(path)
	if filepath.Dir(path) != h.dir || !h.has(filepath.Base(path)) {
		return nil // it is none of ours any more: the plan says so
	}
	f.readJournal(ctx)
	return sqliteread.Steadily(ctx, func(ctx context.Context) error { return f.lookAt(ctx, f.bookOf(path, h)) })
}

// bookOf returns the book of a database, to be read on where an earlier daemon
// stopped.
func (f *follower) bookOf(path string, h home) *book {
	if b := f.books[path]; b != nil {
		return b
	}
	b := &book{path: path, agent: f.agent.brand.name, account: h.account, reader: f.agent.Limits}
	f.books[path] = b
	stored, ok := f.feed.Kept(path)
	if !ok {
		return b
	}
	if err := json.Unmarshal(stored, &b.cursor); err != nil {
		f.log.Warn("a stored cursor was skipped", "path", path, "err", err)
		b.cursor = cursor{}
		return b
	}
	b.begun = true
	return b
}

// lookAt reads what is new in a database and tells it. Only then is the cursor
// kept: after a crash the rows are read again, which changes nothing.
func (f *follower) lookAt(ctx context.Context, b *book) error {
	f.lastRun = time.Now()
	n, err := b.look(ctx, time.Now())
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, fs.ErrNotExist):
		return nil // it was taken away; it may come back
	case err != nil:
		f.complain(b, err)
		return err
	}
	if err := f.feed.See(ctx, n.observations); err != nil {
		return err
	}
	if b.told != "" {
		f.log.Info("the database can be read again", "path", b.path)
	}
	b.told, b.failures = "", 0
	changed := !b.live || len(n.observations) > 0 || n.cursor.Row != b.cursor.Row || len(n.cursor.Open) != len(b.cursor.Open)
	b.accept(n)
	f.note(b, n)
	f.sayLong(b, n.long)
	if n.again {
		f.dirty[b.path] = true
		f.ring(hesitation)
	}
	if changed {
		return f.keep(b)
	}
	return nil
}

func (f *follower) keep(b *book) error {
	stored, err := json.Marshal(b.cursor)
	if err != nil {
		return err
	}
	f.feed.Keep(b.path, stored)
	return nil
}

// sayLong logs which messages are too long to be read, each once.
func (f *follower) sayLong(b *book, messages []message) {
	for _, m := range messages {
		if b.passedOver[m.id] {
			continue
		}
		if b.passedOver == nil {
			b.passedOver = make(map[string]bool)
		}
		b.passedOver[m.id] = true
		f.log.Warn("a message was passed over: it is too long to be read", "path", b.path, "session", m.session, "message", m.id, "longest_mib", longest>>20)
	}
}

// complain logs what is wrong with a database, once until it changes, and has
// it looked at again.
func (f *follower) complain(b *book, err error) {
	b.failures++
	f.dirty[b.path] = true
	f.ring(patience.Delay(b.failures, rand.Float64()))
	if b.told == err.Error() || sqliteread.Passing(err) && b.failures < 5 {
		return // locked for an instant: none of a person's business
	}
	b.told = err.Error()
	f.log.Warn("cannot read database", "path", b.path, "err", err)
}
