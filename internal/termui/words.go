package termui

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"resumed/internal/resume"
	"resumed/internal/sanitize"
)

// Span says a duration as people do: "2d 4h", "1h 47m", "40s".
func Span(d time.Duration) string {
	d = max(0, d.Round(time.Second))
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d/time.Second))
	case d < time.Hour:
		return fmt.Sprintf("%dm %ds", int(d/time.Minute), int(d%time.Minute/time.Second))
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh %dm", int(d/time.Hour), int(d%time.Hour/time.Minute))
	default:
		return fmt.Sprintf("%dd %dh", int(d/(24*time.Hour)), int(d%(24*time.Hour)/time.Hour))
	}
}

// Clock says a time in the reader's zone to the second, with the day where it
// is another.
func Clock(t, now time.Time) string { return moment(t, now, "15:04:05") }

// moment says a time in the reader's zone, as short as it is clear.
func moment(t, now time.Time, today string) string {
	t, now = t.Local(), now.Local()
	switch days := dayOf(t).Sub(dayOf(now)).Hours() / 24; {
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

func dayOf(t time.Time) time.Time {
	year, month, day := t.Date()
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

// until says how long it is to a time, and when that is: "in 1h 47m, 15:00".
func until(t, now time.Time) string {
	left := t.Sub(now)
	if left <= 0 {
		return "due now"
	}
	return "in " + Span((left + time.Second - 1).Truncate(time.Second)) + ", " + moment(t, now, "15:04")
}

// Countdown says when a waiting session goes on; it is empty for others.
func Countdown(s resume.View, now time.Time) string {
	if s.State != resume.Waiting || s.NextAt == nil {
		return ""
	}
	return until(*s.NextAt, now)
}

// State says in a word how a session stands, and in which colour.
func State(s resume.View) (string, Colour) {
	switch {
	case s.Paused && s.State != resume.GaveUp && s.State != resume.Parked:
		return "paused", Cyan
	case s.State == resume.GaveUp:
		return "gave up", Red
	case s.State == resume.Parked:
		return "parked", Red
	case s.State == resume.Waiting:
		return "waiting", Yellow
	case s.State == resume.Resuming, s.State == resume.Settling:
		return s.State.String(), Magenta
	default:
		return s.State.String(), Green
	}
}

// Standing says in one phrase how a session stands.
func Standing(s resume.View, now time.Time) string {
	words, _ := State(s)
	if when := Countdown(s, now); when != "" {
		words += ", " + when
	}
	return words
}

// Project names the directory that a session works in.
func Project(s resume.View) string {
	if s.Cwd == "" {
		return "?"
	}
	return sanitize.Line(filepath.Base(s.Cwd))
}

// owner names the process that holds a session: "pid 17", "pid 17 in %3".
func owner(s resume.View) string {
	if s.Owner == nil {
		return ""
	}
	words := "pid " + strconv.Itoa(s.Owner.PID)
	if s.Owner.Tmux != "" {
		words += " in " + sanitize.Line(s.Owner.Tmux)
	}
	return words
}

func tries(s resume.View) string { return fmt.Sprintf("%d/%d", s.Attempt, s.MaxRetries) }

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// underscored says a word of the programs' as people write it.
func underscored(word string) string { return strings.ReplaceAll(word, "_", " ") }
