package rollout

import (
	"context"
	"math"
	"slices"

	"resumed/internal/agent"
)

// turnBefore returns the last turn_context before a line, and where it
// stands. Lines before since are not looked at.
func turnBefore(ctx context.Context, last agent.Line, since int64) (t Turn, at int64, found bool, err error) {
	err = agent.LinesBefore(ctx, last, func(line agent.Line) bool {
		if line.Offset < since {
			return false
		}
		if line.Cut || !mayBe(line.Data, "turn_context", "") {
			return true
		}
		r, ok := parse(line.Data)
		found = ok && r.Type == "turn_context"
		t, at = r.Payload.Turn, line.Offset
		return !found
	})
	return t, at, found, err
}

// LastTurn returns the last turn_context of a rollout.
func LastTurn(ctx context.Context, path string) (t Turn, found bool, err error) {
	t, _, found, err = turnBefore(ctx, agent.Line{Path: path, Offset: math.MaxInt64}, 0)
	return t, found, err
}

// begins notes the directory of the turn that begins with the line.
func (rd *Reader) begins(t Turn, line agent.Line) {
	known, ok := rd.dirs.Get(line.Path)
	if ok && line.Offset <= known.from {
		return
	}
	rd.dirs.Put(line.Path, workDir{cwd: t.Cwd, from: line.Offset, until: max(line.Offset, known.until)})
}

// cwd returns the directory of the turn that the line belongs to. Codex moves a
// session to wherever it was last continued.
func (rd *Reader) cwd(h Head, line agent.Line) string {
	known, ok := rd.dirs.Get(line.Path)
	switch {
	case !ok:
		known = workDir{cwd: h.Cwd, from: -1}
	case line.Offset <= known.from: // a look back
		t, _, found, err := turnBefore(context.Background(), line, 0)
		if err != nil || !found {
			return h.Cwd
		}
		return t.Cwd
	case line.Offset <= known.until, line.Offset-line.Shown <= known.until:
		return known.cwd
	}
	t, at, found, err := turnBefore(context.Background(), line, known.until)
	if err != nil {
		return known.cwd
	}
	if found {
		known.cwd, known.from = t.Cwd, at
	}
	known.until = line.Offset
	rd.dirs.Put(line.Path, known)
	return known.cwd
}

// turnEdges are the events that begin a turn and that end one.
var turnEdges = []string{"task_started", "task_complete", "turn_aborted"}

// Works reports whether a turn was begun that is not over. Codex waits and
// retries within one, and writes nothing meanwhile.
func Works(ctx context.Context, rollout string) (runs bool, err error) {
	err = agent.LinesBack(ctx, rollout, func(line agent.Line) bool {
		if line.Cut || !slices.ContainsFunc(turnEdges, func(kind string) bool { return mayBe(line.Data, "event_msg", kind) }) {
			return true
		}
		r, _ := parse(line.Data)
		runs = r.event() == turnEdges[0]
		return !slices.Contains(turnEdges, r.event())
	})
	return runs, err
}
