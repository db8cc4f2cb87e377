package account

import (
	"encoding/json"
	"time"

	"resumed/internal/limit"
	"resumed/internal/usage"
)

// StatusLine reads what Claude Code gives to the command of its status line: the session,
// and what its account was told of each window with the last answer.
func StatusLine(said []byte, now time.Time) (session string, all []usage.Reading) {
	var input struct {
		Session string `json:"session_id"`
		Limits  struct {
			FiveHour shownWindow `json:"five_hour"`
			SevenDay shownWindow `json:"seven_day"`
		} `json:"rate_limits"`
	}
	if json.Unmarshal(said, &input) != nil {
		return "", nil
	}
	for length, shown := range map[time.Duration]shownWindow{shortWindow: input.Limits.FiveHour, longWindow: input.Limits.SevenDay} {
		if resetsAt, ok := limit.Epoch(shown.ResetsAt); ok {
			all = append(all, usage.Reading{Kind: usage.Kind(length), Length: length, Used: shown.Used, ResetsAt: resetsAt, At: now})
		}
	}
	return input.Session, all
}

// shownWindow is one of them.
type shownWindow struct {
	Used     float64 `json:"used_percentage"`
	ResetsAt float64 `json:"resets_at"` // epoch seconds
}
