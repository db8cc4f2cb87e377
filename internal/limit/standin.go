package limit

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

var (
	standinClock = regexp.MustCompile(`resets (?:(\w{3}) (\d+), )?(\d+)(?::(\d+))?(am|pm)`)
	standinEpoch = regexp.MustCompile(`\|(\d{10})`)
)

// Text is a stand-in.
func (r Reader) Text(s string) Verdict { return r.Refusal(Refusal{Text: s}) }

// Refusal is a stand-in.
func (r Reader) Refusal(f Refusal) Verdict {
	v := Verdict{}
	low := strings.ToLower(f.Text)
	has := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(low, p) {
				return true
			}
		}
		return false
	}
	switch {
	case has("spend limit", "credit balance") || f.Status == 402:
		v.Class = Billing
	case has("too long", "too large"):
		v.Class = ContextOverflow
	case has("hit your", "limit reached", "cap reached"):
		v.Class = UsageLimit
	case f.Status == 529 || has("overloaded"):
		v.Class = Overloaded
	case f.Status == 401 || f.Status == 403:
		v.Class = Auth
	case f.Status == 429 || has("429"):
		v.Class = RateLimit
	case f.Status >= 500:
		v.Class = ServerError
	case f.Status >= 400:
		v.Class = BadRequest
	case has("connect", "timed out"):
		v.Class = Network
	}
	v.WaitHelps = v.Class.Transient()
	v.Reset, _ = r.When(f.Text)
	return v
}

// When is a stand-in.
func (r Reader) When(s string) (Reset, bool) {
	if d, err := time.ParseDuration(s); err == nil {
		return Reset{At: r.At.Add(d), Source: Words}, true
	}
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return Reset{At: t, Source: Words}, true
	}
	if m := standinEpoch.FindStringSubmatch(s); m != nil {
		n, _ := strconv.ParseInt(m[1], 10, 64)
		return Reset{At: time.Unix(n, 0), Source: Words}, true
	}
	m := standinClock.FindStringSubmatch(s)
	if m == nil {
		return Reset{}, false
	}
	h, _ := strconv.Atoi(m[3])
	mi, _ := strconv.Atoi(m[4])
	h %= 12
	if m[5] == "pm" {
		h += 12
	}
	zone := r.Zone
	if zone == nil {
		zone = time.Local
	}
	at := r.At.In(zone)
	day := at.Day()
	if m[2] != "" {
		day, _ = strconv.Atoi(m[2])
	}
	t := time.Date(at.Year(), at.Month(), day, h, mi, 0, 0, zone)
	if m[2] == "" && t.Before(at.Add(-r.Grace)) {
		t = t.AddDate(0, 0, 1)
	}
	return Reset{At: t, Source: Words, Rough: true}, true
}
