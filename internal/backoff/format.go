package backoff

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// String describes the policy in one line: "exponential 30s…5m ±10%, 5 retries".
func (p Policy) String() string {
	var b strings.Builder
	b.WriteString(string(p.Strategy) + " " + FormatDuration(p.BaseDelay))
	if p.Strategy != Fixed {
		b.WriteString("…" + FormatDuration(p.MaxDelay))
	}
	b.WriteString(p.jitterWords())
	if p.HardCap && p.Jitter {
		b.WriteString(", never over " + FormatDuration(p.MaxDelay))
	}
	if p.MaxExponent > 0 && p.Strategy == Exponential {
		fmt.Fprintf(&b, ", doubled at most %s", count(p.MaxExponent, "time", "times"))
	}
	switch {
	case p.retries() != Unlimited:
		b.WriteString(", " + count(p.MaxRetries, "retry", "retries"))
	case p.MaxElapsed == 0:
		b.WriteString(", unlimited retries")
	}
	if p.MaxElapsed > 0 {
		b.WriteString(", for " + FormatDuration(p.MaxElapsed))
	}
	return b.String()
}

func (p Policy) jitterWords() string {
	percent := strconv.FormatFloat(p.JitterPercent*100, 'g', 4, 64) + "%"
	switch {
	case !p.Jitter:
		return ", no jitter"
	case p.JitterMode == Symmetric:
		return " ±" + percent
	case p.JitterMode == Additive:
		return " +0…" + percent
	default:
		return ", " + string(p.JitterMode) + " jitter"
	}
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// MarshalJSON writes the policy as in the configuration, with durations as strings such as "30s". A
// MarshalText would make a TOML encoder write a string instead of a table.
func (p Policy) MarshalJSON() ([]byte, error) {
	document := make(map[string]any)
	for field, value := range reflect.ValueOf(p).Fields() {
		document[field.Tag.Get("toml")] = value.Interface()
		if d, ok := value.Interface().(time.Duration); ok {
			document[field.Tag.Get("toml")] = FormatDuration(d)
		}
	}
	return json.Marshal(document)
}

// FormatDuration writes a duration without zero units at its end: "5m", not "5m0s".
func FormatDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
