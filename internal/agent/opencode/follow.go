package opencode

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"resumed/internal/agent"
	"resumed/internal/agent/opencode/server"
	"resumed/internal/fsevents"
	"resumed/internal/resume"
	"resumed/internal/sqliteread"
)

// Follow reports what happens to opencode's sessions until ctx is done, also through the server, if there is one.
func (a *Agent) Follow(ctx context.Context, feed agent.Feed) error {
	f := &follower{
		agent: a, feed: feed, log: feed.Log, databases: make(map[string]*followed),
		plugin: server.PluginFile{Path: a.events}, alarm: time.NewTimer(time.Hour),
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
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.look = nil
	}()
	if f.begin(ctx); ctx.Err() != nil {
		return nil
	}
	feed.Ready()
	if a.server != nil {
		var wg sync.WaitGroup
		defer wg.Wait() // it ends with ctx
		wg.Go(func() { f.listen(ctx) })
	}
	f.run(ctx, fileEvents)
	return nil
}

// begin reports everything that exists already.
func (f *follower) begin(ctx context.Context) {
	f.agent.mu.Lock()
	defer f.agent.mu.Unlock()
	f.survey(ctx)
	f.findDead(ctx)
	f.ready = true
	f.agent.look = f.readNow
}

func (f *follower) run(ctx context.Context, fileEvents <-chan struct{}) {
	rescan := time.NewTicker(f.agent.rescan)
	defer rescan.Stop()
	for {
		var step func(context.Context)
		select {
		case <-ctx.Done():
			return
		case <-fileEvents:
			step = f.takeFileEvents
		case <-f.alarm.C:
			step = func(ctx context.Context) {
				f.next = time.Time{}
				f.survey(ctx)
			}
		case <-rescan.C:
			step = func(ctx context.Context) {
				f.survey(ctx)
				f.findDead(ctx)
			}
		}
		f.agent.mu.Lock()
		step(ctx)
		f.agent.mu.Unlock()
	}
}

// Look reports everything new about the session before it returns.
func (a *Agent) Look(ctx context.Context, session resume.Session) error {
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

// readPlugin reads the plugin's new events.
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
