package config

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Hours is a span of every day, in local time; it may go over midnight. The
// zero Hours is all day long.
type Hours struct {
	From, To int // minutes after midnight; To is not part of the span
}

const minutesOfDay = 24 * 60

const wantHours = `must be a span of the day, such as "22:00-08:00"`

// ParseHours reads a span such as "22:00-08:00"; "" is all day long.
func ParseHours(s string) (Hours, error) {
	if s == "" {
		return Hours{}, nil
	}
	from, to, found := strings.Cut(s, "-")
	if !found {
		return Hours{}, errors.New(wantHours)
	}
	start, err1 := parseClock(strings.TrimSpace(from))
	end, err2 := parseClock(strings.TrimSpace(to))
	switch {
	case err1 != nil || err2 != nil || start == minutesOfDay:
		return Hours{}, errors.New(wantHours)
	case start == end || start == 0 && end == minutesOfDay:
		return Hours{}, errors.New(`must leave out some part of the day; for all of it write ""`)
	}
	return Hours{From: start, To: end % minutesOfDay}, nil
}

func parseClock(s string) (minutes int, err error) {
	if s == "24:00" {
		return minutesOfDay, nil
	}
	t, err := time.Parse("15:04", s)
	if err != nil {
		return 0, err
	}
	return t.Hour()*60 + t.Minute(), nil
}

// IsZero reports whether h is all day long.
func (h Hours) IsZero() bool { return h == Hours{} }

// Contains reports whether t, in its own zone, lies in the span.
func (h Hours) Contains(t time.Time) bool {
	now := t.Hour()*60 + t.Minute()
	switch {
	case h.IsZero():
		return true
	case h.From < h.To:
		return h.From <= now && now < h.To
	default:
		return now >= h.From || now < h.To
	}
}

// Next returns t where the span contains it, else the next minute that it
// contains, in t's zone. It looks at every minute, because a change of the
// clocks may leave out the one at which the span begins.
func (h Hours) Next(t time.Time) time.Time {
	if h.Contains(t) {
		return t
	}
	next := t.Add(-time.Duration(t.Second())*time.Second - time.Duration(t.Nanosecond()))
	for range 2 * minutesOfDay {
		next = next.Add(time.Minute)
		if h.Contains(next) {
			break
		}
	}
	return next
}

func (h Hours) String() string {
	if h.IsZero() {
		return ""
	}
	clock := func(m int) string { return fmt.Sprintf("%02d:%02d", m/60, m%60) }
	return clock(h.From) + "-" + clock(h.To)
}

// UnmarshalText reads a span.
func (h *Hours) UnmarshalText(text []byte) error {
	parsed, err := ParseHours(string(text))
	if err != nil {
		return err
	}
	*h = parsed
	return nil
}
