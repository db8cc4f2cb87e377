package transcript

import (
	"slices"
	"strings"

	"resumed/internal/limit"
)

// Refusal is what Claude Code says of a request that was refused: in a
// transcript, on the output of a run, or to a hook.
type Refusal struct {
	Text      string `json:"-"`
	Error     string `json:"error"`    // Claude Code's own name for it
	APIError  string `json:"apiError"` // and one that is more precise, in later versions
	Status    int    `json:"apiErrorStatus"`
	ErrorType string `json:"apiErrorType"`     // as the provider calls it
	Hopeless  bool   `json:"resendCannotCure"` // to send the same again cannot cure it
	Quota     Quota  `json:"quotaLimits"`
}

func (r record) refusal() Refusal {
	f := r.Refusal
	f.Text = r.Message.Text()
	if r.Params.RateLimit.Stated() {
		f.Quota = r.Params.RateLimit
	}
	return f
}

// Verdict says what the refusal that ended a turn means. What is stated in
// fields wins; versions before 2.1.198 have little but words.
func (f Refusal) Verdict(reader limit.Reader) limit.Verdict {
	v := reader.Refusal(limit.Refusal{Status: f.Status, Code: f.ErrorType, Text: f.Text})
	v.Class = f.class(v)
	v.InProgress = false // it is over: Claude Code writes this when it has given up
	v.WaitHelps = v.Class.Transient() && !f.Hopeless
	if at, ok := f.Quota.Reset(); ok && f.outOfQuota() {
		v.Reset = limit.Reset{At: at, Source: limit.Structured}
	}
	return v
}

// class returns the class that the refusal's own fields tell, and what its words
// tell where they do not. The error code "rate_limit" alone means a
// throttle, a usage limit, a spend cap and missing credits alike.
func (f Refusal) class(words limit.Verdict) limit.Class {
	switch {
	case f.outOfQuota():
		window := f.Quota.Type
		if window == "overage" || window == "" && words.Class == limit.Billing {
			return limit.Billing // a spend cap: more must be allowed, not awaited
		}
		return limit.UsageLimit
	case strings.HasSuffix(f.APIError, "credits_required"):
		return limit.Billing
	case f.APIError == "connection_failed":
		return limit.Network
	case f.Status == 402:
		return limit.Billing
	case f.Status == 529:
		return limit.Overloaded
	case f.Error != "":
		named, known := errorClasses[f.Error]
		if !known || slices.Contains(named.unless, words.Class) {
			return words.Class
		}
		return named.class
	case words.Class == limit.Billing && words.Reset.Stated():
		return limit.UsageLimit // 2.0 calls a window that opens again by itself a spending cap
	default:
		return words.Class
	}
}

// errorClasses are the classes of Claude Code's own error codes, and the classes by which
// the words are more precise.
var errorClasses = map[string]struct {
	class  limit.Class
	unless []limit.Class
}{
	"billing_error":          {class: limit.Billing},
	"authentication_failed":  {limit.Auth, []limit.Class{limit.Billing, limit.UsageLimit, limit.RateLimit}}, // any 403 is called so
	"oauth_org_not_allowed":  {class: limit.Auth},
	"account_on_hold":        {class: limit.Auth},
	"verification_required":  {class: limit.Auth},
	"cloud_credential_error": {class: limit.Auth},
	"overloaded":             {class: limit.Overloaded},
	"model_not_found":        {class: limit.BadRequest},
	"max_output_tokens":      {class: limit.BadRequest},
	"invalid_request":        {limit.BadRequest, []limit.Class{limit.ContextOverflow, limit.Billing, limit.UsageLimit, limit.RateLimit}},
	"server_error":           {limit.ServerError, []limit.Class{limit.RateLimit, limit.UsageLimit, limit.Overloaded, limit.Network, limit.Timeout}},
	"rate_limit":             {limit.RateLimit, []limit.Class{limit.UsageLimit, limit.Billing}},
}

// Stated reports whether anything is said of the quota.
func (q Quota) Stated() bool { return q.Status != "" || q.ResetsAt != 0 }

// outOfQuota reports whether the account's limit is what refused the request. A
// warning has the same shape, and a quota may be beside another error.
func (f Refusal) outOfQuota() bool {
	if f.APIError != "" {
		return f.APIError == "usage_limit_reached"
	}
	return f.Error == "rate_limit" && f.Quota.Status == "rejected"
}
