// Package humanize formats values for people: durations, times, counts, and the states of sessions. The
// terminal, the page, notices, the status line of the service manager and the commands all use its
// words.
package humanize

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"resumed/internal/backoff"
	"resumed/internal/lazy"
	"resumed/internal/sanitize"
	"resumed/internal/usage"
)

const day = 24 * time.Hour

// Duration formats a duration without trailing zeros, in a form that the configuration accepts: "5m",
// not "5m0s"; "90d", not "2160h0m0s".
func Duration(d time.Duration) string {
	if d >= 10*day && d%day == 0 {
		return strconv.Itoa(int(d/day)) + "d"
	}
	return backoff.FormatDuration(d)
}

// Seconds formats a number of seconds with about three digits: "123µs", "12.3s", "2h5m10s".
func Seconds(seconds float64) string {
	if seconds >= math.MaxInt64/1e9 {
		return "centuries"
	}
	d := time.Duration(seconds * float64(time.Second))
	for _, step := range []time.Duration{time.Microsecond, time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond} {
		if d < 1000*step {
			return Duration(d.Round(step))
		}
	}
	return Duration(d.Round(time.Second))
}

// Span formats a duration roughly, in two units: "2d 4h", "1h 47m", "40s". Negative durations count as
// 0.
func Span(d time.Duration) string {
	d = max(0, d.Round(time.Second))
	pair := func(big, small time.Duration, a, b string) string {
		return strconv.Itoa(int(d/big)) + a + " " + strconv.Itoa(int(d%big/small)) + b
	}
	switch {
	case d < time.Minute:
		return strconv.Itoa(int(d/time.Second)) + "s"
	case d < time.Hour:
		return pair(time.Minute, time.Second, "m", "s")
	case d < day:
		return pair(time.Hour, time.Minute, "h", "m")
	default:
		return pair(day, time.Hour, "d", "h")
	}
}

// Until returns how long it is until a time, and the time: "in 1h 47m, 15:00".
func Until(t, now time.Time) string { return until(t, now, dueNow) }

const dueNow = "due now"

// until returns late if the time is over.
func until(t, now time.Time, late string) string {
	left := t.Sub(now)
	if left <= 0 {
		return late
	}
	return "in " + Span((left + time.Second - 1).Truncate(time.Second)) + ", " + ShortClock(t, now)
}

// Clock formats a time in the local zone to the second, with the day if it is another one.
func Clock(t, now time.Time) string { return clock(t, now, "15:04:05") }

// ShortClock is Clock to the minute.
func ShortClock(t, now time.Time) string { return clock(t, now, "15:04") }

// clock formats a time as short as possible: with the weekday in the next days, with the date
// otherwise.
func clock(t, now time.Time, today string) string {
	t, now = t.Local(), now.Local()
	switch days := int(dayOf(t).Sub(dayOf(now)) / day); {
	case days == 0:
		return t.Format(today)
	case days > 0 && days < 7:
		return t.Format("Mon 15:04")
	case t.Year() == now.Year():
		return t.Format("2 Jan 15:04")
	default:
		return t.Format("2 Jan 2006")
	}
}

// stamp matches a time in a reason: reasons are stored, and their readers may be in any zone.
var stamp = lazy.Regexp(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)

// Reason returns a reason as one line, with its times formatted by say.
func Reason(text string, say func(time.Time) string) string {
	text = sanitize.Line(text)
	if !strings.Contains(text, "Z") { // most reasons have none, and there may be ten thousand
		return text
	}
	return stamp().ReplaceAllStringFunc(text, func(written string) string {
		at, err := time.Parse(time.RFC3339, written)
		if err != nil {
			return written
		}
		return say(at)
	})
}

// stampOf formats a time for a reason.
func stampOf(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// ReasonAt is Reason for a person who reads it now.
func ReasonAt(text string, now time.Time) string {
	return Reason(text, func(t time.Time) string { return Clock(t, now) })
}

// LastingClock formats a time for a text that is stored and may be read days later: it contains the
// full day if that is not the day of the text. Both times are in the zone of written.
func LastingClock(t, written time.Time) string {
	t = t.In(written.Location())
	if dayOf(t).Equal(dayOf(written)) {
		return t.Format("15:04:05")
	}
	return t.Format("15:04:05 on Mon 2 Jan")
}

// dayOf returns the same value for all times of a day, in their own zone.
func dayOf(t time.Time) time.Time {
	year, month, date := t.Date()
	return time.Date(year, month, date, 0, 0, 0, 0, time.UTC)
}

// Count formats a number of things: "1 session", "2 sessions", "3 tries". The noun must have a regular
// plural.
func Count(n int, noun string) string {
	stem, ok := strings.CutSuffix(noun, "y")
	switch {
	case n == 1:
	case ok && !strings.ContainsAny(stem[len(stem)-1:], "aeou"):
		noun = stem + "ies"
	default:
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}

// Verb returns the form of a verb for a number: Verb(n, "waits", "wait").
func Verb(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// Plain formats an identifier, such as no_progress, for people.
func Plain(word string) string { return strings.ReplaceAll(word, "_", " ") }

// Bytes returns a size with a unit.
func Bytes(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	size := float64(n)
	for len(units) > 1 && size >= 1024 {
		size, units = size/1024, units[1:]
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", size), ".0") + " " + units[0]
}

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
