package rollout

import "resumed/internal/limit"

// Verdict says what the error that ended a turn means. Codex's own name for it
// wins; "other" and the names of a family leave it to the words. limits returns
// what was said of the account's limits when the turn ended.
func (f Failure) Verdict(reader limit.Reader, limits func() RateLimits) limit.Verdict {
	name, status := f.info()
	v := reader.Refusal(limit.Refusal{Status: status, Code: code(name), Text: f.Message})
	v.Class = class(name, v.Class)
	v.InProgress = false // it is over: Codex writes this when it has given up
	if name == "usage_limit_exceeded" || v.Class == limit.UsageLimit && !v.Reset.Stated() {
		l := limits()
		// The words cut the time to the minute, in a zone that they do not name.
		if at, ok := l.exhausted(); ok {
			v.Reset = limit.Reset{At: at, Source: limit.Structured}
		}
		if l.mustBuy(reader) {
			v.Class = limit.Billing
		}
	}
	v.WaitHelps = v.Class.Transient()
	return v
}

// code returns the name as far as it says anything about the refusal itself.
func code(name string) string {
	switch name {
	case "other", "usage_limit_exceeded", "http_connection_failed":
		return ""
	default:
		return name
	}
}

// class returns the class of an error of that name, of which the words and the
// status tell as much.
func class(name string, words limit.Class) limit.Class {
	switch name {
	case "usage_limit_exceeded":
		// It stands for plan limits, and for quota and credits that must be bought.
		if words != limit.Billing {
			return limit.UsageLimit
		}
	case "http_connection_failed", "response_stream_connection_failed", "response_stream_disconnected":
		if words == limit.None || words == limit.Unknown {
			return limit.Network
		}
	}
	if words == limit.None {
		return limit.Unknown // it failed, and says nothing
	}
	return words
}
