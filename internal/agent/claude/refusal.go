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
	v.Class = r.class(v)
	v.InProgress = false // it is over: Claude Code writes this when it has given up
	v.WaitHelps = v.Class.Transient() && !r.Hopeless
	if at, ok := r.quota().reset(); ok && r.outOfQuota() {
		v.Reset = limit.Reset{At: at, Source: limit.Structured}
	}
	return v
}

// class returns the class that the record's own fields tell, and what its words
// tell where they do not. The error code "rate_limit" alone stands for a
// throttle, a usage limit, a spend cap and missing credits alike.
func (r record) class(words limit.Verdict) limit.Class {
	switch {
	case r.outOfQuota():
		window := r.quota().Type
		if window == "overage" || window == "" && words.Class == limit.Billing {
			return limit.Billing // a spend cap: more must be allowed, not awaited
		}
		return limit.UsageLimit
	case strings.HasSuffix(r.APIError, "credits_required"):
		return limit.Billing
	case r.APIError == "connection_failed":
		return limit.Network
	case r.Status == 402:
		return limit.Billing
	case r.Status == 529:
		return limit.Overloaded
	case r.Error != "":
		return r.classOfError(words.Class)
	case words.Class == limit.Billing && words.Reset.Stated():
		return limit.UsageLimit // 2.0 calls a window that opens again by itself a spending cap
	case words.Class == limit.None:
		return limit.BadRequest // a turn that failed in a way nobody knows is not retried
	default:
		return words.Class
	}
}

// classOfError returns the class that the agent's own error code tells, made
// more precise by what the words tell.
func (r record) classOfError(words limit.Class) limit.Class {
	switch r.Error {
	case "billing_error":
		return limit.Billing
	case "authentication_failed":
		if words != limit.Billing { // any 403 is called so
			return limit.Auth
		}
	case "oauth_org_not_allowed", "account_on_hold", "verification_required", "cloud_credential_error":
		return limit.Auth
	case "overloaded":
		return limit.Overloaded
	case "model_not_found", "max_output_tokens":
		return limit.BadRequest
	case "invalid_request":
		if words != limit.ContextOverflow {
			return limit.BadRequest
		}
	case "server_error":
		if !words.Transient() {
			return limit.ServerError
		}
	case "rate_limit":
		if words != limit.UsageLimit && words != limit.Billing {
			return limit.RateLimit
		}
	}
	if words == limit.None {
		return limit.BadRequest
	}
	return words
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
