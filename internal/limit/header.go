package limit

import (
	"strconv"
	"strings"
	"time"
)

// headers are the headers of a response by lower-case name.
type headers map[string]string

// lowerHeaders returns headers by their names in lower case.
func lowerHeaders(h map[string]string) headers {
	set := make(headers, len(h))
	for name, value := range h {
		set[strings.ToLower(strings.TrimSpace(name))] = strings.TrimSpace(value)
	}
	return set
}

// addTo adds the headers that determine the class.
func (h headers) addTo(f *facts) {
	f.addCode(h["x-codex-rate-limit-reached-type"])
	if h["anthropic-ratelimit-unified-status"] != "rejected" {
		return
	}
	f.rejected = true
	if h["anthropic-ratelimit-unified-representative-claim"] == "overage" {
		f.name(naming{class: Billing})
	}
}

// retry returns the times of the Retry-After headers.
func (h headers) retry() []statedTime {
	var times []statedTime
	if value := h["retry-after-ms"]; value != "" {
		times = append(times, statedTime{value: value, unit: time.Millisecond})
	}
	if value := h["retry-after"]; value != "" {
		times = append(times, statedTime{value: value, unit: time.Second})
	}
	return times
}

// unifiedReset is when Anthropic's window that refused is refilled.
const unifiedReset = "anthropic-ratelimit-unified-reset"

// gauges returns when the used-up windows are refilled: only the one that refused, if the headers name it, otherwise the
// last of them counts. Windows with room left did not refuse. These headers are in every response, so they count only
// for a refusal about a limit.
func (h headers) gauges() (windows []statedTime) {
	for name, value := range h {
		limits := strings.Contains(name, "ratelimit") || strings.Contains(name, "rate-limit") || strings.HasPrefix(name, "x-codex-")
		if !limits || !strings.Contains(name, "reset") || value == "" || h.hasRoom(name) {
			continue
		}
		window := statedTime{value: value, unit: time.Second, mixed: true}
		if name == unifiedReset {
			return []statedTime{window}
		}
		windows = append(windows, window)
	}
	return windows
}

// hasRoom reports whether the window of a reset header is known to have room left.
func (h headers) hasRoom(reset string) bool {
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
