package limit

// codes are error codes of providers and agents, as words. A code that only
// names a family is weak: the words of the same refusal may say which member.
var codes lexicon[ruling]

func init() {
	codes.add(ruling{class: Billing}, `
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
	codes.add(ruling{class: ContextOverflow}, `
		context length|window|overflow|limit *
		prompt too long
		request too large
		model context window *
		string above max length
		session budget exceeded
	`)
	codes.add(ruling{class: UsageLimit}, `
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
	codes.add(ruling{class: Overloaded}, `
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
	codes.add(ruling{class: Auth, weak: true}, `
		permission denied error
	`)
	codes.add(ruling{class: Auth}, `
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
	codes.add(ruling{class: Cancelled}, `
		message aborted *
		aborted|cancelled|canceled|interrupted *
		user cancelled|canceled|aborted|interrupted
		request cancelled|canceled|aborted
	`)
	codes.add(ruling{class: Network}, `
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
	codes.add(ruling{class: BadRequest}, `
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
	codes.add(ruling{class: RateLimit, weak: true}, `
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
	codes.add(ruling{class: ServerError, weak: true}, `
		server|api|internal error *
		internal server error
		internal
		service unavailable *
		unavailable
		bad gateway
		gateway timeout
	`)
	codes.add(ruling{class: BadRequest, weak: true}, `
		invalid request *
		invalid argument
		invalid prompt
		validation *
		bad request *
		failed precondition
		unprocessable *
	`)
}

// byStatus returns the family that an HTTP status names.
func byStatus(status int) Class {
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

// admits reports whether a refusal with that status can be of that class:
// whether words and codes may say so.
func admits(status int, c Class) bool {
	switch {
	case c == None:
		return false
	case c == byStatus(status) || status < 400 || status >= 600:
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
