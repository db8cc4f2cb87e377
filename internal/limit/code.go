package limit

import (
	_ "embed"

	"resumed/internal/limit/token"
)

// naming is the meaning of a code.
type naming struct {
	class Class
	weak  bool // it names only a family of classes
}

//go:embed codes.tsv
var codesFile string

// codes are error codes of providers and agents, split into words. exceptions are names of exceptions
// that are not a provider's code.
var codes, exceptions token.Lexicon[naming]

func init() {
	for columns := range token.Rows(codesFile) {
		means, err := ParseClass(columns[1])
		if err != nil {
			panic(err)
		}
		if columns[2] == "exception" {
			exceptions.Add(naming{class: means}, columns[0])
		} else {
			codes.Add(naming{means, columns[2] == "weak"}, columns[0])
		}
	}
}

// classOfStatus returns the class that an HTTP status stands for by itself.
func classOfStatus(status int) Class {
	switch {
	case status == 401 || status == 403 || status == 407:
		return Auth
	case status == 402:
		return Billing
	case status == 408:
		return Network
	case status == 413:
		return ContextOverflow
	case status == 429:
		return RateLimit
	case status == 499:
		return Cancelled
	case status == 529:
		return Overloaded
	case status >= 500 && status < 600:
		return ServerError
	case status >= 400 && status < 500:
		return BadRequest
	default:
		return None
	}
}

// admits reports whether a refusal with that status can be of that class, if words or codes say so.
func admits(status int, c Class) bool {
	switch {
	case c == None:
		return false
	case c == classOfStatus(status) || status < 400 || status >= 600:
		return true
	case status == 402 || status == 529:
		return false
	case c == Billing || c == ContextOverflow || c == UsageLimit:
		return true
	case status == 429 || status == 503:
		return c == Overloaded || c == RateLimit
	case status >= 500:
		return c == RateLimit
	case status == 401 || status == 403:
		return c == RateLimit || c == BadRequest
	default:
		return c == Auth || c == RateLimit || c == Overloaded || c == Network
	}
}
