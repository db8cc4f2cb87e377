package agenttest

import "time"

// Kind is what a provider does with a request.
type Kind string

// The kinds. What each looks like on the wire is the dialect's affair.
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
	text  string        // what is said, or the command that is to be run
	after time.Duration // until the limit lifts; 0: not stated
	think time.Duration // before anything is answered
}

// Thinking is the answer, given after a while.
func (a Answer) Thinking(d time.Duration) Answer {
	a.think = d
	return a
}

// Kind returns what the provider does.
func (a Answer) Kind() Kind { return a.kind }

// Text says something and ends the turn.
func Text(text string) Answer { return Answer{kind: KindText, text: text} }

// Tool asks the agent to run a shell command.
func Tool(command string) Answer { return Answer{kind: KindTool, text: command} }

// RateLimit refuses with 429. Retry-After is sent where after is not 0.
func RateLimit(after time.Duration) Answer { return Answer{kind: KindRateLimit, after: after} }

// UsageLimit refuses as a subscription whose five-hour allowance is used up
// does, and states when it is back.
func UsageLimit(after time.Duration) Answer { return Answer{kind: KindUsageLimit, after: after} }

// WeeklyLimit is UsageLimit for the allowance of a week.
func WeeklyLimit(after time.Duration) Answer { return Answer{kind: KindWeekly, after: after} }

// Allowance refuses with 403 because an allowance is used up, and does not say when it
// is back, as Moonshot does.
func Allowance() Answer { return Answer{kind: KindAllowance} }

// Overloaded refuses because the provider has too much to do: 529, or what the
// dialect has for it.
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

// Reset resets the connection before a byte of an answer.
func Reset() Answer { return Answer{kind: KindReset} }

// CutStream begins to answer and then resets the connection.
func CutStream() Answer { return Answer{kind: KindCut} }

// Hang never answers.
func Hang() Answer { return Answer{kind: KindHang} }

// StuckStream begins to answer and then falls silent.
func StuckStream() Answer { return Answer{kind: KindStuck} }

// refuses reports whether the answer is a status and a body, and no stream.
func (a Answer) refuses() bool {
	switch a.kind {
	case KindRateLimit, KindUsageLimit, KindWeekly, KindAllowance, KindOverloaded, KindServer, KindDown, KindAuth, KindTooLong:
		return true
	default:
		return false
	}
}

// resetAt is when the limit lifts, in whole seconds as providers state it, or
// zero where the answer states none.
func (a Answer) resetAt(now time.Time) time.Time {
	if a.after == 0 {
		return time.Time{}
	}
	return now.Add(a.after).Truncate(time.Second)
}
