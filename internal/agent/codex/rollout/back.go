package rollout

import (
	"context"
	"slices"
	"time"

	"resumed/internal/lines"
)

// visit visits the records of these kinds, the last first, until read returns false.
func visit(ctx context.Context, in lines.Span, read func(record, lines.Line) bool, kinds ...string) error {
	may := func(line []byte) bool {
		return slices.ContainsFunc(kinds, func(kind string) bool { return mayBe(line, kind) })
	}
	return lines.Records(ctx, in, may, func(r record, line lines.Line) bool {
		return !slices.Contains(kinds, r.kind()) || read(r, line)
	})
}

// LastTurn returns the last turn_context of a rollout.
func LastTurn(ctx context.Context, path string) (t Turn, found bool, err error) {
	return turnIn(ctx, lines.Whole(path))
}

// turnIn returns the last turn_context of a span.
func turnIn(ctx context.Context, in lines.Span) (t Turn, found bool, err error) {
	err = visit(ctx, in, func(r record, _ lines.Line) bool {
		t, found = r.Payload.Turn, true
		return false
	}, turnContext)
	return t, found, err
}

// cwd returns the directory of the line's turn. Codex moves a session to the directory in which it
// was last continued.
func (rd *Reader) cwd(h Head, line lines.Line) string {
	return rd.dirs.Before(line, h.Cwd, func(in lines.Span) (string, bool, error) {
		t, found, err := turnIn(context.Background(), in)
		return t.Cwd, found, err
	})
}

// Works reports whether a turn has begun and not ended. Codex waits and retries within a turn, and
// writes nothing meanwhile.
func Works(ctx context.Context, path string) (runs bool, err error) {
	err = visit(ctx, lines.Whole(path), func(r record, _ lines.Line) bool {
		runs = r.kind() == taskStarted
		return false
	}, taskStarted, "task_complete", "turn_aborted")
	return runs, err
}

// OpenTurn reports whether a turn has begun and not ended, and when its last record was written.
func OpenTurn(ctx context.Context, path string) (at time.Time, open bool, err error) {
	if open, err = Works(ctx, path); !open || err != nil {
		return at, false, err
	}
	err = lines.Records(ctx, lines.Last(path, maxSince), func([]byte) bool { return true }, func(r record, line lines.Line) bool {
		at = r.at(line.ModTime)
		return at.IsZero()
	})
	return at, !at.IsZero() && err == nil, err
}

// maxSince bounds how many lines before the end of a turn are searched for its limits: Codex writes
// them close to it.
const maxSince = 200

// limitsBefore returns the last state of the limits before a line, within the same turn. It is
// written just before the turn's end; that of an earlier turn does not apply.
func limitsBefore(line lines.Line) (limits RateLimits) {
	// If the file cannot be read, the text of the refusal remains.
	_ = visit(context.Background(), lines.Span{Before: line, Lines: maxSince}, func(r record, _ lines.Line) bool {
		limits = r.Payload.Limits // the beginning of a turn has none
		return false
	}, tokenCount, taskStarted)
	return limits
}

// followsTurnContext reports whether the line before is a turn_context, which begins a request in
// versions that write no events at the end of turns.
func followsTurnContext(line lines.Line) bool {
	_, follows, _ := turnIn(context.Background(), lines.Span{Before: line, Lines: 1})
	return follows
}
