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

// Follow reports what happens to opencode's sessions until ctx is done, also through the server, if there is one.
func (a *Agent) Follow(ctx context.Context, feed agent.Feed) error {
	f := &follower{
		agent: a, feed: feed, log: feed.Log, databases: make(map[string]*followed),
		plugin: server.PluginFile{Path: a.events}, alarm: time.NewTimer(time.Hour),
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
		f.findDead(ctx)
		f.ready, a.look = true, f.readNow
	})
	if ctx.Err() != nil {
		return nil
	}
	feed.Ready()
	if a.server != nil {
		var wg sync.WaitGroup
		defer wg.Wait() // it ends with ctx
		wg.Go(func() { f.listen(ctx) })
	}
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
			f.step(func() {
				f.survey(ctx)
				f.findDead(ctx)
			})
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
	f.readPlugin(ctx)
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
			(name == f.agent.events || f.agent.watches(strings.TrimSuffix(name, "-wal")) || slices.ContainsFunc(f.dirs, leads)) {
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
	f.dirs = slices.Clone(f.agent.homes.Roots)
	dir := filepath.Dir(f.agent.events)
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		f.dirs = append(f.dirs, dir)
	}
	if f.notify == nil {
		return
	}
	var now []string
	for _, dir := range f.dirs {
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
	f.readPlugin(ctx)
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
	d.cursor, d.stamp, d.open, d.read = &news.Cursor, news.Stamp, news.Open, true
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

func (f *follower) listen(ctx context.Context) {
	listener := server.Listener{
		Client: f.agent.client(), Log: f.log.With("agent", f.agent.brand.name), Retry: retryPolicy,
		Waiting: func() map[string]string { // those in the server itself
			directories := make(map[string]string)
			for _, event := range f.agent.retries.Range {
				if e := event.(server.Event); e.PID == 0 {
					directories[e.Session] = e.Directory
				}
			}
			return directories
		},
		Send: func(e server.Event) { f.step(func() { f.take(ctx, e) }) },
	}
	listener.Listen(ctx)
}

// retry returns the event that says that a session waits for a retry by opencode itself.
func (a *Agent) retry(session string) (server.Event, bool) {
	found, ok := a.retries.Load(session)
	event, _ := found.(server.Event)
	return event, ok
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

// findDead reports the sessions that waited for a retry until their process died, which nothing else records.
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
	d, open := f.openMessage(ctx, e.Session)
	if d == nil || open.Message.AtMS > e.AtMS {
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
	_ = f.feed.Observe(ctx, []resume.Observation{d.Observation(open.Session, open.Message, event)})
}

// openMessage returns the last message of a session, if it is not finished, and its database; nil: there is none.
func (f *follower) openMessage(ctx context.Context, session string) (*followed, database.Open) {
	for _, again := range []bool{false, true} {
		for _, d := range f.databases {
			if again {
				_ = f.read(ctx, d) // read logs the error
			}
			if open, ok := d.open[session]; ok {
				return d, open
			}
		}
	}
	return nil, database.Open{}
}
