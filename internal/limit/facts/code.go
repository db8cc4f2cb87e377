package facts

import (
	"resumed/internal/limit/class"
	"resumed/internal/limit/token"
)

// naming is what a code says.
type naming struct {
	class class.Class
	weak  bool // it only names a family
}

// codes are error codes of providers and agents, as words. A code that only
// names a family is weak: the words of the same refusal may say which member.
var codes token.Lexicon[naming]

func init() {
	codes.Add(naming{class: class.Billing}, `
		insufficient * quota|credits|balance|funds *
		billing *
		credit *
		credits *
		payment *
		long context credits *
		usage not included
		workspace * credits depleted
		workspace * usage limit reached
		workspace * spend
		spend|spending *
		org|organization spend|level|service *
		out of credits
		overage
		arrearage
		budget exceeded *
		exceeded budget *
		exceeded current quota *
		allocation quota free *
	`)
	codes.Add(naming{class: class.ContextOverflow}, `
		context length|window|overflow|limit *
		prompt too long
		request too large
		model context window *
		string above max length
		session budget exceeded
	`)
	codes.Add(naming{class: class.UsageLimit}, `
		usage limit|limited *
		go usage limit *
		free usage limit *
		quota exhausted
		quota exceeded
		daily|weekly|monthly *
		free tier limit
		account rate limit
		session limit *
	`)
	codes.Add(naming{class: class.Overloaded}, `
		overloaded *
		server overloaded
		server is overloaded
		model capacity *
		service tier capacity *
		capacity exceeded|exhausted|unavailable
		model overloaded
		policy capacity unavailable
		flex unavailable
		engine overloaded *
	`)
	// So SDKs call every 403.
	codes.Add(naming{class: class.Auth, weak: true}, `
		permission denied error
	`)
	codes.Add(naming{class: class.Auth}, `
		auth|authentication|authorization *
		unauthorized|unauthenticated|forbidden
		permission *
		invalid|missing|incorrect api key *
		invalid authentication|credentials|token *
		api key *
		oauth *
		token expired|revoked
		account on hold
		account|organization|user suspended|disabled|deactivated
		verification required
		cloud credential error
		provider auth *
	`)
	codes.Add(naming{class: class.Cancelled}, `
		message aborted *
		aborted|cancelled|canceled|interrupted *
		user cancelled|canceled|aborted|interrupted
		request cancelled|canceled|aborted
	`)
	codes.Add(naming{class: class.Network}, `
		connection *
		network *
		econnreset|econnrefused|enotfound|etimedout|epipe|ehostunreach|enetunreach
		eai again
		stream truncated
		fetch failed
		api connection *
		timeout *
		request timeout *
		deadline exceeded
		response stream disconnected
		response stream connection failed
	`)
	codes.Add(naming{class: class.BadRequest}, `
		cyber policy *
		misalignment *
		content policy|filter *
		policy violation
		refusal
		model not found
		not found *
		max output tokens *
		message output length *
		too many denials
		sandbox error
	`)
	codes.Add(naming{class: class.RateLimit, weak: true}, `
		rate limit|limited|limits *
		provider rate limit *
		too many *
		throttled|throttling *
		resource exhausted
		slow down
		requests
		tokens
		response too many failed attempts
		request limit *
	`)
	codes.Add(naming{class: class.ServerError, weak: true}, `
		server|api|internal error *
		internal server error
		internal
		service unavailable *
		unavailable
		bad gateway
		gateway timeout
	`)
	codes.Add(naming{class: class.BadRequest, weak: true}, `
		invalid request *
		invalid argument
		invalid prompt
		validation *
		bad request *
		failed precondition
		unprocessable *
	`)
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
