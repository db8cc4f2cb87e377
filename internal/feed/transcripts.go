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
	"resumed/internal/lines"
	"resumed/internal/resume"
	"resumed/internal/runner"
	"resumed/internal/sanitize"
	"resumed/internal/watch"
)

// longestProvider bounds the length of a provider's name.
const longestProvider = 60

// reader turns the lines of an agent's files into observations.
type reader struct {
	agent  agent.FileAgent
	source agent.Source
	feeds  *Feeds
	log    *slog.Logger

	// What follows is owned by the watcher's goroutine.
	moves []watch.Line     // reused memory
	back  map[string]sight // observations of files that are read from their end back

	starting bool       // the files that existed at the start are read,
	read     []delivery // and the engine gets what was found in many of them at once
}

// delivery is what was found in a file, and how far it was read.
type delivery struct {
	path         string
	observations []resume.Observation
	cursor       json.RawMessage
}

// filesAtOnce is how many files of the start the engine gets at once: each call costs it more than a file does.
const filesAtOnce = 256

// sight is one reading of a file from its end back: its number, and what was observed so far, the
// oldest first.
type sight struct {
	number       uint32
	observations []resume.Observation
}

// transcripts makes the feed of an agent's files below one root.
func (f *Feeds) transcripts(a agent.FileAgent, src agent.Source, cursors Cursors) *feed {
	one := newFeed(a)
	r := &reader{
		agent: a, source: src, feeds: f,
		log: f.opts.Log.With("agent", a.Name()), back: make(map[string]sight), starting: true,
	}
	opts := watch.Options{
		Root:    src.Root,
		Depth:   src.Depth,
		Match:   src.Match,
		Known:   func(path string) (watch.Cursor, bool) { return r.known(cursors, path) },
		Deliver: r.deliver,
		Since:   f.opts.Since,
		Ready: func(ctx context.Context) {
			cursors, r.starting = nil, false // the watcher has the cursors now
			_ = r.pass(ctx)                  // what the engine did not take, it gets with the next file
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
			return nil // another root of the agent has it
		}
		err = watcher.Check(ctx, session.Transcript)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // nothing new to read; the plan deals with a missing transcript
		}
		return err
	}
	return one
}

func (r *reader) known(cursors Cursors, path string) (cursor watch.Cursor, ok bool) {
	data, ok := cursors[path]
	if cursors == nil {
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

// deliver passes what new lines mean to the engine, and only then stores their cursor:
// after a crash between the two the lines are read again, and the engine skips what it
// knows.
func (r *reader) deliver(ctx context.Context, batch watch.Batch) (enough bool, err error) {
	if r.feeds.foreign(r.agent.Name(), batch.Path, r.feeds.opts.Trust().OwnerOf(batch.Path, batch.Info)) {
		return true, nil // no cursor is stored: when the owner is corrected, the next daemon reads it
	}
	observations := r.digest(batch)
	r.weigh(batch, observations)
	back := r.back[batch.Path]
	if back.number != batch.Sight {
		back = sight{number: batch.Sight} // an earlier one was not finished
	}
	if batch.Back {
		back.observations = append(observations, back.observations...)
		r.back[batch.Path] = back
		return len(back.observations) > 0 && !r.source.Shared, nil
	}
	all := append(markFirst(back.observations), observations...)
	if batch.RenamedFrom != "" {
		all = append([]resume.Observation{{
			Key: resume.Key{Agent: r.agent.Name()}, Transcript: batch.Path, Event: resume.Renamed{From: batch.RenamedFrom},
		}}, all...)
	}
	cursor, err := json.Marshal(batch.Cursor)
	if err != nil {
		return false, err
	}
	r.read = append(r.read, delivery{batch.Path, all, cursor})
	if !r.starting || len(r.read) >= filesAtOnce {
		if err := r.pass(ctx); err != nil {
			r.read = r.read[:len(r.read)-1] // the watcher reads this file again
			return false, err
		}
	}
	delete(r.back, batch.Path)
	return true, nil
}

// pass gives the engine what was read.
func (r *reader) pass(ctx context.Context) error {
	var all []resume.Observation
	for _, file := range r.read {
		all = append(all, file.observations...)
	}
	if err := r.feeds.observe(ctx, all); err != nil {
		return err
	}
	for _, file := range r.read {
		r.feeds.keep(file.path, file.path, file.cursor)
	}
	r.read = nil
	return nil
}

// markFirst marks refusals as found at a first reading: they may be old.
func markFirst(observations []resume.Observation) []resume.Observation {
	for i, s := range observations {
		if limited, ok := s.Event.(resume.Limited); ok {
			limited.First = true
			observations[i].Event = limited
		}
	}
	return observations
}

// digest decodes the lines that may matter. Of several lines in a row that can only be movement,
// the last one that really moves is enough; in a file that is read from its end back, one with
// movement after it is not needed at all.
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
		_, aside := seen.Event.(resume.SubagentEnded)
		if ok && !(aside && batch.Back) { // it is no evidence of how the session itself ended
			observations = append(observations, seen)
		}
	}
	flush()
	return observations
}

func (r *reader) observe(batch watch.Batch, line watch.Line, born func() (time.Time, bool)) (resume.Observation, bool) {
	var before []byte
	if ahead := line.Offset - batch.BlockAt; ahead > 0 && ahead <= int64(len(batch.Block)) {
		before = batch.Block[:ahead]
	}
	seen, ok := r.agent.Observe(r.source, lines.Line{
		Path:    batch.Path,
		Before:  before,
		Offset:  line.Offset,
		Data:    line.Data,
		Cut:     line.Cut,
		ModTime: batch.Info.ModTime(),
		File:    batch.File,
	})
	if !ok || seen.Key.ID == "" {
		return resume.Observation{}, false
	}
	seen.Account = cmp.Or(seen.Account, r.source.Account)
	seen.Transcript = cmp.Or(seen.Transcript, batch.Path)
	seen.Pos = resume.Position{Epoch: batch.Epoch, Offset: line.End}
	seen.Late = batch.Late
	if at, known := born(); known && !r.source.Shared { // else its records say when it began
		seen.Made = made(batch, at, time.Now())
	}
	return tidy(seen, r.agent.Name()), true
}

// quickSizer is an agent that often can tell the size of a session's context by the little that
// stands right before a line in its open file.
type quickSizer interface {
	WeighAt(lines.Line) (resume.Context, bool)
}

// weigh adds the size of the conversation to a refusal that was just written, while the file is open.
// In other cases it is read later.
func (r *reader) weigh(batch watch.Batch, observations []resume.Observation) {
	sizer, ok := r.agent.(quickSizer)
	if !ok || batch.Back || len(observations) == 0 || r.source.Shared {
		return
	}
	last := &observations[len(observations)-1]
	limited, ok := last.Event.(resume.Limited)
	if !ok {
		return
	}
	limited.Context, _ = sizer.WeighAt(lines.Line{Path: batch.Path, Offset: last.Pos.Offset, File: batch.File, ModTime: batch.Info.ModTime()})
	last.Event = limited
}

// longMade is the age from which a file is not new: the engine remembers an idle session for longer
// than that, but not for ever.
const longMade = 24 * time.Hour

// made returns when the session of a file was made; zero if the file is new, as then its records
// say it.
func made(batch watch.Batch, born, now time.Time) time.Time {
	if batch.Late || batch.Back || now.Sub(born) > longMade {
		return born
	}
	return time.Time{}
}

// tidy makes what an agent says of a session safe to store and show.
func tidy(seen resume.Observation, name string) resume.Observation {
	seen.Key.Agent = cmp.Or(seen.Key.Agent, name)
	seen.Provider = sanitize.Short(seen.Provider, longestProvider)
	if limited, ok := seen.Event.(resume.Limited); ok {
		limited.Text = sanitize.Short(limited.Text, sanitize.Sentence)
		seen.Event = limited
		seen.CwdBorn, _ = runner.BirthTime(seen.Cwd) // zero if it is not known
	}
	return seen
}
