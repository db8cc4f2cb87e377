package opencode

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"resumed/internal/agent"
	"resumed/internal/agent/opencode/database"
	"resumed/internal/backoff"
	"resumed/internal/fsevents"
	"resumed/internal/resume"
	"resumed/internal/sqliteread"
)

const (
	// batchDelay is the delay after the first event of a change: opencode writes in bursts.
	batchDelay = 100 * time.Millisecond

	// pause is the time between two surveys while opencode keeps writing.
	pause = 500 * time.Millisecond

	// againDelay is the delay of the next survey, doubled each time; after maxAgain surveys without
	// news only the regular ones remain.
	againDelay = time.Second
	maxAgain   = 5
)

// retryPolicy is for a database that cannot be read. It never gives up.
var retryPolicy = backoff.Policy{
	Strategy: backoff.Exponential, BaseDelay: 500 * time.Millisecond, MaxDelay: time.Minute,
	Jitter: true, JitterMode: backoff.Symmetric, JitterPercent: 0.2,
}

// follower is one run of Follow. Its fields are guarded by the agent's mutex.
type follower struct {
	agent     *Agent
	feed      agent.Feed
	log       *slog.Logger
	databases map[string]*followed // by path

	notify *fsevents.Listener // nil: only surveys

	alarm    *time.Timer // fires for the next survey
	next     time.Time   // when it fires; zero: it is not set
	surveyed time.Time
	again    int // surveys in a row without news
}

type followed struct {
	database.Reader
	cursor   *database.Cursor // nil: none yet
	stored   []byte           // the cursor as it was last stored
	stamp    sqliteread.Stamp // of the last reading; zero: it must be read again
	read     bool             // this daemon has read it: what follows is new
	failures int              // in a row
	logged   string
}

// Follow reports what happens to opencode's sessions until ctx is done.
func (a *Agent) Follow(ctx context.Context, feed agent.Feed) error {
	f := &follower{
		agent: a, feed: feed, log: feed.Log, databases: make(map[string]*followed), alarm: time.NewTimer(time.Hour),
		again: maxAgain, // where there is no database, nothing is looked for again
	}
	defer f.alarm.Stop()
	var fileEvents <-chan struct{}
	if notify, err := fsevents.New(); err != nil {
		f.log.Warn("no file events, databases are read by the clock", "every", rescan, "err", err)
	} else {
		defer notify.Close()
		if !a.deaf {
			f.notify, fileEvents = notify, notify.Ready()
		}
	}
	defer f.step(func() { a.look = nil })
	f.step(func() {
		f.survey(ctx)
		a.look = f.readNow
	})
	if ctx.Err() != nil {
		return nil
	}
	feed.Ready()
	rescan := time.NewTicker(a.rescan)
	defer rescan.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-fileEvents:
			f.step(func() { f.takeFileEvents(ctx) })
		case <-f.alarm.C:
			f.step(func() {
				f.next = time.Time{}
				f.survey(ctx)
			})
		case <-rescan.C:
			f.step(func() { f.survey(ctx) })
		}
	}
}

func (f *follower) step(do func()) {
	f.agent.mu.Lock()
	defer f.agent.mu.Unlock()
	do()
}

// ReadNew reports everything new about the session before it returns.
func (a *Agent) ReadNew(ctx context.Context, session resume.Session) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.look == nil:
		return errors.New("the databases are not followed any more")
	case !a.watches(session.Transcript):
		return nil // it is no longer watched: the plan reports that
	}
	return a.look(ctx, session.Transcript)
}

// readNow reads the database at path, whether it changed or not.
func (f *follower) readNow(ctx context.Context, path string) error {
	return sqliteread.Steadily(ctx, func(ctx context.Context) error { return f.read(ctx, f.database(path)) })
}

// schedule schedules a survey after that time at the latest.
func (f *follower) schedule(after time.Duration) {
	if at := time.Now().Add(after); f.next.IsZero() || at.Before(f.next) {
		f.next = at
		f.alarm.Reset(after)
	}
}

// takeFileEvents schedules a survey if a file changed that is read, or a directory that may exist now.
func (f *follower) takeFileEvents(ctx context.Context) {
	const most = 64 // so that the other channels are served too
	events, err := f.notify.Take(most)
	for _, event := range events {
		name := event.Name
		leads := func(dir string) bool { return dir == name || strings.HasPrefix(dir, name+string(filepath.Separator)) }
		if event.Op != fsnotify.Chmod &&
			(f.agent.watches(strings.TrimSuffix(name, "-wal")) || slices.ContainsFunc(f.agent.homes.Roots, leads)) {
			f.again = 0
			f.schedule(max(batchDelay, pause-time.Since(f.surveyed)))
		}
	}
	if err != nil {
		f.log.Warn("file events", "err", err)
		f.survey(ctx)
	}
}

// watch watches the directories, or their nearest existing parents. A directory that is created before its parent is
// watched is found by the next survey.
func (f *follower) watch() {
	if f.notify == nil {
		return
	}
	var now []string
	for _, dir := range f.agent.homes.Roots {
		for f.notify.Add(dir) != nil && dir != filepath.Dir(dir) {
			dir = filepath.Dir(dir)
		}
		now = append(now, dir)
	}
	for _, dir := range f.notify.Added() {
		if !slices.Contains(now, dir) {
			_ = f.notify.Remove(dir) // it may be gone
		}
	}
}

// survey reads everything that has changed. A writer first writes, which causes an event, and makes it visible
// to readers later, without an event: more surveys follow until nothing is new.
func (f *follower) survey(ctx context.Context) {
	f.watch()
	for _, dir := range f.agent.homes.Roots {
		paths, err := f.agent.databases(dir)
		if err != nil {
			f.log.Warn("cannot look for databases", "dir", dir, "err", err)
		}
		for _, path := range paths {
			d := f.database(path)
			before := d.stamp
			if now, err := sqliteread.StampOf(path); err == nil && now == before {
				continue
			}
			if err := f.read(ctx, d); err == nil && d.stamp != before { // read logs the error
				f.again = 0
			}
		}
	}
	f.surveyed = time.Now()
	if f.again < maxAgain {
		f.schedule(againDelay << f.again)
		f.again++
	}
}

// database returns a database, with the cursor of an earlier daemon.
func (f *follower) database(path string) *followed {
	if d := f.databases[path]; d != nil {
		return d
	}
	d := &followed{Reader: f.agent.reader(path)}
	f.databases[path] = d
	if stored, ok := f.feed.LoadCursor(path); ok {
		if err := json.Unmarshal(stored, &d.cursor); err != nil {
			f.log.Warn("a stored cursor was skipped", "path", path, "err", err)
			d.cursor = nil
		}
	}
	return d
}

// read reports what is new in a database, and only then stores the cursor: rows may be read again after a crash.
func (f *follower) read(ctx context.Context, d *followed) error {
	news, err := d.Since(ctx, d.cursor, d.read, time.Now())
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, fs.ErrNotExist):
		return nil // it was removed, and may come back
	case err != nil:
		f.failed(d, err)
		return err
	}
	if err := f.feed.Observe(ctx, news.Observations); err != nil {
		return err
	}
	if d.logged != "" {
		f.log.Info("the database can be read again", "path", d.Path)
	}
	for _, m := range news.TooLong {
		f.log.Warn("a message was passed over: it is too long to be read", "path", d.Path, "session", m.Session, "message", m.ID, "longest_mib", database.MaxRecord>>20)
	}
	d.logged, d.failures = "", 0
	d.cursor, d.stamp, d.read = &news.Cursor, news.Stamp, true
	if news.Undecided {
		d.stamp = sqliteread.Stamp{} // the next survey reads it again
	}
	cursor, err := json.Marshal(d.cursor)
	if err == nil && !bytes.Equal(cursor, d.stored) {
		d.stored = cursor
		f.feed.StoreCursor(d.Path, cursor)
	}
	return err
}

// failed logs an error of a database, once until it changes, and schedules a retry.
func (f *follower) failed(d *followed, err error) {
	d.failures++
	d.stamp = sqliteread.Stamp{}
	f.schedule(retryPolicy.Delay(d.failures, rand.Float64()))
	if d.logged == err.Error() || sqliteread.IsTemporary(err) && d.failures < 5 {
		return // locked for a moment: not worth a warning
	}
	d.logged = err.Error()
	f.log.Warn("cannot read database", "path", d.Path, "err", err)
}
