package opencode

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"resumed/internal/agent"
	"resumed/internal/agent/opencode/database"
	"resumed/internal/agent/opencode/server"
	"resumed/internal/backoff"
	"resumed/internal/resume"
	"resumed/internal/sqliteread"
)

const (
	// batchDelay is waited after the first sign of a change: what opencode writes
	// comes in bursts.
	batchDelay = 100 * time.Millisecond

	// pause lies between two surveys while opencode keeps writing.
	pause = 500 * time.Millisecond

	// againDelay is how long after a survey the next one is, and each after that comes twice as
	// late; after maxAgain of them that found nothing new the regular one comes first.
	againDelay = time.Second
	maxAgain   = 5
)

// retryPolicy is how a database that cannot be read, and a server that does not
// answer, are asked again. It never gives up: another try follows.
var retryPolicy = backoff.Policy{
	Strategy: backoff.Exponential, BaseDelay: 500 * time.Millisecond, MaxDelay: time.Minute,
	Jitter: true, JitterMode: backoff.Symmetric, JitterPercent: 0.2,
}

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
		return errors.New("the databases are not followed any more")
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

// Follow reports what happens to opencode's sessions until ctx is done. One
// goroutine owns all that is known of the databases; a second one listens to
// the server where there is one. It may be called once.
func (a *Agent) Follow(ctx context.Context, feed agent.Feed) error {
	if a.followed.Swap(true) {
		return errors.New("the databases are followed already")
	}
	defer close(a.finished)
	f := &follower{
		agent: a, feed: feed, log: feed.Log, databases: make(map[string]*followed),
		fromServer: make(chan server.Event), plugin: server.PluginFile{Path: a.events},
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

// follower is one run of Follow. All is owned by its goroutine but fromServer.
type follower struct {
	agent      *Agent
	feed       agent.Feed
	log        *slog.Logger
	watch      *watch
	databases  map[string]*followed // by path
	plugin     server.PluginFile
	pluginErr  string            // what was last logged of it
	fromServer chan server.Event // what the server says

	alarm    *time.Timer // rings for the next survey
	next     time.Time   // when it does; zero: it does not
	surveyed time.Time
	again    int  // surveys in a row that found nothing new
	ready    bool // what was there at the start was reported: what comes now is new
}

// followed is one database.
type followed struct {
	database.Reader
	cursor   *database.Cursor // nil: there is none yet
	stored   []byte           // the cursor as it was last stored
	stamp    sqliteread.Stamp // of the last reading; zero: it is to be read again
	read     bool             // it was read by this daemon: what comes now is new
	open     map[string]database.Open
	failures int // in a row
	logged   string
}

func (f *follower) run(ctx context.Context) error {
	f.watch = newWatch(f.log, f.agent.deaf)
	defer f.watch.close()
	f.alarm = time.NewTimer(time.Hour)
	defer f.alarm.Stop()

	f.survey(ctx)
	if ctx.Err() != nil {
		return nil
	}
	f.ready = true
	f.feed.Ready()

	rescan := time.NewTicker(f.agent.rescan)
	defer rescan.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-f.watch.events:
			f.takeFileEvents(ctx)
		case request := <-f.agent.looks:
			request.done <- f.readNow(ctx, request.path)
		case e := <-f.fromServer:
			f.take(ctx, e)
		case <-f.alarm.C:
			f.next = time.Time{}
			f.survey(ctx)
		case <-rescan.C:
			f.survey(ctx)
		}
	}
}

// takeFileEvents has everything surveyed where a file changed that matters.
func (f *follower) takeFileEvents(ctx context.Context) {
	const most = 64 // the other channels have their turn, too
	events, err := f.watch.notify.Take(most)
	for _, event := range events {
		if event.Op != fsnotify.Chmod && f.matters(event.Name) {
			f.again = 0
			f.schedule(max(batchDelay, pause-time.Since(f.surveyed)))
		}
	}
	if err != nil {
		f.log.Warn("file events", "err", err)
		f.survey(ctx)
	}
}

// matters reports whether a file is read, or lies on the way to a directory that may be there now.
func (f *follower) matters(name string) bool {
	return name == f.agent.events || f.watch.leadsTo(name) || f.agent.watches(strings.TrimSuffix(name, "-wal"))
}

// schedule has everything surveyed after that time at the latest.
func (f *follower) schedule(after time.Duration) {
	if at := time.Now().Add(after); f.next.IsZero() || at.Before(f.next) {
		f.next = at
		f.alarm.Reset(after)
	}
}

// survey reads everything that has changed. A writer first writes, which is an event, and when the
// disk has it lets readers see it, which is none: more surveys follow until nothing new is there.
func (f *follower) survey(ctx context.Context) {
	dirs := f.agent.homes.Roots
	if dir := filepath.Dir(f.agent.events); isDir(dir) {
		dirs = append(slices.Clone(dirs), dir)
	}
	f.watch.set(dirs)
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
			if err := f.read(ctx, d); err == nil && d.stamp != before { // an error is logged there
				f.again = 0
			}
		}
	}
	f.readPlugin(ctx)
	f.findDead(ctx)
	f.surveyed = time.Now()
	if f.again < maxAgain {
		f.schedule(againDelay << f.again)
		f.again++
	}
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// readPlugin takes in what the plugin wrote since the last time.
func (f *follower) readPlugin(ctx context.Context) {
	events, err := f.plugin.Read()
	if err != nil && !errors.Is(err, fs.ErrNotExist) && f.pluginErr != err.Error() {
		f.pluginErr = err.Error()
		f.log.Warn("cannot read what the plugin wrote", "path", f.plugin.Path, "err", err)
	}
	if len(events) > 0 {
		f.take(ctx, events...)
	}
}

// readNow reads the database that a session is in, whether it changed or not.
func (f *follower) readNow(ctx context.Context, path string) error {
	if !f.agent.watches(path) {
		return nil // it is not watched any more: the plan says so
	}
	f.readPlugin(ctx)
	return sqliteread.Steadily(ctx, func(ctx context.Context) error { return f.read(ctx, f.database(path)) })
}

// database returns a database, to be read on where an earlier daemon stopped.
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

// read reports what is new in a database. Only then is the cursor
// stored: after a crash the rows are read again, which changes nothing.
func (f *follower) read(ctx context.Context, d *followed) error {
	news, err := d.Since(ctx, d.cursor, d.read, time.Now())
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, fs.ErrNotExist):
		return nil // it was taken away; it may come back
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

// failed logs what is wrong with a database, once until it changes, and has
// it read again.
func (f *follower) failed(d *followed, err error) {
	d.failures++
	d.stamp = sqliteread.Stamp{}
	f.schedule(retryPolicy.Delay(d.failures, rand.Float64()))
	if d.logged == err.Error() || sqliteread.Passing(err) && d.failures < 5 {
		return // locked for an instant: people need not know
	}
	d.logged = err.Error()
	f.log.Warn("cannot read database", "path", d.Path, "err", err)
}
