package feed

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"resumed/internal/agent"
	"resumed/internal/resume"
	"resumed/internal/runner"
	"resumed/internal/sanitize"
	"resumed/internal/watch"
)

// longestProvider bounds what is kept of a provider's name.
const longestProvider = 60

// reader reads what an agent writes in the lines of files.
type reader struct {
	agent  agent.Reader
	source agent.Source
	feeds  *Feeds
	log    *slog.Logger

	// What follows is owned by the watcher's goroutine.
	moves    []watch.Line     // memory for a run of them
	back     map[string]sight // what files at first sight say
	gathered gathering
}

// gathering is what files have told that the engine was not told yet: with thousands
// of them at a start, a call for each would cost more than their reading.
type gathering struct {
	told    []resume.Observation
	cursors []placed
}

// placed is how far a file was read.
type placed struct {
	path   string
	cursor watch.Cursor
}

// mostGathered bounds how long the first of them waits.
const mostGathered = 64

// sight is what the first sight of a file has told so far, oldest first.
type sight struct {
	number uint32
	told   []resume.Observation
}

// transcripts makes the feed of an agent's files in one place.
func (f *Feeds) transcripts(a agent.Reader, src agent.Source, cursors Cursors) *feed {
	one := newFeed(a)
	r := &reader{
		agent: a, source: src, feeds: f,
		log: f.opts.Log.With("agent", a.Name()), back: make(map[string]sight),
	}
	opts := watch.Options{
		Root:    src.Root,
		Depth:   src.Depth,
		Match:   src.Match,
		Known:   func(path string) (watch.Cursor, bool) { return r.known(cursors, path) },
		Deliver: r.deliver,
		Since:   f.opts.Since,
		Settle:  r.handOn,
		Ready: func() {
			cursors = nil // they are in the watcher's memory now
			close(one.ready)
		},
		Log: r.log,
	}
	if src.Sift != nil {
		opts.Sift = func(line []byte) watch.Weight { return watch.Weight(src.Sift(line)) }
	}
	watcher := watch.New(opts)
	one.run = watcher.Run
	one.look = func(ctx context.Context, session resume.Session) error {
		rel, err := filepath.Rel(src.Root, session.Transcript)
		if err != nil || !filepath.IsLocal(rel) {
			return nil // it lies in another root of the agent
		}
		err = watcher.Check(ctx, session.Transcript)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // there is nothing new to read: the plan says what that means
		}
		return err
	}
	return one
}

func (r *reader) known(cursors Cursors, path string) (cursor watch.Cursor, ok bool) {
	data, ok := cursors[path]
	if cursors == nil && r.feeds.opts.Kept != nil {
		data, ok = r.feeds.opts.Kept(path)
	}
	if !ok {
		return watch.Cursor{}, false
	}
	if err := json.Unmarshal(data, &cursor); err != nil {
		r.log.Warn("a stored cursor was skipped", "path", path, "err", err)
		return watch.Cursor{}, false
	}
	return cursor, true
}

// deliver tells the engine what new lines mean, and only then lets their
// cursor be stored: a crash between the two reads the lines again, and the
// engine passes over what it was told before.
func (r *reader) deliver(ctx context.Context, batch watch.Batch) (enough bool, err error) {
	if r.feeds.foreign(r.agent.Name(), batch.Path, r.feeds.opts.Trust().OwnerOf(batch.Path, batch.Info)) {
		return true, nil // and no cursor is stored: mended, it is read by the next daemon
	}
	observations := r.digest(batch)
	r.weigh(batch, observations)
	back := r.back[batch.Path]
	if back.number != batch.Sight {
		back = sight{number: batch.Sight} // another was begun and not finished
	}
	if batch.Back {
		back.told = append(observations, back.told...)
		r.back[batch.Path] = back
		return len(back.told) > 0 && !r.source.Shared, nil
	}
	told := append(markFirst(back.told), observations...)
	if batch.Was != "" {
		told = append([]resume.Observation{{
			Key: resume.Key{Agent: r.agent.Name()}, Transcript: batch.Path, Event: resume.Renamed{From: batch.Was},
		}}, told...)
	}
	if err := r.gather(ctx, batch, told); err != nil {
		return false, err
	}
	delete(r.back, batch.Path)
	return true, nil
}

// gather keeps what a file has told for the engine, or tells it.
func (r *reader) gather(ctx context.Context, batch watch.Batch, told []resume.Observation) error {
	before := r.gathered
	r.gathered.told = append(r.gathered.told, told...)
	r.gathered.cursors = append(r.gathered.cursors, placed{batch.Path, batch.Cursor})
	if !batch.More || len(r.gathered.cursors) >= mostGathered {
		if err := r.handOn(ctx); err != nil {
			r.gathered = before // this file comes again
			return err
		}
	}
	return nil
}

// handOn tells the engine what was gathered, and lets the cursors be stored. Where the engine does
// not listen any more, which is at the end, the next daemon reads it again.
func (r *reader) handOn(ctx context.Context) error {
	g := &r.gathered
	if err := r.feeds.observe(ctx, g.told); err != nil {
		return err
	}
	for _, at := range g.cursors {
		data, err := json.Marshal(at.cursor)
		if err != nil {
			return err
		}
		r.feeds.opts.Keep(at.path, data)
	}
	if len(r.back) == 0 {
		r.back = make(map[string]sight) // what was the most at a start need not stay
	}
	clear(g.told) // of what they point to
	g.told, g.cursors = g.told[:0], g.cursors[:0]
	return nil
}

// markFirst marks refusals as old news, which they may be.
func markFirst(observations []resume.Observation) []resume.Observation {
	for i, s := range observations {
		if limited, ok := s.Event.(resume.Limited); ok {
			limited.First = true
			observations[i].Event = limited
		}
	}
	return observations
}

// digest reads the lines that may matter. Of a run of lines that can only be
// movement, the last real one tells all; at first sight it tells nothing that
// movement after it does not.
func (r *reader) digest(batch watch.Batch) []resume.Observation {
	var observations []resume.Observation
	born := sync.OnceValues(func() (time.Time, bool) { return runner.BirthTime(batch.Path) })
	moves := r.moves[:0]
	defer func() { r.moves = moves }()
	flush := func() {
		for _, line := range slices.Backward(moves) {
			if seen, ok := r.observe(batch, line, born); ok {
				observations = append(observations, seen)
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
		if !batch.Back {
			flush()
		}
		seen, ok := r.observe(batch, line, born)
		if _, moved := seen.Event.(resume.Progressed); moved {
			moves = moves[:0]
		}
		flush()
		if ok {
			observations = append(observations, seen)
		}
	}
	flush()
	return observations
}

func (r *reader) observe(batch watch.Batch, line watch.Line, born func() (time.Time, bool)) (resume.Observation, bool) {
	var shown int64
	if !batch.Back {
		shown = line.Offset - batch.Since
	}
	var before []byte
	if ahead := line.Offset - batch.HeldAt; ahead > 0 && ahead <= int64(len(batch.Held)) {
		before = batch.Held[:ahead]
	}
	seen, ok := r.agent.Observe(r.source, agent.Line{
		Path:    batch.Path,
		Before:  before,
		Offset:  line.Offset,
		Data:    line.Data,
		Cut:     line.Cut,
		ModTime: batch.ModTime,
		File:    batch.File,
		Shown:   shown,
	})
	if !ok || seen.Key.ID == "" {
		return resume.Observation{}, false
	}
	seen.Account = cmp.Or(seen.Account, r.source.Account)
	seen.Transcript = cmp.Or(seen.Transcript, batch.Path)
	seen.Pos = resume.Position{Epoch: batch.Epoch, Offset: line.End}
	seen.Late = batch.Late
	if at, known := born(); known && !r.source.Shared { // else its records must do
		seen.Made = made(batch, at, time.Now())
	}
	return tidy(seen, r.agent.Name()), true
}

// quickSizer is an agent that often can tell the size of a session's context by the little that
// stands right before a line in its open file.
type quickSizer interface {
	WeighAt(agent.Line) (resume.Context, bool)
}

// weigh adds to a refusal that was just written what a resume has to read again, while the file is
// open. Of others, and where that stands far from it, that is looked for later.
func (r *reader) weigh(batch watch.Batch, told []resume.Observation) {
	sizer, ok := r.agent.(quickSizer)
	if !ok || batch.Back || len(told) == 0 || r.source.Shared {
		return
	}
	last := &told[len(told)-1]
	limited, ok := last.Event.(resume.Limited)
	if !ok {
		return
	}
	limited.Context, _ = sizer.WeighAt(agent.Line{Path: batch.Path, Offset: last.Pos.Offset, File: batch.File, ModTime: batch.ModTime})
	last.Event = limited
}

// longMade is how old a file is that nothing begins in: the engine remembers a
// session that rests for longer than that, but not for ever.
const longMade = 24 * time.Hour

// made returns when the session of a file was made, unless it began before our
// eyes, as its records tell.
func made(batch watch.Batch, born, now time.Time) time.Time {
	if batch.Late || batch.Back || now.Sub(born) > longMade {
		return born
	}
	return time.Time{}
}

// tidy makes what an agent says of a session fit to be kept and shown.
func tidy(seen resume.Observation, name string) resume.Observation {
	seen.Key.Agent = cmp.Or(seen.Key.Agent, name)
	seen.Provider = sanitize.Short(seen.Provider, longestProvider)
	if limited, ok := seen.Event.(resume.Limited); ok {
		limited.Text = sanitize.Short(limited.Text, sanitize.Sentence)
		seen.Event = limited
		seen.CwdBorn, _ = runner.BirthTime(seen.Cwd) // not known: it cannot be told from another
	}
	return seen
}
