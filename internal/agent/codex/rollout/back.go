package rollout

import (
	"context"
	"math"
	"slices"

	"resumed/internal/agent"
)

// span is the part of a rollout that is read, from its end backwards.
type span struct {
	before agent.Line // the line after the part
	lines  int        // the maximum number of lines
	since  int64      // the offset of the first line
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

// cwd returns the directory of the line's turn. Codex moves a session to the directory in which it
// was last continued. A turn may be long, so the part that was read already is not read again.
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

// Works reports whether a turn has begun and not ended. Codex waits and retries within a turn, and
// writes nothing meanwhile.
func Works(ctx context.Context, path string) (runs bool, err error) {
	err = all(path).visit(ctx, func(r record, _ agent.Line) bool {
		runs = r.kind() == taskStarted
		return false
	}, taskStarted, "task_complete", "turn_aborted")
	return runs, err
}

// maxSince bounds how many lines before the end of a turn are searched for its limits: Codex writes
// them close to it.
const maxSince = 200

// limitsBefore returns the last state of the limits before a line, within the same turn. It is
// written just before the turn's end; that of an earlier turn does not apply.
func limitsBefore(line agent.Line) (limits RateLimits) {
	// If the file cannot be read, the text of the refusal remains.
	_ = span{before: line, lines: maxSince}.visit(context.Background(), func(r record, _ agent.Line) bool {
		limits = r.Payload.Limits // the beginning of a turn has none
		return false
	}, tokenCount, taskStarted)
	return limits
}

// followsTurnContext reports whether the line before is a turn_context, which begins a request in
// versions that write no events at the end of turns.
func followsTurnContext(line agent.Line) bool {
	_, follows, _ := span{before: line, lines: 1}.turn(context.Background())
	return follows
}
