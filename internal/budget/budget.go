// Package budget has the limits for runs that use the user's own key, and what is left of them.
package budget

import (
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// Terms are the user's limits. All sums are in US dollars, which the agents count in.
type Terms struct {
	Session float64 // for one session in a period
	Total   float64 // for all sessions in a period
	Each    Period  // the length of a period
}

// Period is a calendar day or month in local time.
type Period string

// The periods.
const (
	Day   Period = "day"
	Month Period = "month"
)

// Example is a budget as in the configuration.
const Example = "5 USD a session, 20 USD a month"

var written = regexp.MustCompile(`(?i)^\s*(\d{1,6}(?:\.\d{1,2})?)\s*USD\s+a\s+session\s*,\s*(\d{1,6}(?:\.\d{1,2})?)\s*USD\s+a\s+(day|month)\s*$`)

// Parse parses a budget from the configuration.
func Parse(text string) (Terms, error) {
	found := written.FindStringSubmatch(text)
	if found == nil {
		return Terms{}, fmt.Errorf("must say what one session and what all of them may cost, such as %q (or a day)", Example)
	}
	session, _ := strconv.ParseFloat(found[1], 64) // the pattern allows only numbers
	total, _ := strconv.ParseFloat(found[2], 64)
	t := Terms{Session: session, Total: total, Each: Month}
	if found[3][0] == 'd' || found[3][0] == 'D' {
		t.Each = Day
	}
	if t.Session < least || t.Total < t.Session {
		return Terms{}, fmt.Errorf("must allow one session a cent at least, and all of them together no less than one, such as %q", Example)
	}
	return t, nil
}

// String writes the terms as in the configuration.
func (t Terms) String() string {
	return fmt.Sprintf("%s a session, %s a %s", USD(t.Session), USD(t.Total), t.Each)
}

// begins returns the start of the period that contains now.
func (t Terms) begins(now time.Time) time.Time {
	year, month, day := now.Date()
	if t.Each == Month {
		day = 1
	}
	return time.Date(year, month, day, 0, 0, 0, 0, now.Location())
}

// least is the smallest sum with which a run may begin.
const least = 0.01

// USD writes a sum for people.
func USD(sum float64) string {
	if sum == float64(int64(sum)) {
		return fmt.Sprintf("%d USD", int64(sum))
	}
	return fmt.Sprintf("%.2f USD", sum)
}
