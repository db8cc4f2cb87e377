package humanize

import (
	"fmt"
	"math"
	"strings"
	"time"

	"resumed/internal/usage"
)

// Window returns the name of an allowance's window.
func Window(kind string) string {
	switch kind {
	case usage.FiveHours:
		return "5 hours"
	case usage.SevenDays:
		return "7 days"
	default:
		return Plain(kind)
	}
}

// Percent returns how much of a window is used. It is 100 % only if all is used.
func Percent(used float64) string {
	if used < 100 {
		used = min(math.Round(used), 99)
	}
	return fmt.Sprintf("%.0f %%", used)
}

// Used returns in short how much of each window is used.
func Used(windows []usage.Window) string {
	var parts []string
	for _, w := range windows {
		parts = append(parts, Percent(w.Used)+" of "+Window(w.Kind))
	}
	return strings.Join(parts, ", ")
}

// Banked returns how many resets an account has; empty: not known, or none.
func Banked(resets *int) string {
	if resets == nil || *resets == 0 {
		return ""
	}
	return Count(*resets, "reset") + " in the bank"
}

// Fills returns when a window will be full, and the range; empty: not expected.
func Fills(w usage.Window, now time.Time) string {
	if w.FullAt == nil {
		return ""
	}
	at := ShortClock(*w.FullAt, now)
	if from, to := ShortClock(*w.Earliest, now), ShortClock(*w.Latest, now); from != to {
		at += fmt.Sprintf(" (%s to %s)", from, to)
	}
	return at
}
