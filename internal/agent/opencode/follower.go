package opencode

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"time"

	"resumed/internal/agent"
	"resumed/internal/agent/opencode/database"
	"resumed/internal/agent/opencode/server"
	"resumed/internal/backoff"
	"resumed/internal/fsevents"
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

// retryPolicy is for a database that cannot be read, and a server that does not answer. It never gives up.
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
	plugin    server.PluginFile
	pluginErr string // the last error that was logged

	notify *fsevents.Listener // nil: only surveys
	dirs   []string           // that are watched

	alarm    *time.Timer // fires for the next survey
	next     time.Time   // when it fires; zero: it is not set
	surveyed time.Time
	again    int  // surveys in a row without news
	ready    bool // everything that existed at the start was reported: what follows is new
}

// followed is one database.
type followed struct {
	database.Reader
	cursor   *database.Cursor // nil: none yet
	stored   []byte           // the cursor as it was last stored
	stamp    sqliteread.Stamp // of the last reading; zero: it must be read again
	read     bool             // this daemon has read it: what follows is new
	open     map[string]database.Open
	failures int // in a row
	logged   string
}

// schedule schedules a survey after that time at the latest.
func (f *follower) schedule(after time.Duration) {
	if at := time.Now().Add(after); f.next.IsZero() || at.Before(f.next) {
		f.next = at
		f.alarm.Reset(after)
	}
}

// database returns a database, with the cursor of an earlier daemon.
func (f *follower) database(path string) *followed {
	if d := f.databases[path]; d != nil {
		return d
	}
	d := &followed{Reader: f.agent.reader(path)}
	f.databases[path] = d
	if stored, ok := f.feed.Kept(path); ok {
		var cursor database.Cursor
		if err := json.Unmarshal(stored, &cursor); err != nil {
			f.log.Warn("a stored cursor was skipped", "path", path, "err", err)
		} else {
			d.cursor = &cursor
		}
	}
	return d
}

// read reports what is new in a database. The cursor is stored only after that: after a crash the rows are
// read again, which changes nothing.
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
	if err := f.feed.See(ctx, news.Observations); err != nil {
		return err
	}
	if d.logged != "" {
		f.log.Info("the database can be read again", "path", d.Path)
	}
	for _, m := range news.TooLong {
		f.log.Warn("a message was passed over: it is too long to be read", "path", d.Path, "session", m.Session, "message", m.ID, "longest_mib", database.MaxRecord>>20)
	}
	d.logged, d.failures = "", 0
	d.cursor, d.stamp, d.open, d.read = &news.Cursor, news.Stamp, news.Open, true
	if news.Undecided {
		d.stamp = sqliteread.Stamp{}
		f.schedule(database.UndecidedFor)
	}
	cursor, err := json.Marshal(d.cursor)
	if err == nil && !bytes.Equal(cursor, d.stored) {
		d.stored = cursor
		f.feed.Keep(d.Path, cursor)
	}
	return err
}

// failed logs an error of a database, once until it changes, and schedules a retry.
func (f *follower) failed(d *followed, err error) {
	d.failures++
	d.stamp = sqliteread.Stamp{}
	f.schedule(retryPolicy.Delay(d.failures, rand.Float64()))
	if d.logged == err.Error() || sqliteread.Passing(err) && d.failures < 5 {
		return // locked for a moment: not worth a warning
	}
	d.logged = err.Error()
	f.log.Warn("cannot read database", "path", d.Path, "err", err)
}
