package humanize

import (
	"fmt"
	"math"
	"strings"
	"time"

	"resumed/internal/resume/view"
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

// Queue returns how many tasks are in each state; empty: there are none.
func Queue(queued, starting, failed int, next *time.Time, now time.Time) string {
	var parts []string
	for i, n := range []int{queued, starting, failed} {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, []string{"waiting", "being started", "failed"}[i]))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	words := "queue: " + strings.Join(parts, ", ")
	if queued > 0 && next != nil && next.After(now) {
		words += ", none before " + Clock(*next, now)
	}
	return words + " (resumed queue)"
}

// OwnKey returns how a session continues at its user's own cost, or could; empty: it cannot, and never
// could.
func OwnKey(v *view.OwnKey) string {
	switch {
	case v == nil:
		return ""
	case v.Active && v.Until != nil:
		return fmt.Sprintf("it continues with your own key, at your cost, until its limit is over at %s; it may still cost %s (budget: %s)",
			stampOf(*v.Until), dollars(v.Left), v.Budget)
	case v.Command == "":
		return "it cannot continue with your own key: " + v.Instead
	default:
		return fmt.Sprintf("%s continues it now with your own key, at your cost: %s, at most %s (budget: %s)",
			v.Command, Estimate(v), dollars(v.Left), v.Budget)
	}
}

// Estimate returns what it would cost to continue, as far as known.
func Estimate(v *view.OwnKey) string {
	if v.AnHour == nil {
		return "not known how much"
	}
	return fmt.Sprintf("an estimated %s for an hour of work", dollars(*v.AnHour))
}

func dollars(sum float64) string { return fmt.Sprintf("%.2f USD", sum) }
