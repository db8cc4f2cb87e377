package rollout

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

// mustBuy reports whether the limit is one that is lifted by paying or by an
// administrator, not by waiting.
func (l RateLimits) mustBuy(reader limit.Reader) bool {
	return l.Spent || reader.Refusal(limit.Refusal{Code: l.Reached}).Class == limit.Billing
}

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
	last := all(path)
	last.lines = lines
	return last.visit(ctx, func(r record, line agent.Line) bool {
		for _, reading := range r.Payload.Limits.readings(r.at(line.ModTime)) {
			if !more(reading) {
				return false
			}
		}
		return true
	}, tokenCount)
}
