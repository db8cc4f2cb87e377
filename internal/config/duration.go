package config

import (
	"errors"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const (
	day  = 24 * time.Hour
	week = 7 * day
)

const wantDuration = `must be a duration with a unit, in quotes, such as "30s", "5m", "12h" or "90d"`

var errDuration = errors.New(wantDuration)

var longUnits = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?)([dw])`)

// ParseDuration reads a duration: Go's units, and before them weeks (w) and
// days (d), a day being 24 hours.
func ParseDuration(s string) (time.Duration, error) {
	rest, negative := strings.CutPrefix(s, "-")
	var long float64
	matched := false
	for {
		m := longUnits.FindStringSubmatch(rest)
		if m == nil {
			break
		}
		matched = true
		n, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			return 0, errDuration
		}
		unit := day
		if m[2] == "w" {
			unit = week
		}
		long += n * float64(unit)
		rest = rest[len(m[0]):]
	}
	var short time.Duration
	if rest != "" || !matched {
		var err error
		// A bare number is refused, "0" too: it hides which unit is meant.
		if _, bare := strconv.ParseFloat(rest, 64); bare == nil || strings.ContainsAny(rest, "+-") {
			return 0, errDuration
		}
		if short, err = time.ParseDuration(rest); err != nil {
			return 0, errDuration
		}
	}
	if long+float64(short) >= math.MaxInt64 {
		return 0, errors.New("must be shorter than 292 years")
	}
	d := time.Duration(long) + short
	if negative {
		d = -d
	}
	return d, nil
}

// FormatDuration writes a duration as people write it: "5m", not "5m0s".
func FormatDuration(d time.Duration) string {
	if d >= 10*day && d%day == 0 {
		return strconv.Itoa(int(d/day)) + "d"
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
