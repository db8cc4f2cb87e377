package limit

import "strings"

// ruling is what a statement of the agent means.
type ruling struct {
	class Class

	// weak says little of its own: a kinder word later in the message, a code
	// or a status is believed instead.
	weak bool

	// banner marks a headline that counts only as agents print it: with its
	// time, or as a sentence of its own.
	banner bool

	// running is said by an agent that goes on by itself.
	running bool

	// lifted is said of a limit that is over while the agent waits for a person.
	lifted bool

	// perPeriod leaves the class to the period of the quota: one that is
	// counted by the minute is a pace, any other an allowance.
	perPeriod bool

	// alone is said by an agent that goes on by itself, if it says nothing else.
	alone bool

	// byWait leaves the class to the length of the wait that is asked for.
	byWait bool
}

// limitKinds are what limits are called after: "5-hour limit", "weekly Opus
// limit", "free daily request quota". A limit of another kind (threads,
// retries, file sizes) is the agent's own affair.
var limitKinds = map[string]bool{}

func init() {
	for w := range strings.FieldsSeq(`usage session weekly daily monthly hourly hour hours h day days week month minute
		plan quota model models opus sonnet haiku fable claude codex gemini gpt qwen copilot kiro amazon q developer cursor grok
		free tier pro max plus premium team enterprise individual personal organization org account workspace subscription
		message messages request requests prompt prompts token tokens agentic chat completion completions interaction interactions
		api oauth global baseline base included extra spending user your the cli`) {
		limitKinds[w] = true
	}
}

// statements are what agents and providers say when they refuse, by what it
// means. They stand at the beginning of a clause. Rules that come first win, so
// what looks like a refusal and is none comes before the refusals.
var statements lexicon[ruling]

func init() {
	none := ruling{class: None}
	statements.add(none, `
		youve|you used|consumed # %
		youve|you hit|reached|exceeded your|the fast|thread|concurrency|concurrent|context|output|turn|turns|retry|file|upload|storage|seat|speed|budget limit
		fast limit *
		usage|session|weekly|rate limit|limits has|have? reset · continuing
		usage|session|weekly|rate limit|limits has|have? reset — *
		usage|session|weekly|rate limit|limits :|·|#
		usage limit warning
		retry limit reached
	`)

	statements.add(ruling{class: Cancelled}, `
		request|operation|task|turn|run interrupted|cancelled|canceled|aborted by user|you?
		request|operation was? cancelled|canceled|aborted
		interrupted|cancelled|canceled|aborted by the? user|you
		user interrupted|cancelled|canceled|aborted
		conversation interrupted
		message aborted error
	`)

	statements.add(ruling{class: Billing}, `
		your|the credit|account|wallet|prepaid balance is|was too? low|insufficient|empty|exhausted|negative|depleted
		credit balance is? too? low|insufficient|exhausted
		credit|credits balance exhausted|depleted
		your|the|this * is|are|has|have run? out of * credits|funds
		youre|youve|you are|have? run? out of * credits|funds|balance
		out of credits|funds
		insufficient * credits|credit|quota|balance|funds
		not enough credits|credit|balance|funds
		no credits|quota|balance|funds left|remaining|available
		you have|had no * quota|credits|funds|balance
		your|the * credits|balance|funds have|has|are|is been|all|now? exhausted|depleted|used|gone|expired|empty|out
		quota exceeded . check your plan
		quota exceeded , check your plan
		youve|you|your * hit|reached|exceeded * spend|spending|budget|billing|overage|cost limit|cap|quota|budget
		your|the|org|organization|workspace|account|individual|monthly spend|spending|budget|billing limit|cap *
		spend|spending|budget|billing|overage limit|cap hit|reached|exceeded
		monthly|daily|weekly spend|spending|budget|billing limit|cap hit|reached|exceeded
		billing hard limit
		payment required|failed|method|declined|overdue
		membership|subscription|trial|plan|license has? expired|ended|lapsed|inactive
		your|the * membership|subscription|trial|plan has|is? expired|ended|lapsed|inactive|cancelled
		your|this|the|current * plan|subscription|tier does|do not|doesnt * include|support|cover|access
		your|this|the * plan|subscription doesnt|dont include|support|cover|have
		you need|require a|an * plan|subscription
		to use * with your * plan ,? upgrade *
		no payment method *
		your|the * used|exhausted all? available? credits *
		your|the * hit|reached|exceeded its|their|your|the * spend|spending|budget limit|cap *
		this|the|your|that * not available|included|supported on|in|with|for your * plan|subscription|tier *
		extra usage is required
		extra usage credits? required|needed
		long context credits required
		upgrade required
		youve|you have? exceeded|exhausted|used your premium request|requests allowance *
		this|the model|feature * requires|require a|an|more|paid * plan|subscription|credits|tier
		usage not included
		billing error
	`)

	statements.add(ruling{class: ContextOverflow}, `
		prompt|input|conversation|context|message|session|request is|was|has? too long|large|big
		prompt|input|conversation|context|session exceeds|exceeded *
		your|the|this * prompt|input|conversation|context|messages|message|session|request is|are|exceeds|exceed|exceeded|resulted too|the|context|maximum|model|in * long|large|context|length|window|limit|tokens
		your|the input exceeds *
		input length and * exceed context limit
		input length exceeds|exceeded *
		input token count exceeds|exceeded *
		input tokens exceed *
		context length|window|limit exceeded|full|overflow|reached|exhausted
		context overflow *
		context limit reached
		maximum context length|window *
		this models maximum context *
		model context window exceeded
		ran out of room in *
		codex ran out of room *
		claude ran out of room *
		session too large *
		request too large|long *
		request entity too large
		too many tokens in|for *
		exceeds|exceed|exceeded the? * context|token limit|window|length
	`)

	statements.add(ruling{class: Auth}, `
		not logged|signed in
		youre|you are? not logged|signed in
		please run / login
		please log|sign|login in|again|to *
		sign in to *
		log in to *
		login required|expired|failed
		invalid|incorrect|missing|expired|bad|wrong|revoked x? api key|token|credentials|credential|authentication|bearer
		no api key|credentials|auth|authentication *
		api key not valid|found|set|provided|configured
		api key is|has|was invalid|expired|missing|been|not *
		your|the * api key|token|credentials|login|session|authentication|account is|has|have|was|does|are invalid|expired|been|revoked|missing|disabled|not|suspended|deactivated|on
		your * token could not be refreshed *
		oauth|auth|access|refresh|session token has|is|was|refresh? expired|been|revoked|invalid|missing|failed|not
		oauth|auth error|failure|failed|session *
		authentication|authorization error|failed|failure|required|expired
		could not|couldnt authenticate *
		failed|unable to authenticate|login|refresh *
		unauthorized
		unauthenticated
		permission denied error|for|on|.|,
		permission error
		forbidden
		organization|account|user has been|is disabled|suspended|deactivated|banned|on
		this|your organization|account has|is been|on disabled|suspended|deactivated|hold
		account on hold
		your|this account does|do not have access *
		oauth org not allowed
		verification required
		cloud credential error
		missing * authentication|credentials
	`)
	addLimits()
}

// asides mean what they say wherever they stand in a refusal.
var asides lexicon[ruling]

func init() {
	asides.add(ruling{class: Billing}, `
		not available|included|supported on|in|with|for your * plan|subscription|tier
	`)
	asides.add(ruling{class: ContextOverflow}, `
		ran out of room in the * context
		exceed|exceeds|exceeded|over the? * context limit|window|length
	`)
	asides.add(ruling{class: UsageLimit}, `
		reached for this month|week|day
	`)
	asides.add(ruling{class: ServerError}, `
		experiencing high demand , which may cause
	`)
	asides.add(ruling{class: Overloaded}, `
		is|are at|over capacity
		experiencing high|heavy demand|traffic|load
		is|are currently? overloaded
	`)
	asides.add(ruling{class: BadRequest}, `
		safeguards flagged this
		unable to respond to this request
		issue with the selected model
		exceeded the # output token maximum
		violate|violates our|the * policy|policies|terms
	`)
	asides.add(ruling{class: RateLimit, weak: true, running: true}, `
		automatically switching|switched
		switching to the|another *
		now using
	`)
	asides.add(ruling{class: Network, weak: true}, `
		econnreset|econnrefused|enotfound|etimedout|epipe|ehostunreach|enetunreach
	`)
}

// menu holds what agents offer when a limit was met. It counts where it is
// offered, not where someone writes about it: behind a number or a cursor.
var menu lexicon[ruling]

func init() {
	menu.add(ruling{class: UsageLimit}, `
		stop and wait for * limit|limits|quota to reset
		wait here , then continue
		upgrade your plan
		rate limit options
		keep trying
	`)
}

// periods are how the periods of limits are named; a quota that is counted by
// the minute is a pace, one that is counted by the day an allowance.
var periods lexicon[Class]

func init() {
	periods.add(RateLimit, `
		per minute|second|min|sec
		rpm|tpm|rps
	`)
	periods.add(UsageLimit, `
		per day|week|month
		rpd|tpd
		daily|weekly|monthly
	`)
}

// requests are what people ask agents for; no agent reports a refusal so.
var requests lexicon[bool]

func init() {
	requests.add(true, `
		please|can|could|should|lets|you|to|and|then add|fix|implement|handle|write|update|change|refactor|investigate|explain|debug|make
		what|how|why|when should|do|does|can|is|did|to i|we|it|you|this
		i|we get|got|see|saw|keep|need|want|think|would|should|refactored|added|fixed
		fix|implement|refactor|debug the|a|this|that|my|our
		add|handle|write a|an|the|some? retry|retries|backoff|handling|test|tests|support|error|errors|rate
	`)
}

// addLimits puts in what lifts by itself.
func addLimits() {
	usage := ruling{class: UsageLimit}
	statements.add(usage, `
		youve|you have? hit|reached|exceeded|exhausted|used|depleted up? all? of? your|the|a|our|this|that * limit|limits|quota|quotas|allowance|allocation|cap|capacity limit|limits? *
		youve|you have? used|exhausted up? all? of? your * usage|messages|requests
		youre|youve|you are|have? run? out of * messages|requests|usage|quota|tokens|prompts|queries
		your|the * usage|session|weekly|daily|monthly|hourly|hour|plan|quota|message|request|token * limit|limits|quota|allowance is|has|was|have been? reached|exceeded|exhausted|hit|used up?
		your * limit|limits|quota|allowance will|should|is reset|resets|refresh|refreshes|renew when|at|in|on|after|to *
		your * limit|limits|quota resets|refreshes|renews when|at|in|on|after *
		the * usage|session|weekly|daily|monthly|plan|request|quota limit|quota has|is|was been? reached|exceeded|exhausted
		maximum * reached for this|the month|week|day
		limit reached for this|the month|week|day
		automatic|auto continue|continuation|resume stopped|cancelled|canceled|failed|disabled|paused|expired *
		go usage limit error
		free usage limit error
		usage limit exceeded|reached|hit|error
		quota exhausted|depleted|used
		out of extra? usage
		free tier * exceeded|exhausted|reached
		requests|usage per day|week|month exceeded|reached
		request|requests limit for the|this day|week|month *
		too many requests today|for *
		free usage exceeded|limit
		premium request|requests * exhausted|exceeded|reached|used
		usage|quota * will reset|renew|refresh
	`)
	statements.add(ruling{class: UsageLimit, lifted: true}, `
		usage|session|weekly|rate|your * limit|limits has|have? reset
	`)

	statements.add(ruling{class: RateLimit, perPeriod: true}, `
		rate limited
		rate limit|limits exceeded|reached|hit|error|met|triggered|applied|active
		rate limit|limits has|have|was|is been? exceeded|reached|hit
		api|provider|request|requests|token|tokens|model|global|upstream|account|organization|org|your|the|free * rate limit|limits exceeded|reached|hit|error|has|have
		youre|youve|you are|have? been? being? * rate limited
		youre|you are? being throttled
		this|the|your request would|will exceed *
		this|the|your request exceeded|exceeds your|the * rate|requests|tokens limit|limits *
		this|the|your request was|has|is been? throttled|rate *
		request|requests throttled|rate limited?
		server is temporarily limiting requests
		rate limiting detected|active|applied *
		the|your * has|have rate limited you
		were|we are? receiving|getting|seeing|handling too many requests *
		you have|youve sent|made too many requests *
		too many requests
		too many requests have|has been *
		too many * requests|tokens
		throttling exception|error
		throttled *
		request limit|rate exceeded|reached
		requests per minute|second exceeded|limit
		tokens per minute|second exceeded|limit
		slow down
		resource has been exhausted
		resource exhausted
		possible quota limitations *
		concurrency|concurrent * limit exceeded|reached
		provider rate limit *
	`)
	statements.add(ruling{class: UsageLimit, perPeriod: true}, `
		quota|quotas exceeded|exhausted|depleted
		@ quota|quotas exceeded|exhausted|depleted
		quota exceeded for *
	`)
	statements.add(ruling{class: UsageLimit, banner: true}, `
		@ limit|limits|cap|quota|allowance has|have|is? been? reached|exceeded|exhausted|hit|used
		limit reached|hit|exceeded
		quota reached|hit
	`)

	statements.add(ruling{class: ServerError}, `
		an error occurred while processing *
		error occurred while processing *
		were|we are? currently? experiencing high demand , which may cause *
	`)
	statements.add(ruling{class: Overloaded}, `
		overloaded error?
		the|our|this|selected|requested|your|upstream model|server|servers|engine|provider|service|api|system|models|backend|cluster * is|are|currently * overloaded|capacity|busy
		the|our|this|selected|requested * is|are currently|temporarily|at|over|too? overloaded|capacity|busy
		model|server|servers|engine|provider|service|api|system|anthropic|openai|google|claude|gemini is|are * overloaded|capacity|busy
		model|server|provider|service overloaded
		server|model is|at overloaded|capacity
		at capacity
		over capacity
		no capacity available|left|for
		model capacity exhausted|exceeded|reached
		insufficient * capacity
		capacity exhausted|exceeded|constraints|unavailable
		policy capacity unavailable
		flex unavailable
		not enough capacity
		we|were|service|servers|server|the|our|model|this * experiencing|seeing|facing|under|having * high|heavy|increased|unusually|elevated|unprecedented * demand|traffic|load|volume *
		i am currently? experiencing high|heavy traffic|demand|load *
		im experiencing high|heavy traffic|demand|load *
		the|this|selected model * is|are currently? temporarily unavailable *
		currently experiencing high|heavy * demand|traffic|load
		experiencing high|heavy demand|traffic|load
		high|heavy demand|traffic|load for|on *
		due to high|heavy|increased demand|traffic|load
	`)

	statements.add(ruling{class: BadRequest}, `
		safeguards flagged this *
		this|your|the request|message|prompt|response|content|output|conversation|input * violates|violate|violated|violation|flagged|blocked|refused|rejected|withheld *
		content policy *
		content|response|request|prompt|output|message was|is|has? been? blocked|filtered|flagged|refused
		blocked by|under|due *
		policy|safety violation|refusal
		cyber policy *
		misalignment policy *
		invalid request|argument|parameter|params|json|schema *
		invalid prompt *
		bad request
		model not found|supported|available
		theres an issue with the selected model
		unknown|unsupported|invalid|unrecognized model
		the|this model|requested * does|is not exist|found|supported|available|be|deprecated
		claudes response exceeded *
		max|maximum output tokens *
		output token limit|maximum *
		unprocessable entity
		not found error
		tool use|result|calls * mismatch|concurrency|must|ids *
	`)
	addWeak()
}

// addWeak puts in what says little of its own.
func addWeak() {
	statements.add(ruling{class: Network}, `
		econnreset
		econnrefused
		enotfound
		etimedout
		epipe
		ehostunreach
		enetunreach
		eai again
		request|connection|stream|operation|read|response timed out
		request|connection|stream|read|idle timeout
		timeout waiting|awaiting|while|of|error *
		timed out waiting|while|after *
		idle timeout *
		deadline exceeded
		unable|failed|cannot|cant|could|couldnt not? to? connect|reach *
		error sending request *
		error decoding response body
		connection error|failed|failure|refused|reset|closed|dropped|lost|aborted|interrupted|terminated|problem|issue
		network error|failure|unreachable|down|connection|is|request *
		fetch|socket failed|error|hang *
		socket hang up
		the socket connection was closed *
		dns lookup|resolution failed|error *
		getaddrinfo *
		waiting for network
		no internet connection|access
		you are|appear|youre offline
		tls|ssl handshake|error *
		transport error
		premature close
		api error : terminated
		other side closed
		stream closed before *
		unexpected eof
		broken pipe
		connection closed before *
	`)
	statements.add(ruling{class: Network, weak: true}, `
		stream disconnected before completion
		stream error|disconnected|closed|interrupted|ended
		response stream disconnected|connection *
		http connection failed
	`)
	statements.add(ruling{class: ServerError, weak: true}, `
		internal server|service? error|failure *
		internal error *
		service * unavailable
		temporarily unavailable
		server error *
		bad gateway
		gateway timeout
		upstream * error|failed|unavailable *
		an unexpected|unknown|internal error occurred|happened *
		something went wrong
		unexpected error *
		encountered|got an * error *
		api error|overload
		unavailable
		the service is|was currently? temporarily? unavailable
		the server had an error *
		empty response|answer *
	`)
	statements.add(ruling{class: RateLimit, weak: true}, `
		failed to get response from the *
	`)
	running := ruling{class: RateLimit, weak: true, running: true}
	statements.add(running, `
		retrying in|after|at|# *
		retrying with|automatically|shortly|now|soon
		retrying
		will retry|reconnect|continue|resume in|after|at|automatically|shortly|when *
		reconnecting
		continuing|resuming automatically
		auto retrying|retry|resuming|continuing in|at|after
		automatically retrying|continuing|resuming *
		waiting # s|sec|second|seconds|m|min|minutes before|to|until retrying|retry|next
	`)
	statements.add(ruling{class: RateLimit, weak: true, byWait: true, alone: true}, `
		retry in # *
	`)
	statements.add(ruling{class: RateLimit, weak: true, byWait: true}, `
		retry|wait in|after|at|for #  *
		please retry|wait in|after|at|for|# *
		please try again at|in|after|on *
		try again at|in|after|on *
		retry after *
		suggested retry after *
	`)
	statements.add(ruling{class: UsageLimit, weak: true, banner: true}, `
		resets|refreshes|renews|reset at|in|on|by|after|# *
		resets|refreshes|renews *
		access resets|returns *
		limit resets *
	`)
}
