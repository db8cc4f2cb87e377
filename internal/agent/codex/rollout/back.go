package rollout

import (
	"context"
	"math"
	"slices"

	"resumed/internal/agent"
)

// span is what of a rollout is looked through, from its end back.
type span struct {
	before agent.Line // the line after the last that is looked at
	lines  int        // how many are looked at most
	since  int64      // the offset before which none is looked at
}

// all is the whole rollout.
func all(path string) span {
	return span{before: agent.Line{Path: path, Offset: math.MaxInt64}, lines: math.MaxInt}
}

// visit visits the records of these kinds, the last first, until read returns false.
func (s span) visit(ctx context.Context, read func(record, agent.Line) bool, kinds ...string) error {
	visited := 0
	return agent.LinesBefore(ctx, s.before, func(line agent.Line) bool {
		visited++
		if line.Offset < s.since {
			return false
		}
		may := func(kind string) bool { return mayBe(line.Data, kind) }
		if line.Cut || !slices.ContainsFunc(kinds, may) {
			return visited < s.lines
		}
		r, ok := parse(line.Data)
		return (!ok || !slices.Contains(kinds, r.kind()) || read(r, line)) && visited < s.lines
	})
}

// LastTurn returns the last turn_context of a rollout.
func LastTurn(ctx context.Context, path string) (t Turn, found bool, err error) {
	return all(path).turn(ctx)
}

// turn returns the last turn_context of the span.
func (s span) turn(ctx context.Context) (t Turn, found bool, err error) {
	err = s.visit(ctx, func(r record, _ agent.Line) bool {
		t, found = r.Payload.Turn, true
		return false
	}, turnContext)
	return t, found, err
}

// workDir is the directory of the turn that a line before the offset until belongs to.
type workDir struct {
	cwd   string
	until int64
}

// cwd returns the directory of the turn that the line belongs to. Codex moves a
// session to wherever it was last continued. A turn may be long: what was looked through is
// not looked through again.
func (rd *Reader) cwd(h Head, line agent.Line) string {
	known, ok := rd.dirs.Get(line.Path)
	if !ok || line.Offset < known.until {
		known = workDir{cwd: h.Cwd}
	}
	t, found, err := span{before: line, lines: math.MaxInt, since: known.until}.turn(context.Background())
	if err != nil {
		return known.cwd
	}
	if found {
		known.cwd = t.Cwd
	}
	known.until = line.Offset
	rd.dirs.Put(line.Path, known)
	return known.cwd
}

// Works reports whether a turn was begun that is not over. Codex waits and
// retries within one, and writes nothing meanwhile.
func Works(ctx context.Context, path string) (runs bool, err error) {
	err = all(path).visit(ctx, func(r record, _ agent.Line) bool {
		runs = r.kind() == taskStarted
		return false
	}, taskStarted, "task_complete", "turn_aborted")
	return runs, err
}

// maxSince bounds how many lines before the end of a turn are looked at for
// its limits: Codex writes them next to it.
const maxSince = 200

// limitsBefore returns what was said of the limits last before a line, within
// the turn that it belongs to. It is written just before the turn's end; what
// an earlier turn was told says nothing about this one.
func limitsBefore(line agent.Line) (limits RateLimits) {
	// A file that cannot be read says nothing: the words of the refusal remain.
	_ = span{before: line, lines: maxSince}.visit(context.Background(), func(r record, _ agent.Line) bool {
		limits = r.Payload.Limits // of the begin of a turn there are none
		return false
	}, tokenCount, taskStarted)
	return limits
}

// followsTurnContext reports whether the line before is what a request begins
// with in versions that write no events at the ends of turns.
func followsTurnContext(line agent.Line) bool {
	_, follows, _ := span{before: line, lines: 1}.turn(context.Background())
	return follows
}
