package rollout

import (
	"context"
	"time"

	"resumed/internal/agent"
	"resumed/internal/resume"
	"resumed/internal/usage"
)

// aWeek is what a window lasts at least that is called weekly.
const aWeek = 6 * 24 * time.Hour

// Usage returns what the provider last said of the week to the session of a rollout: which of the two windows that
// is differs from plan to plan.
func Usage(ctx context.Context, path string) (found resume.Usage, known bool, err error) {
	err = readLimits(ctx, path, maxSince, func(r usage.Reading) bool {
		if known = r.Length >= aWeek; known {
			found = resume.Usage{At: r.At, WeekUsed: r.Used, WeekResetsAt: r.ResetsAt}
		}
		return !known
	})
	return found, known, err
}

// maxHistory bounds how many lines are looked at for the pace at which the allowances
// are used: Codex tells them with each answer.
const maxHistory = 2000

// Readings returns what the provider said of the windows in the last of a rollout.
func Readings(ctx context.Context, path string) (all []usage.Reading, err error) {
	err = readLimits(ctx, path, maxHistory, func(r usage.Reading) bool {
		all = append(all, r)
		return true
	})
	return all, err
}

// readLimits passes on what was said of the windows within the last lines of a rollout, the
// newest first, until there is enough.
func readLimits(ctx context.Context, path string, lines int, more func(usage.Reading) bool) error {
	visited, going := 0, true
	return agent.LinesBack(ctx, path, func(line agent.Line) bool {
		visited++
		if line.Cut || !mayBe(line.Data, "event_msg", "token_count") {
			return visited < lines
		}
		if r, ok := parse(line.Data); ok && r.event() == "token_count" {
			for _, reading := range r.Payload.Limits.readings(r.at(line.ModTime)) {
				going = going && more(reading)
			}
		}
		return going && visited < lines
	})
}

// maxSince bounds how many lines before the end of a turn are looked at for
// its limits: Codex writes them next to it.
const maxSince = 200

// limitsBefore returns what was said of the limits last before a line, within
// the turn that it belongs to. It is written just before the turn's end; what
// an earlier turn was told says nothing about this one.
func limitsBefore(line agent.Line) (limits RateLimits, found bool) {
	visited := 0
	// A file that cannot be read says nothing: the words of the refusal remain.
	_ = agent.LinesBefore(context.Background(), line, func(before agent.Line) bool {
		visited++
		if mayBe(before.Data, "event_msg", "task_started") {
			return false
		}
		if mayBe(before.Data, "event_msg", "token_count") && !before.Cut {
			r, ok := parse(before.Data)
			found = ok && r.event() == "token_count"
			limits = r.Payload.Limits
		}
		return !found && visited < maxSince
	})
	return limits, found
}

// followsTurnContext reports whether the line before is what a request begins
// with in versions that write no events at the ends of turns.
func followsTurnContext(line agent.Line) bool {
	follows := false
	_ = agent.LinesBefore(context.Background(), line, func(before agent.Line) bool {
		follows = mayBe(before.Data, "turn_context", "")
		return false
	})
	return follows
}
