package limit

import (
	"strconv"
	"strings"
	"time"
)

// headerSet is the headers of an answer by lower-case name.
type headerSet map[string]string

func headers(h map[string]string) headerSet {
	set := make(headerSet, len(h))
	for name, value := range h {
		set[strings.ToLower(strings.TrimSpace(name))] = strings.TrimSpace(value)
	}
	return set
}

// addTo adds what headers say about the class.
func (h headerSet) addTo(e *evidence) {
	if ru, ok := codeRuling(h["x-codex-rate-limit-reached-type"]); ok {
		e.addCode(ru)
	}
	if h["anthropic-ratelimit-unified-status"] != "rejected" {
		return
	}
	e.rejected = true
	if h["anthropic-ratelimit-unified-representative-claim"] == "overage" {
		e.addCode(ruling{class: Billing})
	}
}

// headerReset returns when the headers of a refusal of that class say it
// lifts. Retry-After is about this refusal; the gauges stand on every answer,
// so they count only for a refusal that is about a limit.
func (r Reader) headerReset(h headerSet, c Class) (Reset, bool) {
	if n, err := strconv.ParseFloat(h["retry-after-ms"], 64); err == nil {
		if reset, ok := r.after(n, time.Millisecond, Header); ok {
			return reset, true
		}
	}
	if at, ok := r.RetryAfter(h["retry-after"]); ok {
		return Reset{At: at, Source: Header}, true
	}
	if c != RateLimit && c != UsageLimit && c != Billing {
		return Reset{}, false
	}
	at, ok := r.gauges(h)
	return Reset{At: at, Source: Header}, ok
}

// RetryAfter reads the value of a Retry-After header: seconds or an HTTP date.
func (r Reader) RetryAfter(value string) (time.Time, bool) {
	value = strings.TrimSpace(value)
	if n, err := strconv.ParseFloat(value, 64); err == nil {
		reset, ok := r.after(n, time.Second, Header)
		return reset.At, ok
	}
	for _, layout := range []string{time.RFC1123, time.RFC1123Z, time.RFC850, time.ANSIC, time.RFC3339Nano} {
		if at, err := time.Parse(layout, value); err == nil && thinkable(at) {
			return at.UTC(), true
		}
	}
	return time.Time{}, false
}

// gauges returns when the windows that are used up are full again: the last of
// them. Windows that have room left are not what refused.
func (r Reader) gauges(h headerSet) (time.Time, bool) {
	var last time.Time
	for name, value := range h {
		if !strings.Contains(name, "reset") || !strings.Contains(name, "ratelimit") && !strings.Contains(name, "rate-limit") && !strings.HasPrefix(name, "x-codex-") {
			continue
		}
		if h.hasRoom(name) {
			continue
		}
		if at, ok := r.resetValue(value); ok && at.After(last) {
			last = at
		}
	}
	if at, ok := r.resetValue(h[unifiedReset]); ok && !h.hasRoom(unifiedReset) {
		return at, true
	}
	return last, !last.IsZero()
}

// unifiedReset is when the window of Anthropic's that refused opens again.
const unifiedReset = "anthropic-ratelimit-unified-reset"

// hasRoom reports whether the window of a reset header is known not to be used up.
func (h headerSet) hasRoom(reset string) bool {
	if left, ok := h[strings.Replace(reset, "reset", "remaining", 1)]; ok {
		n, err := strconv.ParseFloat(left, 64)
		return err == nil && n > 0
	}
	if window, ok := strings.CutSuffix(reset, "-reset-at"); ok {
		n, err := strconv.ParseFloat(h[window+"-used-percent"], 64)
		return err == nil && n < 100
	}
	if window, ok := strings.CutSuffix(reset, "-reset"); ok {
		status, known := h[window+"-status"]
		return known && status != "rejected"
	}
	return false
}

// resetValue reads an epoch, a date, a duration such as 6m0s, or seconds.
func (r Reader) resetValue(value string) (time.Time, bool) {
	if n, err := strconv.ParseFloat(value, 64); err == nil {
		if at, ok := Epoch(n); ok {
			return at, true
		}
	}
	if at, ok := r.RetryAfter(value); ok {
		return at, true
	}
	if d, err := time.ParseDuration(value); err == nil && d >= 0 && d <= longestWait && !r.At.IsZero() {
		return r.At.Add(d), true
	}
	return time.Time{}, false
}
