package rollout

import "resumed/internal/limit"

// Verdict returns the meaning of the error that ended a turn. Codex's own name for it has precedence;
// for "other" and generic names the text decides. limits returns the state of the account's limits at
// the end of the turn.
func (f Failure) Verdict(reader limit.Reader, limits func() RateLimits) limit.Verdict {
	name, status := f.info()
	v := reader.Refusal(limit.Refusal{Status: status, Code: code(name), Text: f.Message})
	v.Class = class(name, v.Class)
	v.InProgress = false // Codex writes this when it has given up
	if name == "usage_limit_exceeded" || v.Class == limit.UsageLimit && !v.Reset.Stated() {
		l := limits()
		// The text rounds the time down to the minute, in a zone that it does not name.
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

// code returns the name if it is specific to the refusal.
func code(name string) string {
	switch name {
	case "other", "usage_limit_exceeded", "http_connection_failed":
		return ""
	default:
		return name
	}
}

// class returns the class of an error by its name and by the class from its text and status.
func class(name string, words limit.Class) limit.Class {
	switch name {
	case "usage_limit_exceeded":
		// It is used for limits of the plan, and for quota and credits that must be bought.
		if words != limit.Billing {
			return limit.UsageLimit
		}
	case "http_connection_failed", "response_stream_connection_failed", "response_stream_disconnected":
		if words == limit.None || words == limit.Unknown {
			return limit.Network
		}
	}
	if words == limit.None {
		return limit.Unknown // it failed without a reason
	}
	return words
}
