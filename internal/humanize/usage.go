package humanize

import (
	"fmt"
	"math"
	"strings"
	"time"

	"resumed/internal/usage"
)

// Window names a window of an allowance.
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

// Percent says how much of a window is used. What is not all is never called that.
func Percent(used float64) string {
	if used < 100 {
		used = min(math.Round(used), 99)
	}
	return fmt.Sprintf("%.0f %%", used)
}

// Used says in short how much of each window is used.
func Used(windows []usage.Window) string {
	var parts []string
	for _, w := range windows {
		parts = append(parts, Percent(w.Used)+" of "+Window(w.Kind))
	}
	return strings.Join(parts, ", ")
}

// Fills says when a window will be full, within what range; empty: nobody expects it.
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
