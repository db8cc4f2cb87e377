package claude

import (
	"strings"

	"resumed/internal/limit"
)

// verdict says what the refusal that ended a turn means. What the record
// states in fields wins; versions before 2.1.198 have little but words.
func (r record) verdict(reader limit.Reader) limit.Verdict {
	text := r.text()
	v := reader.Refusal(limit.Refusal{Status: r.Status, Code: r.ErrorType, Text: text})
	if class, ok := r.class(v.Class); ok {
		v.Class = class
	}
	v.InProgress = false // it is over: Claude Code writes this when it has given up
	v.WaitHelps = v.Class.Transient() && !r.Hopeless
	if at, ok := r.quota().reset(); ok && r.outOfQuota() {
		v.Reset = limit.Reset{At: at, Source: limit.Structured}
	}
	return v
}

// class returns the class that the record's own fields tell; words is what its
// text tells. The error code "rate_limit" alone stands for a throttle, a usage
// limit, a spend cap and missing credits alike.
func (r record) class(words limit.Class) (limit.Class, bool) {
	switch {
	case r.outOfQuota():
		if r.quota().Type == "overage" {
			return limit.Billing, true // a spend cap: more must be allowed, not awaited
		}
		if words == limit.Billing {
			return limit.Billing, true
		}
		return limit.UsageLimit, true
	case strings.HasSuffix(r.APIError, "credits_required"):
		return limit.Billing, true
	case r.APIError == "connection_failed":
		return limit.Network, true
	case r.Status == 402:
		return limit.Billing, true
	case r.Status == 529:
		return limit.Overloaded, true
	}
	switch r.Error {
	case "billing_error":
		return limit.Billing, true
	case "authentication_failed", "oauth_org_not_allowed", "account_on_hold", "verification_required", "cloud_credential_error":
		return limit.Auth, true
	case "overloaded":
		return limit.Overloaded, true
	case "model_not_found", "max_output_tokens":
		return limit.BadRequest, true
	case "invalid_request":
		if words != limit.ContextOverflow {
			return limit.BadRequest, true
		}
	case "server_error":
		if !words.Transient() {
			return limit.ServerError, true
		}
	case "rate_limit":
		if words != limit.UsageLimit && words != limit.Billing {
			return limit.RateLimit, true
		}
	}
	if words == limit.None {
		return limit.BadRequest, true // a turn that failed in a way nobody knows is not retried
	}
	return words, false
}

// quota returns the account's limit that the record states.
func (r record) quota() quota {
	if r.Params.RateLimit.Status != "" || len(r.Params.RateLimit.ResetsAt) > 0 {
		return r.Params.RateLimit
	}
	return r.Quota
}

// outOfQuota reports whether the account's limit is what refused the request. A
// warning has the same shape, and a quota may stand beside another error.
func (r record) outOfQuota() bool {
	if r.APIError != "" {
		return r.APIError == "usage_limit_reached"
	}
	return r.Error == "rate_limit" && r.quota().Status == "rejected"
}
