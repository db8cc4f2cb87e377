package limit

import (
	"strconv"
	"strings"
	"time"

	"resumed/internal/lazy"
	"resumed/internal/limit/token"
)

type facts struct {
	status   int
	code     Class        // a code that names the class
	family   Class        // a code that names only a family
	period   Class        // by the period of the quota, in a field
	failed   bool         // the record marks itself as a failure
	rejected bool         // a field of the record says that an account's quota was refused
	traits                // running and beijing, and those of phrases
	texts    []string     // the texts of the record
	times    []statedTime // when it lifts; more reliable times come first
}

type statedTime struct {
	value string
	unit  time.Duration // of a number; 0 if the field holds a point in time
	mixed bool          // the field may hold a point in time or a duration
}

func (f *facts) known() bool {
	return f.code != None || f.family != None || f.status != 0 || f.rejected
}

// leadsWithCode: a known code in the spelling of programs, such as insufficient_quota.
func leadsWithCode(src string, toks []token.Token) bool {
	end := 1
	for end < len(toks) && toks[end].Kind == token.Word && src[toks[end-1].End:toks[end].Start] == "_" {
		end++
	}
	if end < 2 || end < len(toks) && !toks[end].First && !toks[end].Is(":") {
		return false
	}
	_, ok := codes().phrases.At(toks[:end], 0)
	return ok
}

func (f *facts) addCode(code string) {
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
		if f.status == 0 && n >= 400 && n < 600 {
			f.status = n
		}
		if n >= firstOfZai && n <= lastOfZai {
			f.traits |= beijing
		}
	}
}

// The range of Z.ai's codes, which no other provider uses.
const firstOfZai, lastOfZai = 1300, 1330

func (f *facts) name(n phrase) {
	switch {
	case n.is(weak) && f.family == None:
		f.family = n.class
	case !n.is(weak) && (f.code == None || n.class == Billing):
		f.code = n.class
	}
}

func meaning(code string) (phrase, bool) {
	toks := token.Cut(token.Clip(code))
	h, ok := codes().phrases.At(toks, 0)
	if !ok || !h.Open && h.End < len(toks) && !toks[h.End].Is("error") && !toks[h.End].Is("exception") {
		return phrase{}, false
	}
	return h.Means, true
}

// splitRecord removes the structured part of a message and returns its facts, and the message with "{}"
// in its place. It returns false for a record that is not a refusal: a prompt, the output of a tool, a
// normal answer.
func splitRecord(s string) (f *facts, rest string, ok bool) {
	if f, rest, ok = splitPage(s); ok {
		return f, rest, true
	}
	fields, rest := splitFields(s)
	if len(fields) == 0 {
		return nil, s, true
	}
	f = &facts{}
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
				f.failed = true
			}
		case "hookeventname":
			failedHook = field.value == "StopFailure"
		case "isapierrormessage":
			isError = field.value == "true"
		case "iserror":
			answer = answer || field.value == "false"
			f.failed = f.failed || field.value == "true"
		case "failure":
			f.failed = true
		case "ratelimittype":
			quota = true
		case "status":
			answer = answer || strings.HasPrefix(field.value, "allowed")
		case "retryattempt":
			f.traits |= running
		case "willretry":
			f.traits &^= running
			if field.value == "true" {
				f.traits |= running
			}
		case "lastassistantmessage":
			if failedHook {
				f.texts = append(f.texts, field.value)
			}
		}
		f.add(field)
	}
	f.rejected = f.rejected && (quota || len(f.times) > 0)
	return f, rest, !answer || isError
}

func (f *facts) add(field field) {
	switch field.key {
	case "code", "status", "statuscode", "httpstatus", "httpstatuscode", "apierrorstatus", "errorstatus", "errorcode",
		"type", "reason", "error", "errortype", "apierror", "apierrortype", "codexerrorinfo", "name",
		"ratelimitreachedtype", "ratelimittype", "errorinfo":
		f.addCodeField(field)
	case "message", "text", "errormessage", "result", "detail", "details", "content", "title", "formatted", "description", "msg":
		if field.quoted {
			f.texts = append(f.texts, field.value)
		}
	case "quotaid":
		if c := quotaPeriod(field.value); c != None {
			f.period = c
		}
	case "resetsat", "resetat", "resettime", "resettimestamp", "quotaresettimestamp", "retryat", "nextretryat", "next", "resetstime":
		f.times = append(f.times, statedTime{value: field.value, mixed: true})
	case "resetsinseconds", "resetafterseconds", "resetseconds", "quotaresetdelay", "retryafter", "retryafterseconds", "retryafters", "resetsin", "retrydelay", "resetafter":
		f.times = append(f.times, statedTime{value: field.value, unit: time.Second, mixed: true})
	case "retrydelayms", "retryafterms", "retryinms":
		f.times = append(f.times, statedTime{value: field.value, unit: time.Millisecond})
	default:
		switch {
		case strings.HasSuffix(field.key, "ratelimitreset"):
			f.times = append(f.times, statedTime{value: field.value, unit: time.Second, mixed: true})
		case field.quoted && strings.HasPrefix(field.value, "{"):
			f.texts = append(f.texts, field.value) // another provider's answer
		}
	}
}

func (f *facts) addCodeField(field field) {
	switch {
	case field.value == "rejected" && field.key == "status":
		f.rejected = true
	case strings.Contains(field.value, " | "): // a list of the possible codes
	case field.quoted && strings.Contains(field.value, " "):
		if means, ok := meaning(field.value); ok {
			f.name(means)
		} else {
			f.texts = append(f.texts, field.value)
		}
	default:
		f.addCode(field.value)
	}
}

// quotaPeriod reads names such as GenerateRequestsPerDayPerProjectPerModel.
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

// field is a key with a plain value, as in JSON or a printed struct.
type field struct {
	key    string // lower case, without separators
	value  string
	quoted bool // the value was quoted
}

const mostFields = 400

// The structure may be truncated, or be the inside of an object.
func splitFields(s string) (fields []field, rest string) {
	start, end := structure(s)
	if start < 0 {
		return nil, s
	}
	inside := s[start:end]
	if strings.HasPrefix(strings.TrimLeft(inside, "{[ \t\r\n"), `\"`) {
		inside = strings.ReplaceAll(inside, `\"`, `"`)
	}
	if fields = scanFields(inside); len(fields) == 0 {
		return nil, s
	}
	return fields, s[:start] + "{}" + s[end:]
}

func structure(s string) (start, end int) {
	if lead := strings.TrimLeft(s, " \t"); firstKey().MatchString(lead) {
		return len(s) - len(lead), len(s)
	}
	if start = strings.IndexByte(s, '{'); start < 0 {
		return -1, -1
	}
	if end = strings.LastIndexByte(s, '}') + 1; end <= start {
		end = len(s)
	}
	return start, end
}

const (
	double = `"(?:[^"\\]|\\.)*"?`
	// An apostrophe in a single-quoted string does not end it.
	single     = `'(?:[^'\\]|\\.|'[^,:}\]) \t\r\n])*'?`
	plainChars = `[0-9A-Za-z_.+-]*`
)

// keyAndValue matches a string or a name and, if a colon follows, its value, also as Rust prints an optional one.
var (
	keyAndValue = lazy.Regexp(`(?s)(?:(` + double + `)|[{\[,:(][ \t\r\n]*(` + single + `)|([0-9A-Za-z]` + plainChars + `))` +
		`([ \t\r\n]*:[ \t\r\n]*(?:Some\()?(?:(` + double + `|` + single + `)|(` + plainChars + `)))?`)
	firstKey = lazy.Regexp(`(?s)^"(?:[^"\\]|\\.)*"[ \t]*:`)
)

// separators are removed from keys: retry_after, retry-after and retryAfter are one.
var separators = strings.NewReplacer("_", "", "-", "", ".", "")

func scanFields(s string) (fields []field) {
	for rest := s; len(fields) < mostFields; {
		m := keyAndValue().FindStringSubmatchIndex(rest)
		if m == nil {
			break
		}
		group := func(n int) string { return rest[max(0, m[2*n]):max(0, m[2*n+1])] }
		f := field{key: separators.Replace(token.Lower(unquote(group(1)+group(2)) + group(3))), value: unquote(group(5)) + group(6), quoted: m[10] >= 0}
		rest = rest[m[1]:]
		switch {
		case m[8] < 0:
		case f.value != "":
			fields = append(fields, f)
		case f.key == "error" && rest != "" && strings.IndexByte("{[", rest[0]) >= 0:
			fields = append(fields, field{key: "failure"})
		}
	}
	return fields
}

func unquote(s string) string {
	if s == "" {
		return ""
	}
	raw, closed := strings.CutSuffix(s[1:], s[:1])
	if !closed || !strings.Contains(raw, `\`) {
		return raw
	}
	if v, err := strconv.Unquote(`"` + strings.ReplaceAll(raw, `\/`, "/") + `"`); err == nil {
		return v
	}
	return strings.ReplaceAll(raw, `\"`, `"`)
}
