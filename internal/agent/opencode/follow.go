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
	"resumed/internal/resume"
	"resumed/internal/sqliteread"
)

// Look reports everything new about the session before it returns.
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

// Follow reports what happens to opencode's sessions until ctx is done. One goroutine owns the state of all
// databases; a second one listens to the server, if there is one. It may be called once.
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

func (f *follower) run(ctx context.Context) error {
	f.watch = newWatch(f.log, f.agent.deaf)
	defer f.watch.close()
	f.alarm = time.NewTimer(time.Hour)
	defer f.alarm.Stop()

	f.survey(ctx)
	f.findDead(ctx)
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
			f.findDead(ctx)
		}
	}
}

// takeFileEvents schedules a survey if a relevant file changed.
func (f *follower) takeFileEvents(ctx context.Context) {
	const most = 64 // so that the other channels are served too
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

// matters reports whether a file is read, or is a parent of a directory that may exist now.
func (f *follower) matters(name string) bool {
	return name == f.agent.events || f.watch.leadsTo(name) || f.agent.watches(strings.TrimSuffix(name, "-wal"))
}

// survey reads everything that has changed. A writer first writes, which causes an event, and makes it visible
// to readers later, without an event: more surveys follow until nothing is new.
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

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
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

// readNow reads the database of a session, whether it changed or not.
func (f *follower) readNow(ctx context.Context, path string) error {
	if !f.agent.watches(path) {
		return nil // it is no longer watched: the plan reports that
	}
	f.readPlugin(ctx)
	return sqliteread.Steadily(ctx, func(ctx context.Context) error { return f.read(ctx, f.database(path)) })
}
