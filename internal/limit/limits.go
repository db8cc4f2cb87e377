package limit

// addLimits puts in what lifts by itself.
func addLimits() {
	usage := ruling{class: UsageLimit}
	statements.add(ruling{class: RateLimit, perPeriod: true}, `
		youve|you have? hit|reached|exceeded your|the|a|our? * rate limit|limits *
		number of * has|have exceeded your|the * limit|limits *
	`)
	statements.add(usage, `
		key limit exceeded|reached ( daily|weekly|monthly limit *
		# minute|minutes|hour|hours|day|days credit|credits|usage|session|request|requests|token|tokens|message|messages limit|quota|allowance exceeded|reached|hit|exhausted
		youve|you have? used|exhausted|consumed up? all of? # * requests|messages|prompts|queries|tokens|generations *
		your|this|the * is|are out of quota|usage|requests|messages|tokens
		no * requests|messages|tokens|queries|prompts|generations left|remaining
		you ( * ) have|has hit|reached|exceeded your|the * limit|limits|quota *
	`)
	statements.add(ruling{class: Billing}, `
		key limit exceeded|reached . manage *
		key limit exceeded|reached ( * limit ) *
		youve|you have? exceeded|exhausted|used|consumed up? all? of? your|the * credits *
	`)
	statements.add(ruling{class: UsageLimit, paced: true}, `
		youve|you have? exceeded your current quota *
		youve|you have? exhausted your capacity on|for *
	`)
	statements.add(usage, `
		your|this|the * has|have hit|reached|exceeded its|their|the|your * limit|quota|cap|allowance *
		youve|you have? hit|reached|exceeded|exhausted|used|depleted up? all? of? your|the|a|our|this|that * limit|limits|quota|quotas|allowance|allocation|cap|capacity limit|limits? *
		youve|you have? used|exhausted|consumed up? all? of? your|the|todays|this|available * usage|messages|requests|quota|tokens|prompts
		youre|youve|you are|have? run? out of * messages|requests|usage|quota|tokens|prompts|queries
		your|the * usage|session|weekly|daily|monthly|hourly|hour|plan|plans|quota|message|request|token * limit|limits|quota|allowance is|has|was|have been? reached|exceeded|exhausted|hit|used|depleted|spent up?
		your * limit|limits|quota|allowance will|should|is reset|resets|refresh|refreshes|renew when|at|in|on|after|to *
		your * limit|limits|quota resets|refreshes|renews when|at|in|on|after *
		the * usage|session|weekly|daily|monthly|plan|request|quota limit|quota has|is|was been? reached|exceeded|exhausted
		your * requests|messages|prompts|tokens|queries are|have been|all? used|exhausted|depleted|consumed up?
		quota for * exhausted|exceeded|depleted|reached
		youve|you have? exceeded your plan|plans|subscriptions|weekly|monthly|daily|included usage
		maximum * reached for this|the month|week|day
		maximum|max usage|requests|messages|prompts reached|exceeded for|in|during *
		you have|had no * requests|messages|prompts|queries|tokens left|remaining
		limit reached for this|the month|week|day
		usage limit reached again · continuing *
		automatic|auto continue|continuation|resume stopped|cancelled|canceled|failed|disabled|paused|expired *
		go usage limit error
		free usage limit error
		usage limit exceeded|reached|hit|error
		quota exhausted|depleted|used
		out of extra? usage
		free tier * exceeded|exhausted|reached
		requests|usage per day|week|month exceeded|reached
		request|requests limit for the|this day|week|month *
		too many requests today *
		free usage exceeded|limit
		premium request|requests * exhausted|exceeded|reached|used
		usage|quota * will reset|renew|refresh
	`)
	statements.add(ruling{class: UsageLimit, lifted: true}, `
		usage|session|weekly|rate|your * limit|limits has|have? reset
	`)

	// Said of a pace, of a quota and of a want of capacity alike: the one is a
	// code of Google's, the other the name of a status.
	statements.add(ruling{class: RateLimit, perPeriod: true, vague: true}, `
		resource has been exhausted
		resource exhausted
		too many requests
	`)
	statements.add(ruling{class: RateLimit, perPeriod: true, models: true}, `
		tpm|rpm|tpd|rpd|qps|tps|rps limit|quota|rate of|for|on? * exceeded|reached|hit *
		tpm|rpm|tpd|rpd|qps|tps|rps ( * ) limit|quota|rate of|for|on? * exceeded|reached|hit *
		reached|hit|exceeded * rate limit|limits of|for|on this|the|that|your model|models|organization|org *
		too many * tokens ,|.|per please|wait|day|minute|second *
		high concurrency usage of this|the api|model|key|account *
	`)
	statements.add(ruling{class: RateLimit, perPeriod: true}, `
		rate limited
		is|are temporarily|currently|now|being? rate limited|throttled
		rate limit of|: # * exceeded|reached|hit *
		rate limit ( * ) exceeded|reached|hit *
		youre|you are sending|making * requests|messages|prompts too quickly|fast|often|frequently
		weve|we have? detected|noticed|received too many * requests *
		youre|youve|you are|have? been? being? * throttled
		api|provider|upstream|server|model|anthropic|openai rate limited us|you
		max|maximum * retries|attempts|retry|attempt * reached|exceeded|exhausted * rate limit|limits *
		trigger|triggered|triggering|triggers * rate limit|limits|limiting *
		account|provider|model|endpoint|organization|org|project|deployment|upstream * rate limited until|for # *
		rate limit|limited * cooldown|backoff|pause until|for # *
		request|requests was|were|is|are|has|have been? rejected|denied|blocked|refused|dropped due|because to|of rate|request limit|limits|limiting *
		rate limit|limits exceeded|reached|hit|error|met|triggered|applied|active
		rate limit|limits has|have|was|is been? exceeded|reached|hit
		api|provider|request|requests|token|tokens|model|global|upstream|account|organization|org|your|the|free * rate limit|limits exceeded|reached|hit|error|has|have
		youre|youve|you are|have? been? being? * rate limited
		youre|you are? being throttled
		this|the|your request would|will exceed *
		this|the|your request exceeded|exceeds your|the * rate|requests|tokens limit|limits *
		this|the|your request was|has|is been? throttled|rate *
		request|requests was|were|has|have|is|are been|being? throttled|rate *
		request|requests throttled|rate limited?
		request|requests reached|exceeded|hit * rpm|tpm|rps|rpd|tpd|concurrency *
		requests to the * * operation under azure *
		your requests to * * have exceeded the|your *
		server is temporarily limiting requests
		rate limiting detected|active|applied *
		the|your * has|have rate limited you
		were|we are? receiving|getting|seeing|handling too many requests *
		you have|youve sent|made too many requests *
		too many requests have|has been *
		too many * requests
		throttling exception|error
		throttled *
		request limit|rate exceeded|reached
		requests|tokens per minute|second|hour|day limit|quota? exceeded|reached|hit
		requests|tokens per minute|second exceeded|limit
		slow down
		possible quota limitations *
		concurrency|concurrent * limit exceeded|reached
		no deployments available *
		provider rate limit *
	`)
	statements.add(ruling{class: UsageLimit, perPeriod: true}, `
		youve|you have? hit|reached|exceeded the|your maximum|max|allowed number|amount of requests|messages|prompts|queries *
		quota|quotas exceeded|exhausted|depleted
		@ quota|quotas exceeded|exhausted|depleted
		quota exceeded for *
	`)
	statements.add(ruling{class: UsageLimit, banner: true}, `
		@ limit|limits|cap|quota|allowance has|have|is? been? reached|exceeded|exhausted|hit|used|depleted|spent up?
		limit reached|hit|exceeded
		quota reached|hit
		@ usage|requests|messages|prompts exhausted|depleted|used up?
	`)

	statements.add(ruling{class: ServerError}, `
		an error occurred while processing *
		error occurred while processing *
		were|we are? currently? experiencing high demand , which may cause *
	`)
	statements.add(ruling{class: Overloaded}, `
		overloaded error?
		engine|model|server overloaded error?
		the|our|this|that|selected|requested|your|upstream * model|server|servers|engine|provider|service|api|system|models|backend|cluster * is|are|currently * overloaded|capacity|busy
		the|our|this|upstream system|server|servers|service|model|engine|cluster encountered|has|is|are|was|experienced|experiencing an|a * overload and|,|. *
		the|our|this|selected|requested * is|are currently|temporarily|at|over|too? overloaded|capacity|busy
		model|server|servers|engine|provider|service|api|system|anthropic|openai|google|claude|gemini is|are * overloaded|capacity|busy
		model|server|provider|service overloaded
		is|are temporarily|currently|now? overloaded|busy
		all * models|servers|providers are * overloaded|busy|unavailable
		anthropics|claudes|openais|googles|geminis * is|are * overloaded|busy|capacity *
		server|model is|at overloaded|capacity
		at capacity
		over capacity
		no capacity available|left|for
		model|service|tier|flex tier? capacity exhausted|exceeded|reached *
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
		content|response|request|prompt|input|output|message was|is|has? been? blocked|filtered|flagged|refused
		blocked by|under|due *
		policy|safety violation|refusal
		cyber policy *
		misalignment policy *
		invalid request|argument|parameter|params|json|schema *
		invalid prompt *
		invalid value for *
		bad request
		model not found|supported|available
		models /? * is not found|supported *
		theres an issue with the selected model
		unknown|unsupported|invalid|unrecognized model
		the|this model|requested * does|is not exist|found|supported|available|be|deprecated
		model * is not accessible|available|supported via|through the *
		the maximum tokens you requested exceed|exceeds *
		claudes response exceeded *
		max|maximum output tokens *
		output token limit|maximum *
		unprocessable entity
		not found error
		tool use|result|calls * mismatch|concurrency|must|ids *
	`)
	addTongues()
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
		streaming setup|request? timeout *
		timeout waiting|awaiting|while|of|error *
		timed out waiting|while|after *
		idle timeout *
		deadline exceeded
		error sending request *
		error decoding response body
		connection error|failed|failure|refused|reset|closed|dropped|lost|aborted|interrupted|terminated|problem|issue
		read|write econnreset|etimedout|epipe
		connect econnrefused|econnreset|etimedout|ehostunreach|enetunreach *
		failed to fetch
		connection to * was|is|has? lost|closed|reset|refused|failed|dropped|interrupted
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
		stream ended without|before a? finish *
		model stream ended without|before a? finish *
		unexpected eof
		broken pipe
		connection closed before *
	`)
	statements.add(ruling{class: Network, remote: true}, `
		request to <url> failed , reason : *
	`)
	statements.add(ruling{class: Network, vague: true}, `
		unable|failed|cannot|cant|could|couldnt not? to? connect|reach *
	`)
	statements.add(ruling{class: Network, weak: true}, `
		stream disconnected before completion
		stream error|disconnected|closed|interrupted|ended
		response stream disconnected|connection *
		http connection failed
	`)
	statements.add(ruling{class: ServerError, weak: true}, `
		internal server|service error|failure *
		internal error
		service * unavailable
		temporarily unavailable
		server error *
		bad gateway
		gateway timeout
		upstream * error|failed|unavailable *
		an unexpected|unknown|internal error occurred|happened *
		something went wrong
		unexpected error *
		encountered|got an unexpected|unknown|internal * error *
		api error|overload
		unavailable
		the service is|was currently? temporarily? unavailable
		the server had an error *
		empty response|answer *
		the model returned an empty response|answer *
		api|model|provider|server returned an? empty|invalid|malformed|incomplete response|answer *
		the api|model|provider|server|upstream returned|reported|sent an? internal|unknown|unexpected error *
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
		waiting for * limit|limits|quota to reset *
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
		resets|refreshes|renews|reset at|in|on|by|after *
		access resets|returns *
		limit|limits resets *
		limit|limits will reset *
	`)
}
