package transcript

import (
	"slices"
	"strings"

	"resumed/internal/limit"
)

// Refusal is a request that was refused: in a transcript, in the output of a run, or for a hook.
type Refusal struct {
	Text      string `json:"-"`
	Error     string `json:"error"`    // Claude Code's own code
	APIError  string `json:"apiError"` // a more precise one, in later versions
	Status    int    `json:"apiErrorStatus"`
	ErrorType string `json:"apiErrorType"`     // the provider's code
	Hopeless  bool   `json:"resendCannotCure"` // sending the same again does not help
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

// Verdict returns the meaning of the refusal that ended a turn. Fields have precedence; versions
// before 2.1.198 have little more than text.
func (f Refusal) Verdict(reader limit.Reader) limit.Verdict {
	v := reader.Refusal(limit.Refusal{Status: f.Status, Code: f.ErrorType, Text: f.Text})
	v.Class = f.class(v)
	v.InProgress = false // Claude Code writes this when it has given up
	v.WaitHelps = v.Class.Transient() && !f.Hopeless
	if at, ok := f.Quota.Reset(); ok && f.outOfQuota() {
		v.Reset = limit.Reset{At: at, Source: limit.Structured}
	}
	return v
}

// class returns the class by the refusal's fields, else by its words. The error code "rate_limit"
// alone is used for a throttle, a usage limit, a spend cap and missing credits.
func (f Refusal) class(words limit.Verdict) limit.Class {
	switch {
	case f.outOfQuota():
		window := f.Quota.Type
		if window == "overage" || window == "" && words.Class == limit.Billing {
			return limit.Billing // a spend cap: it must be raised, waiting does not help
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
		return limit.UsageLimit // 2.0 calls a window that resets by itself a spending cap
	default:
		return words.Class
	}
}

// errorClasses are the classes of Claude Code's own error codes, unless the words tell one of the
// listed classes, which is more precise.
var errorClasses = map[string]struct {
	class  limit.Class
	unless []limit.Class
}{
	"billing_error":          {class: limit.Billing},
	"authentication_failed":  {limit.Auth, []limit.Class{limit.Billing, limit.UsageLimit, limit.RateLimit}}, // used for any 403
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

// Stated reports whether the record contains a quota.
func (q Quota) Stated() bool { return q.Status != "" || q.ResetsAt != 0 }

// outOfQuota reports whether the account's limit refused the request. A warning has the same form,
// and other errors may also contain a quota.
func (f Refusal) outOfQuota() bool {
	if f.APIError != "" {
		return f.APIError == "usage_limit_reached"
	}
	return f.Error == "rate_limit" && f.Quota.Status == "rejected"
}
