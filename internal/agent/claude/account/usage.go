package account

import (
	"context"
	"encoding/json"
	"path/filepath"
	"time"

	"resumed/internal/agent/claude/transcript"
	"resumed/internal/resume"
	"resumed/internal/usage"
)

// shortWindow is how long the window lasts before whose end Claude Code lets a turn end.
// longWindow is the other one that it keeps an eye on.
const shortWindow, longWindow = 5 * time.Hour, 7 * 24 * time.Hour

// Usage returns what Claude Code keeps of the account's allowances. Of a turn that it
// let end near the limit it tells when that limit lifts: the record does not.
func (a *Account) Usage(_ context.Context, s resume.Session) (resume.Usage, bool, error) {
	told, ok := a.told(s)
	if !ok {
		return resume.Usage{}, false, nil
	}
	found := resume.Usage{
		At: time.UnixMilli(told.FetchedAt), WeekUsed: told.Utilization.SevenDay.Used, WeekResetsAt: told.Utilization.SevenDay.ResetsAt,
	}
	lifts := told.Utilization.FiveHour.ResetsAt
	if transcript.LetEnd(s.LimitText) && lifts.After(s.LimitedAt) && lifts.Sub(s.LimitedAt) <= shortWindow {
		found.Lifts = lifts // else it is of an earlier window
	}
	return found, !found.WeekResetsAt.IsZero() || !found.Lifts.IsZero(), nil
}

// Readings returns what Claude Code keeps of each window.
func (a *Account) Readings(_ context.Context, s resume.Session) (all []usage.Reading, err error) {
	told, ok := a.told(s)
	if !ok {
		return nil, nil
	}
	for length, window := range map[time.Duration]allowance{shortWindow: told.Utilization.FiveHour, longWindow: told.Utilization.SevenDay} {
		if !window.ResetsAt.IsZero() {
			all = append(all, usage.Reading{
				Kind: usage.Kind(length), Length: length, Used: window.Used, ResetsAt: window.ResetsAt, At: time.UnixMilli(told.FetchedAt),
			})
		}
	}
	return all, nil
}

// told returns what the session's account was told last, or false where nobody asked.
func (a *Account) told(s resume.Session) (cached, bool) {
	root := filepath.Dir(filepath.Dir(filepath.Dir(s.Transcript)))
	return a.usage.Read(a.ConfigFile(root), func(data []byte) (cached, bool) {
		var config struct {
			Cached cached `json:"cachedUsageUtilization"`
		}
		err := json.Unmarshal(data, &config) // it may be being written
		return config.Cached, err == nil && config.Cached.FetchedAt > 0
	})
}

// ConfigFile returns the file of a home that Claude Code keeps what it knows in.
func (a *Account) ConfigFile(home string) string {
	if home == filepath.Join(a.of.UserDir, ".claude") {
		return filepath.Join(a.of.UserDir, ".claude.json") // beside the usual one,
	}
	return filepath.Join(home, ".claude.json") // and in one that was moved
}
