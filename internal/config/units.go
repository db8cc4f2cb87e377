package config

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"resumed/internal/humanize"
	"resumed/internal/lazy"
)

const (
	day  = 24 * time.Hour
	week = 7 * day
)

const wantDuration = `must be a duration with a unit, in quotes, such as "30s", "5m", "12h" or "90d"`

var errDuration = errors.New(wantDuration)

var durationPattern = lazy.Regexp(`^(-?)(?:([0-9]+(?:\.[0-9]+)?)w)?(?:([0-9]+(?:\.[0-9]+)?)d)?((?:[0-9.]+[a-zµμ]+)*)$`)

// ParseDuration parses a duration: Go's units, and before them weeks (w) and days (d) of 24 hours. A
// number without a unit is refused, also "0".
func ParseDuration(s string) (time.Duration, error) {
	m := durationPattern().FindStringSubmatch(s)
	if m == nil || s == m[1] {
		return 0, errDuration
	}
	weeks, _ := strconv.ParseFloat(m[2], 64) // none is 0, too many are infinite
	days, _ := strconv.ParseFloat(m[3], 64)
	long := weeks*float64(week) + days*float64(day)
	short, err := time.ParseDuration(cmp.Or(m[4], "0s"))
	if err != nil {
		return 0, errDuration
	}
	if long+float64(short) >= math.MaxInt64 {
		return 0, errors.New("must be shorter than 292 years")
	}
	d := time.Duration(long) + short
	if m[1] != "" {
		d = -d
	}
	return d, nil
}

// Size is a number of bytes, written with a unit: "64MiB", "500kB".
type Size int64

const wantSize = `must be a size with a unit, in quotes, such as "64MiB" or "1GB"`

var sizePattern = lazy.Regexp(`^([0-9]+(?:\.[0-9]+)?) ?([A-Za-z]+)$`)

// The units, largest first among those that String uses.
var sizeUnits = []struct {
	name  string
	bytes int64
}{
	{"TiB", 1 << 40},
	{"GiB", 1 << 30},
	{"MiB", 1 << 20},
	{"KiB", 1 << 10},
	{"TB", 1e12},
	{"GB", 1e9},
	{"MB", 1e6},
	{"kB", 1e3},
	{"KB", 1e3},
	{"B", 1},
}

func parseSize(s string) (Size, error) {
	m := sizePattern().FindStringSubmatch(s)
	if m == nil {
		return 0, errors.New(wantSize)
	}
	n, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return 0, errors.New(wantSize)
	}
	for _, u := range sizeUnits {
		if u.name != m[2] {
			continue
		}
		if n*float64(u.bytes) >= math.MaxInt64 {
			return 0, errors.New("must be less than 8388608TiB")
		}
		return Size(n * float64(u.bytes)), nil
	}
	return 0, errors.New(wantSize)
}

func (s Size) String() string {
	for _, u := range sizeUnits {
		if s != 0 && int64(s)%u.bytes == 0 {
			return strconv.FormatInt(int64(s)/u.bytes, 10) + u.name
		}
	}
	return "0B"
}

// Hours is a span of every day, in local time; it may cross midnight. The zero Hours is the whole day.
type Hours struct {
	From, To int // minutes after midnight; To is not part of the span
}

const minutesOfDay = 24 * 60

const wantHours = `must be a span of the day, such as "22:00-08:00", in the time of this machine`

// parseHours parses a span such as "22:00-08:00"; "" is the whole day.
func parseHours(s string) (Hours, error) {
	if s == "" {
		return Hours{}, nil
	}
	from, to, found := strings.Cut(strings.NewReplacer("–", "-", "—", "-").Replace(s), "-") // word processors make dashes longer
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

// IsZero reports whether h is the whole day.
func (h Hours) IsZero() bool { return h == Hours{} }

// Contains reports whether t, in its own zone, is in the span.
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

// Next returns t if the span contains it, else the next minute that it contains, in t's zone. It checks
// every minute, because a clock change can skip the one at which the span begins.
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

const hidden = "[hidden]"

// Secret is text that is never printed or logged. Reveal returns it.
type Secret string

// Reveal returns the text itself.
func (s Secret) Reveal() string { return string(s) }

func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return hidden
}

// GoString hides the text from %#v.
func (s Secret) GoString() string { return s.String() }

// LogValue hides the text from logs.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText hides the text from encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// scalar returns a value as it is written in a file: a string, a number or a bool.
func scalar(v reflect.Value) any {
	switch value := v.Interface().(type) {
	case time.Duration:
		return humanize.Duration(value)
	case Secret:
		return value.Reveal()
	case fmt.Stringer:
		return value.String()
	}
	if v.Kind() == reflect.String {
		return v.String() // also of named strings
	}
	return v.Interface()
}
