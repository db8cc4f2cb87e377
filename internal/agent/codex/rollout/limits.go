package rollout

import (
	"encoding/json"
	"strconv"
	"time"

	"resumed/internal/limit"
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
