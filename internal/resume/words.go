package resume

import "resumed/internal/limit"

// describe says what stopped a session, for people.
func describe(v limit.Verdict, text string) string {
	if v.Class == limit.None {
		return "asked for by you"
	}
	words := classWords(v.Class)
	if text != "" {
		return words + ": " + text
	}
	return words
}

func classWords(c limit.Class) string {
	switch c {
	case limit.RateLimit:
		return "rate limit"
	case limit.UsageLimit:
		return "usage limit"
	case limit.Overloaded:
		return "provider overloaded"
	case limit.ServerError:
		return "provider error"
	case limit.Network:
		return "network"
	case limit.Unknown:
		return "a failure that nobody understands"
	case limit.Auth:
		return "not logged in"
	case limit.ContextOverflow:
		return "context too long"
	case limit.BadRequest:
		return "request refused"
	default:
		return c.String()
	}
}

func plural(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}
