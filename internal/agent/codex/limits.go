package codex

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"resumed/internal/agent"
	"resumed/internal/limit"
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
	ResetsAt json.RawMessage `json:"resets_at"` // epoch seconds
}

const usedUp = 100

// exhausted returns when the last of the windows that are used up opens again.
func (l RateLimits) exhausted() (time.Time, bool) {
	var latest time.Time
	for _, w := range [...]Window{l.Primary, l.Secondary} {
		n, err := strconv.ParseFloat(string(w.ResetsAt), 64)
		if w.Used < usedUp || err != nil {
			continue
		}
		if at, ok := limit.Epoch(n); ok && at.After(latest) {
			latest = at
		}
	}
	return latest, !latest.IsZero()
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
	_ = agent.LinesBefore(context.Background(), line.Path, line.Offset, func(before agent.Line) bool {
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
	_ = agent.LinesBefore(context.Background(), line.Path, line.Offset, func(before agent.Line) bool {
		follows = mayBe(before.Data, "turn_context", "")
		return false
	})
	return follows
}
