package facts

import (
	_ "embed"

	"resumed/internal/limit/class"
	"resumed/internal/limit/token"
)

// naming is what a code says.
type naming struct {
	class class.Class
	weak  bool // it only names a family
}

//go:embed codes.tsv
var codesFile string

// codes are error codes of providers and agents, as words; exceptions are the
// names of exceptions that are no provider's code.
var codes, exceptions token.Lexicon[naming]

func init() {
	for columns := range token.Rows(codesFile) {
		means, err := class.Parse(columns[1])
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

// ByStatus returns the family that an HTTP status names.
func ByStatus(status int) class.Class {
	switch {
	case status == 401 || status == 403 || status == 407:
		return class.Auth
	case status == 402:
		return class.Billing
	case status == 408:
		return class.Network
	case status == 413:
		return class.ContextOverflow
	case status == 429:
		return class.RateLimit
	case status == 499:
		return class.Cancelled
	case status == 529:
		return class.Overloaded
	case status >= 500 && status < 600:
		return class.ServerError
	case status >= 400 && status < 500:
		return class.BadRequest
	default:
		return class.None
	}
}

// Admits reports whether a refusal with that status can be of that class:
// whether words and codes may say so.
func Admits(status int, c class.Class) bool {
	switch {
	case c == class.None:
		return false
	case c == ByStatus(status) || status < 400 || status >= 600:
		return true
	case status == 402 || status == 529:
		return false
	case c == class.Billing || c == class.ContextOverflow || c == class.UsageLimit:
		return true
	case status == 429 || status == 503:
		return c == class.Overloaded || c == class.RateLimit
	case status >= 500:
		return c == class.RateLimit
	case status == 401 || status == 403:
		return c == class.RateLimit || c == class.BadRequest
	default:
		return c == class.Auth || c == class.RateLimit || c == class.Overloaded || c == class.Network
	}
}
