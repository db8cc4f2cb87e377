package humanize

import (
	"fmt"

	"resumed/internal/resume/view"
)

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
