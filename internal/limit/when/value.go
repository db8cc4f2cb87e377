package when

import (
	"strconv"
	"time"
)

// layouts are how headers and fields write a point in time.
var layouts = []string{time.RFC3339Nano, time.RFC1123, time.RFC1123Z, time.RFC850, time.ANSIC}

// Value reads the value of a field: a number is a Unix time, or where a unit is
// given so many of them; mixed says that a field with a unit may hold both, or a length in
// words.
func (r Reader) Value(value string, unit time.Duration, mixed bool) (Found, bool) {
	if n, err := strconv.ParseFloat(value, 64); err == nil {
		if at, ok := Epoch(n); ok && (unit == 0 || mixed) {
			return Found{At: at}, true
		}
		if unit == 0 {
			return Found{}, false
		}
		return r.after(n * float64(unit))
	}
	for _, layout := range layouts {
		if at, err := time.Parse(layout, value); err == nil && Thinkable(at) {
			return Found{At: at.UTC()}, true
		}
	}
	if !mixed {
		return Found{}, false
	}
	if d, err := time.ParseDuration(value); err == nil {
		return r.after(float64(d))
	}
	return r.When(value)
}

// after returns the time that lies so many nanoseconds ahead.
func (r Reader) after(wait float64) (Found, bool) {
	if r.At.IsZero() || !(wait >= 0 && wait <= float64(Longest)) {
		return Found{}, false
	}
	return Found{At: r.At.Add(time.Duration(wait)), Counted: true}, true
}
