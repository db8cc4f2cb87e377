package limit

import (
	"strings"
	"time"
)

// nesting is how deep messages within messages are read.
const nesting = 3

// record reads the fields of a structured message. It reports false for
// a record that is no refusal: what a person or a tool said, a plain answer.
func (r Reader) record(fields []field, depth int) (evidence, bool) {
	var e evidence
	var quota, answer, isError bool
	for _, f := range fields {
		switch f.key {
		case "role", "type", "kind":
			switch f.value {
			case "user", "tool_result", "tool_use", "function_call_output", "tool":
				return evidence{}, false
			case "assistant":
				answer = true
			}
		case "hookeventname":
			e.failedHook = f.value == "StopFailure"
		case "isapierrormessage":
			isError = f.value == "true"
		case "iserror":
			answer = answer || f.value == "false"
		case "ratelimittype":
			quota = true
		case "quotaid":
			if c := quotaPeriod(f.value); c != None {
				e.strong, e.paced, e.counted = c, false, true
			}
		case "retryattempt":
			e.running = true
		case "willretry":
			e.running = f.value == "true"
		}
		r.field(&e, f, depth)
	}
	if answer && !isError {
		return evidence{}, false
	}
	e.rejected = e.rejected && (quota || e.reset.Stated())
	return e, true
}

// field adds what one field says.
func (r Reader) field(e *evidence, f field, depth int) {
	switch f.key {
	case "code", "status", "statuscode", "httpstatus", "httpstatuscode", "apierrorstatus", "errorstatus", "errorcode",
		"type", "reason", "error", "errortype", "apierror", "apierrortype", "codexerrorinfo", "name",
		"ratelimitreachedtype", "ratelimittype", "errorinfo":
		r.codeField(e, f, depth)
	case "lastassistantmessage":
		if e.failedHook {
			e.merge(r.gather(f.value, true, depth+1))
		}
	case "message", "text", "errormessage", "result", "detail", "details", "content", "title", "formatted", "description", "msg":
		if f.text && depth < nesting {
			e.merge(r.gather(f.value, true, depth+1))
		}
	default:
		if reset, ok := r.timeField(f); ok {
			e.addReset(reset)
		}
	}
}

func (r Reader) codeField(e *evidence, f field, depth int) {
	if n, ok := f.number(); ok {
		if n >= 400 && n < 600 && e.status == 0 {
			e.status = int(n)
		}
		return
	}
	if f.value == "rejected" && f.key == "status" {
		e.rejected = true
		return
	}
	if strings.Contains(f.value, " | ") {
		return // it says which codes there are
	}
	if ru, ok := codeRuling(f.value); ok {
		e.addCode(ru)
	} else if f.text && strings.Contains(f.value, " ") && depth < nesting {
		e.merge(r.gather(f.value, true, depth+1))
	}
}

func codeRuling(code string) (ruling, bool) {
	toks := tokenize(clip(code))
	h, ok := codes.at(toks, 0)
	if !ok || !h.open && h.end < len(toks) && !toks[h.end].is("error") && !toks[h.end].is("exception") {
		return ruling{}, false
	}
	return h.means, true
}

// timeField reads a field that says when.
func (r Reader) timeField(f field) (Reset, bool) {
	n, isNumber := f.number()
	unit := time.Duration(0)
	switch f.key {
	case "resetsat", "resetat", "resettime", "resettimestamp", "quotaresettimestamp", "retryat", "nextretryat", "next", "resetstime":
		if at, ok := Epoch(n); isNumber && ok {
			return Reset{At: at, Source: Words}, true
		}
		if at, err := time.Parse(time.RFC3339Nano, f.value); err == nil && thinkable(at) {
			return Reset{At: at, Source: Words}, true
		}
		return Reset{}, false
	case "resetsinseconds", "resetafterseconds", "retryafter", "retryafterseconds", "retryafters", "resetsin", "retrydelay", "resetafter":
		unit = time.Second
	case "retrydelayms", "retryafterms", "retryinms":
		unit = time.Millisecond
	}
	switch {
	case unit == 0 && strings.HasSuffix(f.key, "ratelimitreset"):
		at, ok := r.resetValue(f.value)
		return Reset{At: at, Source: Words}, ok
	case unit == 0:
		return Reset{}, false
	case !isNumber:
		return r.When(f.value)
	default:
		return r.after(n, unit, Words)
	}
}

// after returns the reset that lies n units ahead.
func (r Reader) after(n float64, unit time.Duration, source Source) (Reset, bool) {
	wait := n * float64(unit)
	if r.At.IsZero() || !(wait >= 0 && wait <= float64(longestWait)) {
		return Reset{}, false
	}
	return Reset{At: r.At.Add(time.Duration(wait)), Source: source}, true
}

// quotaPeriod reads the period out of a quota's name, such as
// GenerateRequestsPerDayPerProjectPerModel.
func quotaPeriod(id string) Class {
	switch {
	case strings.Contains(id, "PerDay"):
		return UsageLimit
	case strings.Contains(id, "PerMinute"), strings.Contains(id, "PerSecond"):
		return RateLimit
	default:
		return None
	}
}
