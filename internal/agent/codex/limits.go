package codex

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"resumed/internal/agent"
	"resumed/internal/limit"
	"resumed/internal/resume"
	"resumed/internal/usage"
)

// RateLimits is what the provider last said of the account's limits.
type RateLimits struct {
	Primary   Window `json:"primary"`
	Secondary Window `json:"secondary"`
	Spent     bool   `json:"spend_control_reached"`
	Reached   string `json:"rate_limit_reached_type"`
}

// Window is one allowance: of five hours, of a week.
type Window struct {
	Used     float64         `json:"used_percent"`
	Minutes  float64         `json:"window_minutes"`
	ResetsAt json.RawMessage `json:"resets_at"` // epoch seconds
}

const usedUp = 100

// exhausted returns when the last of the windows that are used up opens again.
func (l RateLimits) exhausted() (time.Time, bool) {
	var latest time.Time
	for _, w := range [...]Window{l.Primary, l.Secondary} {
		if at, ok := w.resetsAt(); ok && w.Used >= usedUp && at.After(latest) {
			latest = at
		}
	}
	return latest, !latest.IsZero()
}

func (w Window) resetsAt() (time.Time, bool) {
	n, err := strconv.ParseFloat(string(w.ResetsAt), 64)
	if err != nil {
		return time.Time{}, false
	}
	return limit.Epoch(n)
}

// readings are what was said of the windows, at that time.
func (l RateLimits) readings(at time.Time) (all []usage.Reading) {
	for _, w := range [...]Window{l.Primary, l.Secondary} {
		resetsAt, ok := w.resetsAt()
		length := time.Duration(min(w.Minutes, maxMinutes) * float64(time.Minute))
		if ok && length > 0 {
			all = append(all, usage.Reading{Kind: usage.Kind(length), Length: length, Used: w.Used, ResetsAt: resetsAt, At: at})
		}
	}
	return all
}

// maxMinutes is more than any window lasts.
const maxMinutes = 1e7

// aWeek is what a window lasts at least that is called weekly.
const aWeek = 6 * 24 * time.Hour

// Usage returns what the provider last said of the week: which of the two windows that
// is differs from plan to plan.
func (a *Agent) Usage(ctx context.Context, s resume.Session) (found resume.Usage, known bool, err error) {
	err = readLimits(ctx, s, maxSince, func(r usage.Reading) bool {
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

// Readings returns what the provider said of the windows in the last of the session.
func (a *Agent) Readings(ctx context.Context, s resume.Session) (all []usage.Reading, err error) {
	err = readLimits(ctx, s, maxHistory, func(r usage.Reading) bool {
		all = append(all, r)
		return true
	})
	return all, err
}

// readLimits passes on what was said of the windows within the last lines of the session, the
// newest first, until there is enough.
func readLimits(ctx context.Context, s resume.Session, lines int, more func(usage.Reading) bool) error {
	visited, going := 0, true
	return agent.LinesBack(ctx, s.Transcript, func(line agent.Line) bool {
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

// mustBuy reports whether the limit is one that is lifted by paying or by an
// administrator, not by waiting.
func (l RateLimits) mustBuy(reader limit.Reader) bool {
	return l.Spent || reader.Refusal(limit.Refusal{Code: l.Reached}).Class == limit.Billing
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
