// Package facts reads what the fields of a refusal say, rather than its words:
// statuses, codes, headers, and the structured part of a message.
package facts

import (
	"strconv"
	"strings"
	"time"

	"resumed/internal/limit/class"
	"resumed/internal/limit/token"
)

// Facts is what the fields of one refusal say.
type Facts struct {
	Status   int
	Code     class.Class // a code that names the class
	Family   class.Class // a code that names only a family
	Period   class.Class // by the period of the quota, in a field
	Failed   bool        // the record says itself that it reports a failure
	Rejected bool        // an account's quota was refused, by the record's own field
	Running  bool        // the agent tries again by itself
	Beijing  bool        // by a provider that states times as they are in Beijing
	Texts    []string    // what the record says in words
	Times    []Time      // when it lifts, as stated; those that are trusted more come first
}

// Time is a time as a field states it.
type Time struct {
	Value string
	Unit  time.Duration // of a number; 0 where the field holds a point in time
	Any   bool          // the field may hold a length as well
}

// Known reports whether a field says by itself what was refused.
func (f *Facts) Known() bool {
	return f.Code != class.None || f.Family != class.None || f.Status != 0 || f.Rejected
}

// Leads reports whether the tokens begin with a code that is known, as
// programs spell it: insufficient_quota.
func Leads(src string, toks []token.Token) bool {
	end := 1
	for end < len(toks) && toks[end].Kind == token.Word && src[toks[end-1].End:toks[end].Start] == "_" {
		end++
	}
	if end < 2 || end < len(toks) && !toks[end].First && !toks[end].Is(":") {
		return false
	}
	_, ok := codes.At(toks[:end], 0)
	return ok
}

// AddCode adds what a code says.
func (f *Facts) AddCode(code string) {
	if code == "" {
		return
	}
	if !token.IsDigit(rune(code[0])) {
		if means, ok := meaning(code); ok {
			f.name(means)
		}
		return
	}
	if n, err := strconv.Atoi(code); err == nil {
		if f.Status == 0 && n >= 400 && n < 600 {
			f.Status = n
		}
		f.Beijing = f.Beijing || n >= firstOfZai && n <= lastOfZai
	}
}

// Codes of Z.ai, which no other provider has.
const firstOfZai, lastOfZai = 1300, 1330

func (f *Facts) name(n naming) {
	switch {
	case n.weak && f.Family == class.None:
		f.Family = n.class
	case !n.weak && (f.Code == class.None || n.class == class.Billing):
		f.Code = n.class
	}
}

func meaning(code string) (naming, bool) {
	toks := token.Cut(token.Clip(code))
	h, ok := codes.At(toks, 0)
	if !ok || !h.Open && h.End < len(toks) && !toks[h.End].Is("error") && !toks[h.End].Is("exception") {
		return naming{}, false
	}
	return h.Means, true
}

// Split takes the structured part out of a message and returns what it says, and
// the message with "{}" in its place. It reports false for a record that is no
// refusal: what a person or a tool said, a plain answer.
func Split(s string) (f *Facts, rest string, ok bool) {
	fields, rest := splitFields(s)
	if len(fields) == 0 {
		return nil, s, true
	}
	f = &Facts{}
	var quota, answer, isError, failedHook bool
	for _, field := range fields {
		switch field.key {
		case "role", "type", "kind":
			switch field.value {
			case "user", "tool_result", "tool_use", "function_call_output", "tool":
				return nil, rest, false
			case "assistant":
				answer = true
			case "error", "turn.failed":
				f.Failed = true
			}
		case "hookeventname":
			failedHook = field.value == "StopFailure"
		case "isapierrormessage":
			isError = field.value == "true"
		case "iserror":
			answer = answer || field.value == "false"
			f.Failed = f.Failed || field.value == "true"
		case "failure":
			f.Failed = true
		case "ratelimittype":
			quota = true
		case "retryattempt":
			f.Running = true
		case "willretry":
			f.Running = field.value == "true"
		case "lastassistantmessage":
			if failedHook {
				f.Texts = append(f.Texts, field.value)
			}
		}
		f.add(field)
	}
	f.Rejected = f.Rejected && (quota || len(f.Times) > 0)
	return f, rest, !answer || isError
}

// add adds what one field says.
func (f *Facts) add(field field) {
	switch field.key {
	case "code", "status", "statuscode", "httpstatus", "httpstatuscode", "apierrorstatus", "errorstatus", "errorcode",
		"type", "reason", "error", "errortype", "apierror", "apierrortype", "codexerrorinfo", "name",
		"ratelimitreachedtype", "ratelimittype", "errorinfo":
		f.addCodeField(field)
	case "message", "text", "errormessage", "result", "detail", "details", "content", "title", "formatted", "description", "msg":
		if field.quoted {
			f.Texts = append(f.Texts, field.value)
		}
	case "quotaid":
		if c := quotaPeriod(field.value); c != class.None {
			f.Period = c
		}
	case "resetsat", "resetat", "resettime", "resettimestamp", "quotaresettimestamp", "retryat", "nextretryat", "next", "resetstime":
		f.Times = append(f.Times, Time{Value: field.value})
	case "resetsinseconds", "resetafterseconds", "retryafter", "retryafterseconds", "retryafters", "resetsin", "retrydelay", "resetafter":
		f.Times = append(f.Times, Time{Value: field.value, Unit: time.Second, Any: true})
	case "retrydelayms", "retryafterms", "retryinms":
		f.Times = append(f.Times, Time{Value: field.value, Unit: time.Millisecond})
	default:
		if strings.HasSuffix(field.key, "ratelimitreset") {
			f.Times = append(f.Times, Time{Value: field.value, Unit: time.Second, Any: true})
		}
	}
}

func (f *Facts) addCodeField(field field) {
	switch {
	case field.value == "rejected" && field.key == "status":
		f.Rejected = true
	case strings.Contains(field.value, " | "): // it says which codes there are
	case field.quoted && strings.Contains(field.value, " "):
		if means, ok := meaning(field.value); ok {
			f.name(means)
		} else {
			f.Texts = append(f.Texts, field.value)
		}
	default:
		f.AddCode(field.value)
	}
}

// quotaPeriod reads the period out of a quota's name, such as
// GenerateRequestsPerDayPerProjectPerModel.
func quotaPeriod(id string) class.Class {
	switch {
	case strings.Contains(id, "PerDay"):
		return class.UsageLimit
	case strings.Contains(id, "PerMinute"), strings.Contains(id, "PerSecond"):
		return class.RateLimit
	default:
		return class.None
	}
}
