package app

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/clean"
	"resumed/internal/resume"
	"resumed/internal/state"
	"resumed/internal/watch"
)

// feed turns what one agent writes in one place into events.
type feed struct {
	d       *daemon
	agent   agent.Agent
	source  agent.Source
	watcher *watch.Watcher
	ready   chan struct{} // closed when all that lay there was read
	cancel  context.CancelFunc
	done    chan struct{} // closed when it has stopped

	// Owned by the watcher's goroutine.
	back map[string][]resume.Sighting // of files at first sight, newest first
}

// longestText bounds what is kept of an agent's words.
const longestText = 300

func newFeed(d *daemon, a agent.Agent, src agent.Source, cursors map[string]watch.Cursor) *feed {
	f := &feed{
		d: d, agent: a, source: src,
		ready: make(chan struct{}), done: make(chan struct{}),
		back: make(map[string][]resume.Sighting),
	}
	opts := watch.Options{
		Root:    src.Root,
		Depth:   src.Depth,
		Match:   src.Match,
		Needles: src.Needles,
		Known: func(path string) (watch.Cursor, bool) {
			cursor, ok := cursors[path]
			return cursor, ok
		},
		Deliver: f.deliver,
		Ready:   func() { close(f.ready) },
		Log:     d.log.With("agent", a.Name()),
	}
	if src.Sift != nil {
		opts.Sift = func(line []byte) watch.Weight { return watch.Weight(src.Sift(line)) }
	}
	f.watcher = watch.New(opts)
	return f
}

func (f *feed) start(s *stage) {
	ctx, cancel := context.WithCancel(s.ctx)
	f.cancel = cancel
	s.run("watcher of "+f.agent.Name(), func(context.Context) error {
		defer close(f.done)
		return f.watcher.Run(ctx)
	})
}

func (f *feed) stop() {
	f.cancel()
	<-f.done
}

// deliver tells the engine what new lines mean, and only then lets their
// cursor be stored: a crash between the two reads the lines again, and the
// engine passes over what it was told before.
func (f *feed) deliver(ctx context.Context, batch watch.Batch) (enough bool, err error) {
	sightings := f.digest(batch)
	if batch.Back {
		if len(sightings) > 0 {
			f.back[batch.Path] = append(sightings, f.back[batch.Path]...)
		}
		return len(f.back[batch.Path]) > 0 && !f.source.Shared, nil
	}
	if older := f.back[batch.Path]; len(older) > 0 {
		sightings = append(markFirst(older), sightings...)
	}
	if err := f.d.engine.See(ctx, sightings); err != nil {
		return false, err
	}
	delete(f.back, batch.Path)
	if !batch.Cursor.IsZero() {
		f.d.keepCursor(batch.Path, batch.Cursor)
	}
	return true, nil
}

func markFirst(sightings []resume.Sighting) []resume.Sighting {
	for i, s := range sightings {
		if limited, ok := s.Event.(resume.Limited); ok {
			limited.First = true
			sightings[i].Event = limited
		}
	}
	return sightings
}

// digest reads the lines that may matter. Of a run of lines that can only be
// movement, the last real one tells all.
func (f *feed) digest(batch watch.Batch) []resume.Sighting {
	var sightings []resume.Sighting
	var moves []watch.Line
	flush := func() {
		for _, line := range slices.Backward(moves) {
			if sight, ok := f.observe(batch, line); ok {
				sightings = append(sightings, sight)
				break
			}
		}
		moves = moves[:0]
	}
	for _, line := range batch.Lines {
		if line.Weight == watch.Moves {
			moves = append(moves, line)
			continue
		}
		flush()
		if sight, ok := f.observe(batch, line); ok {
			sightings = append(sightings, sight)
		}
	}
	flush()
	return sightings
}

func (f *feed) observe(batch watch.Batch, line watch.Line) (resume.Sighting, bool) {
	sight, ok := f.agent.Observe(f.source, agent.Line{
		Path:    batch.Path,
		Offset:  line.Offset,
		Data:    line.Data,
		Cut:     line.Cut,
		ModTime: batch.ModTime,
	})
	if !ok {
		return resume.Sighting{}, false
	}
	sight.Key.Agent = cmp.Or(sight.Key.Agent, f.agent.Name())
	sight.Account = cmp.Or(sight.Account, f.source.Account)
	sight.Transcript = cmp.Or(sight.Transcript, batch.Path)
	sight.Pos = resume.Position{Epoch: batch.Epoch, Offset: line.End}
	if limited, ok := sight.Event.(resume.Limited); ok {
		limited.Text = clean.Short(limited.Text, longestText)
		sight.Event = limited
	}
	return sight, true
}

// covers reports whether path lies in this feed's root.
func (f *feed) covers(path string) bool {
	rel, err := filepath.Rel(f.source.Root, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// setFeeds starts the feeds of all agents, with the cursors of an earlier
// daemon.
func (d *daemon) setFeeds(snapshot state.Snapshot) {
	cursors := decodeCursors(d, snapshot)
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, name := range sortedKeys(d.agents) {
		d.feeds = append(d.feeds, d.startFeeds(d.agents[name], cursors)...)
	}
}

func (d *daemon) startFeeds(a agent.Agent, cursors map[string]watch.Cursor) []*feed {
	var feeds []*feed
	for _, src := range a.Sources() {
		f := newFeed(d, a, src, cursors)
		f.start(d.inputs)
		feeds = append(feeds, f)
	}
	return feeds
}

func decodeCursors(d *daemon, snapshot state.Snapshot) map[string]watch.Cursor {
	cursors := make(map[string]watch.Cursor, len(snapshot.Cursors))
	for path, data := range snapshot.Cursors {
		var cursor watch.Cursor
		if err := json.Unmarshal(data, &cursor); err != nil {
			d.log.Warn("a stored cursor was skipped", "path", path, "err", err)
			continue
		}
		cursors[path] = cursor
	}
	return cursors
}

// keepCursor stores how far a file was read.
func (d *daemon) keepCursor(path string, cursor watch.Cursor) {
	data, err := json.Marshal(cursor)
	if err != nil {
		d.log.Error("a cursor could not be encoded", "path", path, "err", err)
		return
	}
	d.store.PutCursor(path, data)
}

// readAgain reads what is new in a session's transcript now.
func (d *daemon) readAgain(ctx context.Context, session resume.Session) error {
	for _, f := range d.feedsOf(session.Key.Agent) {
		if !f.covers(session.Transcript) {
			continue
		}
		ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, fmt.Errorf("reading %s took more than a minute", session.Transcript))
		defer cancel()
		return f.watcher.Check(ctx, session.Transcript)
	}
	return nil
}

func (d *daemon) feedsOf(name string) []*feed {
	d.mu.Lock()
	defer d.mu.Unlock()
	var feeds []*feed
	for _, f := range d.feeds {
		if f.agent.Name() == name {
			feeds = append(feeds, f)
		}
	}
	return feeds
}

// awaitFeeds returns when all that lay in the agents' files was read.
func (d *daemon) awaitFeeds(ctx context.Context) error {
	d.mu.Lock()
	feeds := slices.Clone(d.feeds)
	d.mu.Unlock()
	for _, f := range feeds {
		select {
		case <-f.ready:
		case <-f.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// stopper ends a command that runs.
type stopper interface{ Stop(context.Context) error }
