package rollout

import (
	"context"
	"slices"
	"time"

	"resumed/internal/limit"
	"resumed/internal/lines"
	"resumed/internal/resume"
	"resumed/internal/usage"
)

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

func turnIn(ctx context.Context, in lines.Span) (t Turn, found bool, err error) {
	err = visit(ctx, in, func(r record, _ lines.Line) bool {
		t, found = r.Payload.Turn, true
		return false
	}, turnContext)
	return t, found, err
}

// Codex moves a session to the directory in which it was last continued.
func (rd *Reader) cwd(h Head, line lines.Line) string {
	return rd.dirs.Before(line, h.Cwd, func(in lines.Span, _ string) (string, bool, error) {
		t, found, err := turnIn(context.Background(), in)
		return t.Cwd, found, err
	})
}

// Works reports whether a turn has not ended. Codex retries within a turn, and writes nothing meanwhile.
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

// maxSince bounds the search for the limits of a turn: Codex writes them close to its end.
const maxSince = 200

// limitsBefore: that of an earlier turn does not apply.
func limitsBefore(line lines.Line) (limits rateLimits) {
	// If the file cannot be read, the text of the refusal remains.
	_ = visit(context.Background(), lines.Span{Before: line, Lines: maxSince}, func(r record, _ lines.Line) bool {
		limits = r.Payload.Limits // the beginning of a turn has none
		return false
	}, tokenCount, taskStarted)
	return limits
}

// In versions that write no events at the end of turns, a turn_context begins a request.
func followsTurnContext(line lines.Line) bool {
	_, follows, _ := turnIn(context.Background(), lines.Span{Before: line, Lines: 1})
	return follows
}

// rateLimits is the last state of the account's limits, from the provider.
type rateLimits struct {
	Primary   Window `json:"primary"`
	Secondary Window `json:"secondary"`
	Spent     bool   `json:"spend_control_reached"`
	Reached   string `json:"rate_limit_reached_type"`
}

// Window is one allowance, of five hours or a week.
type Window struct {
	Used     float64 `json:"used_percent"`
	Minutes  float64 `json:"window_minutes"`
	ResetsAt float64 `json:"resets_at"` // epoch seconds
}

const usedUp = 100

func (l rateLimits) exhausted() (time.Time, bool) {
	var latest time.Time
	for _, w := range [...]Window{l.Primary, l.Secondary} {
		if at, ok := limit.Epoch(w.ResetsAt); ok && w.Used >= usedUp && at.After(latest) {
			latest = at
		}
	}
	return latest, !latest.IsZero()
}

func (l rateLimits) readings(at time.Time) (all []usage.Reading) {
	for _, w := range [...]Window{l.Primary, l.Secondary} {
		resetsAt, ok := limit.Epoch(w.ResetsAt)
		length := time.Duration(min(w.Minutes, maxMinutes) * float64(time.Minute))
		if ok && length > 0 {
			all = append(all, usage.Reading{Kind: usage.Kind(length), Length: length, Used: w.Used, ResetsAt: resetsAt, At: at})
		}
	}
	return all
}

const maxMinutes = 1e7

func (l rateLimits) mustBuy(reader limit.Reader) bool {
	return l.Spent || reader.Refusal(limit.Refusal{Code: l.Reached}).Class == limit.Billing
}

const aWeek = 6 * 24 * time.Hour

// Usage returns the last state of the weekly window: which of the two it is depends on the plan.
func Usage(ctx context.Context, path string) (found resume.Usage, known bool, err error) {
	err = readLimits(ctx, path, maxSince, func(r usage.Reading) bool {
		if known = r.Length >= aWeek; known {
			found = resume.Usage{At: r.At, WeekUsed: r.Used, WeekResetsAt: r.ResetsAt}
		}
		return !known
	})
	return found, known, err
}

// maxHistory bounds the search for how fast allowances are used: Codex writes them with each answer.
const maxHistory = 2000

// Readings returns the states of the windows in the last part of a rollout.
func Readings(ctx context.Context, path string) (all []usage.Reading, err error) {
	err = readLimits(ctx, path, maxHistory, func(r usage.Reading) bool {
		all = append(all, r)
		return true
	})
	return all, err
}

func readLimits(ctx context.Context, path string, most int, more func(usage.Reading) bool) error {
	return visit(ctx, lines.Last(path, most), func(r record, line lines.Line) bool {
		for _, reading := range r.Payload.Limits.readings(r.at(line.ModTime)) {
			if !more(reading) {
				return false
			}
		}
		return true
	}, tokenCount)
}

// verdict returns the meaning of the error that ended a turn. Codex's own name for it has precedence;
// for "other" and generic names the text decides. limits returns the state of the account's limits at
// the end of the turn.
func (f failure) verdict(reader limit.Reader, limits func() rateLimits) limit.Verdict {
	name, status := f.info()
	v := reader.Refusal(limit.Refusal{Status: status, Code: code(name), Text: f.Message})
	v.Class = class(name, v.Class)
	v.InProgress = false // Codex writes this when it has given up
	if name == "usage_limit_exceeded" || v.Class == limit.UsageLimit && !v.Reset.Stated() {
		l := limits()
		// The text rounds the time down to the minute, in a zone that it does not name.
		if at, ok := l.exhausted(); ok {
			v.Reset = limit.Reset{At: at, Source: limit.Structured}
		}
		if l.mustBuy(reader) {
			v.Class = limit.Billing
		}
	}
	v.WaitHelps = v.Class.Transient()
	return v
}

// code returns the name if it is specific to the refusal.
func code(name string) string {
	switch name {
	case "other", "usage_limit_exceeded", "http_connection_failed":
		return ""
	default:
		return name
	}
}

// class returns the class of an error by its name and by the class from its text and status.
func class(name string, words limit.Class) limit.Class {
	switch name {
	case "usage_limit_exceeded":
		// It is used for limits of the plan, and for quota and credits that must be bought.
		if words != limit.Billing {
			return limit.UsageLimit
		}
	case "http_connection_failed", "response_stream_connection_failed", "response_stream_disconnected":
		if words == limit.None || words == limit.Unknown {
			return limit.Network
		}
	}
	if words == limit.None {
		return limit.Unknown // it failed without a reason
	}
	return words
}
