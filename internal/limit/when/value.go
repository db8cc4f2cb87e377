package when

import (
	"strconv"
	"time"
)

// layouts are the formats of a point in time in headers and fields.
var layouts = []string{time.RFC3339Nano, time.RFC1123, time.RFC1123Z, time.RFC850, time.ANSIC}

// Value reads the value of a field. A number is a Unix time or, with a unit, a duration in that unit.
// mixed: a field with a unit may hold either, or a duration in words.
func (r Reader) Value(value string, unit time.Duration, mixed bool) (Found, bool) {
	if n, err := strconv.ParseFloat(value, 64); err == nil {
		if at, ok := Epoch(n); ok && (unit == 0 || mixed) {
			return Found{At: at}, true
		}
		if unit == 0 {
			return Found{}, false
		}
		return r.in(n*float64(unit), 0)
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
		return r.in(float64(d), 0)
	}
	return r.When(value)
}
