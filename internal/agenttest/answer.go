package agenttest

import "time"

// Kind is what a provider does with a request.
type Kind string

// The kinds. Each dialect sends them in its own way.
const (
	KindText       Kind = "text"
	KindTool       Kind = "tool"
	KindRateLimit  Kind = "rate_limit"
	KindUsageLimit Kind = "usage_limit"
	KindWeekly     Kind = "weekly_limit"
	KindAllowance  Kind = "allowance"
	KindOverloaded Kind = "overloaded"
	KindServer     Kind = "server_error"
	KindDown       Kind = "unavailable"
	KindAuth       Kind = "unauthorized"
	KindTooLong    Kind = "too_long"
	KindBroken     Kind = "broken_stream"
	KindReset      Kind = "reset"
	KindCut        Kind = "cut_stream"
	KindHang       Kind = "hang"
	KindStuck      Kind = "stuck_stream"
)

// Answer is what the provider does with one request.
type Answer struct {
	kind  Kind
	text  string        // the answer, or the command to run
	after time.Duration // until the limit lifts; 0: not stated
	think time.Duration // delay before the answer
	tool  string        // the tool to call with input, instead of a shell command
	input object
}

// Thinking delays the answer.
func (a Answer) Thinking(d time.Duration) Answer {
	a.think = d
	return a
}

// Kind returns the kind of the answer.
func (a Answer) Kind() Kind { return a.kind }

// Text answers with a text and ends the turn.
func Text(text string) Answer { return Answer{kind: KindText, text: text} }

// Tool asks the agent to run a shell command.
func Tool(command string) Answer { return Answer{kind: KindTool, text: command} }

// Call asks the agent to call a tool. Only Anthropic's dialect sends it.
func Call(tool string, input map[string]any) Answer {
	return Answer{kind: KindTool, tool: tool, input: input}
}

// RateLimit refuses with 429, and with Retry-After if after is not 0.
func RateLimit(after time.Duration) Answer { return Answer{kind: KindRateLimit, after: after} }

// UsageLimit refuses like a subscription with a used up five-hour allowance, and states when it
// resets.
func UsageLimit(after time.Duration) Answer { return Answer{kind: KindUsageLimit, after: after} }

// WeeklyLimit is UsageLimit for a weekly allowance.
func WeeklyLimit(after time.Duration) Answer { return Answer{kind: KindWeekly, after: after} }

// Allowance refuses with 403 because an allowance is used up, and states no reset, as Moonshot does.
func Allowance() Answer { return Answer{kind: KindAllowance} }

// Overloaded refuses because the provider is overloaded: 529, or the same in other dialects.
func Overloaded() Answer { return Answer{kind: KindOverloaded} }

// ServerError refuses with 500.
func ServerError() Answer { return Answer{kind: KindServer} }

// Unavailable refuses with 503.
func Unavailable() Answer { return Answer{kind: KindDown} }

// Unauthorized refuses the key, with 401.
func Unauthorized() Answer { return Answer{kind: KindAuth} }

// TooLong refuses because the conversation does not fit the model, with 400.
func TooLong() Answer { return Answer{kind: KindTooLong} }

// BrokenStream begins to answer and then reports an error in the stream.
func BrokenStream() Answer { return Answer{kind: KindBroken} }

// Reset resets the connection before the first byte of an answer.
func Reset() Answer { return Answer{kind: KindReset} }

// CutStream begins to answer and then resets the connection.
func CutStream() Answer { return Answer{kind: KindCut} }

// Hang never answers.
func Hang() Answer { return Answer{kind: KindHang} }

// StuckStream begins to answer and then stops sending.
func StuckStream() Answer { return Answer{kind: KindStuck} }

// refuses reports whether the answer is a status and a body, not a stream.
func (a Answer) refuses() bool {
	switch a.kind {
	case KindRateLimit, KindUsageLimit, KindWeekly, KindAllowance, KindOverloaded, KindServer, KindDown, KindAuth, KindTooLong:
		return true
	default:
		return false
	}
}

// resetAt returns when the limit lifts, in whole seconds as providers state it, or zero.
func (a Answer) resetAt(now time.Time) time.Time {
	if a.after == 0 {
		return time.Time{}
	}
	return now.Add(a.after).Truncate(time.Second)
}
