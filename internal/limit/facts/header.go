package facts

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"resumed/internal/limit/class"
)

// Headers are the headers of an answer by lower-case name.
type Headers map[string]string

// Lower returns headers by their names in lower case.
func Lower(h map[string]string) Headers {
	set := make(Headers, len(h))
	for name, value := range h {
		set[strings.ToLower(strings.TrimSpace(name))] = strings.TrimSpace(value)
	}
	return set
}

// AddTo adds what headers say about the class.
func (h Headers) AddTo(f *Facts) {
	f.AddCode(h["x-codex-rate-limit-reached-type"])
	if h["anthropic-ratelimit-unified-status"] != "rejected" {
		return
	}
	f.Rejected = true
	if h["anthropic-ratelimit-unified-representative-claim"] == "overage" {
		f.name(naming{class: class.Billing})
	}
}

// Retry returns when the headers ask to come back.
func (h Headers) Retry() []Time {
	var times []Time
	if value := h["retry-after-ms"]; value != "" {
		times = append(times, Time{Value: value, Unit: time.Millisecond})
	}
	if value := h["retry-after"]; value != "" {
		times = append(times, Time{Value: value, Unit: time.Second})
	}
	return times
}

// Gauges returns when the windows that are used up are full again: the last of
// them counts, and by itself one that says which. Windows that have room left
// are not what refused. They stand on every answer, so they count only for
// a refusal that is about a limit.
func (h Headers) Gauges() (windows []Time, refused *Time) {
	for name, value := range h {
		limits := strings.Contains(name, "ratelimit") || strings.Contains(name, "rate-limit") || strings.HasPrefix(name, "x-codex-")
		if limits && strings.Contains(name, "reset") && !h.hasRoom(name) {
			windows = append(windows, Time{Value: value, Unit: time.Second, Any: true})
		}
	}
	slices.SortFunc(windows, func(a, b Time) int { return strings.Compare(a.Value, b.Value) })
	if value := h[unifiedReset]; value != "" && !h.hasRoom(unifiedReset) {
		refused = &Time{Value: value, Unit: time.Second, Any: true}
	}
	return windows, refused
}

// unifiedReset is when the window of Anthropic's that refused opens again.
const unifiedReset = "anthropic-ratelimit-unified-reset"

// hasRoom reports whether the window of a reset header is known not to be used up.
func (h Headers) hasRoom(reset string) bool {
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
