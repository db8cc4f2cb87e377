package limit

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
		your claude ai usage limit has reset *
		automatic|auto continue|continuation|resume cancelled|canceled . your session *
		this|the error|code|status|message|exception|response means|indicates|occurs|says|shows|appears *
		retry limit reached|exceeded
		quota|limit exceeded|reached for * disk|disks|storage|cpu|cpus|memory|volume|volumes|instances|pods *
		reconnecting|retrying to|with|the postgres|redis|mysql|database|db|broker|kafka|socket|websocket|device *
	`)

	statements.add(ruling{class: Cancelled}, `
		request|operation|task|turn|run interrupted|cancelled|canceled|aborted by user|you?
		request|operation was? cancelled|canceled|aborted
		interrupted|cancelled|canceled|aborted by the? user|you
		user interrupted|cancelled|canceled|aborted
		conversation interrupted
		message aborted error
	`)

	// So Claude Code calls a window of the plan that opens again by itself,
	// where extra usage is refused too: the first in 1.0 and 2.0, the other in 2.1.
	statements.add(ruling{class: UsageLimit}, `
		spending cap reached resets *
		youre out of usage credits · resets *
	`)
	statements.add(ruling{class: Billing}, `
		your|the credit|account|wallet|prepaid balance is|was too? low|insufficient|empty|exhausted|negative|depleted
		credit balance is? too? low|insufficient|exhausted
		credit|credits balance exhausted|depleted
		your|the|this * is|are|has|have run? out of * credits|funds
		youre|youve|you are|have? run? out of * credits|funds|balance
		out of credits|funds
		you have insufficient * credits|credit|quota|balance|funds *
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
		your * plan|subscription|tier does not include|support|cover|have|allow access to * opus|sonnet|haiku|fable|gpt|claude|codex|gemini|grok *
		your * plan|subscription|tier does not include|support|cover|have|allow access? to? the? this|that|selected|requested model *
		your * plan|subscription|tier doesnt include|support|cover|have|allow access to * opus|sonnet|haiku|fable|gpt|claude|codex|gemini|grok *
		your * plan|subscription|tier doesnt include|support|cover|have|allow access? to? the? this|that|selected|requested model *
		your * plan|subscription|tier does not include|support|cover|allow the? opus|sonnet|haiku|fable|gpt *
		your * plan|subscription|tier doesnt include|support|cover|allow the? opus|sonnet|haiku|fable|gpt *
		your|this|the|current * plan|subscription|tier does|do not|doesnt * include|support|cover|access
		your|this|the * plan|subscription doesnt|dont include|support|cover|have
		you need|require a|an * plan|subscription
		you need|must|have to? add|buy|purchase * credits|funds|credit *
		to use * with your * plan ,? upgrade *
		no payment method *
		your|the * used|exhausted all? available? credits *
		your|the * hit|reached|exceeded its|their|your|the * spend|spending|budget limit|cap *
		this|the|your|that * not available|included|supported on|in|with|for your * plan|subscription|tier *
		opus|sonnet|haiku|fable|claude|gpt|gemini|codex * not available|included|supported on|in|with|for your|the * plan|subscription|tier *
		extra usage is required
		extra usage credits? required|needed
		long context credits required
		upgrade required
		youve|you have? exceeded|exhausted|used your premium request|requests allowance *
		this|the model|feature * requires|require a|an|more|paid * plan|subscription|credits|tier
		usage not included
		billing error
		this|the|your request requires|needs more credits *
		more credits are required|needed *
		budget has|have been exceeded
		exceeded budget for deployment|provider|key|team|user|tag|model|customer|end *
		exceeded budget : *
		no deployments available — crossed budget *
		youve|you have? hit|reached|exceeded your|the * shared budget *
		your seat|license type? does? not|doesnt include * usage|credits *
		your|the * usage|allocation|credits has|have|is|are been? disabled by your|an|the admin|administrator|owner *
		your groups|teams|orgs * limit is set to $ #
		this service is disabled for your|this org|organization|team|workspace
		your|the|this org|organization|team|workspace is out of usage *
		opus|sonnet|haiku|fable|mythos * requires|require usage|extra credits|usage *
		usage credits required|needed *
		your * does? not|doesnt have any|enough|sufficient credits *
		you do? not|dont have enough|sufficient * credits
		key limit exceeded ( * limit )
		theres|there is? an? issue|problem with your * billing|payment *
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
		the input token count *
		context length|window|limit exceeded|full|overflow|reached|exhausted
		context overflow *
		context limit reached
		your|the|this context window|length|limit is|was|has|have been? full|exceeded|exhausted|reached
		your|the|this prompt|input|conversation|session|chat has|have exceeded|reached the|its|your * context|token * length|limit|window *
		maximum context length|window *
		this|the|your models|endpoints maximum|max context|prompt|input *
		prompt tokens limit exceeded *
		sending this message ( # tokens ) might|would exceed *
		model context window exceeded
		ran out of room in *
		codex ran out of room *
		claude ran out of room *
		session too large *
		request too large|long *
		request entity too large
		too many tokens in|for the|this|your|a? * request|prompt|input|context|message|conversation *
		exceeds|exceed|exceeded the? * context|token limit|window|length
	`)

	statements.add(ruling{class: Auth}, `
		not logged|signed in
		youre|you are? not logged|signed in
		please run / login
		please log|sign|login in|again|to *
		sign in to *
		log in to *
		login|session required|expired
		login failed
		invalid|incorrect|missing|expired|bad|wrong|revoked x? api? key|token|credentials|credential|authentication|bearer
		no api? key|credentials|auth|authentication *
		api key not valid|found|set|provided|configured
		api key expired|revoked|disabled|invalid
		api key is|has|was invalid|expired|missing|been|not *
		your|the * key|token|credentials|login|session|authentication|account is|has|have|was|does|are invalid|expired|been|revoked|missing|disabled|not|suspended|deactivated|on
		your * token could not be refreshed *
		token refresh failed :
		your organization|org|workspace has disabled|blocked|restricted|revoked * access for *
		your access|api|auth|authentication|oauth|refresh|session|login|bearer? key|token|credentials|login|session has|have been invalidated|revoked|disabled|deactivated
		oauth|auth|access|refresh|session token has|is|was|refresh? expired|been|revoked|invalid|missing|failed|not
		oauth|auth error|failure|failed|session *
		authentication|authorization error|failed|failure|required|expired
		could not|couldnt authenticate *
		failed|unable to authenticate|login|refresh *
		unauthorized
		unauthenticated
		permission denied error|for|on|.|,
		permission error
		the caller does not have permission *
		your|this|the project|account|organization has been denied access *
		your access|account has|have|is been restricted|suspended|revoked|disabled|limited
		your account * has|is been? restricted|suspended|disabled|deactivated|banned
		forbidden
		organization|account|user has been|is disabled|suspended|deactivated|banned|on
		this|your organization|account has|is been|on disabled|suspended|deactivated|hold
		account on hold
		this|the service has been|is disabled|suspended in|for|on this|your account *
		your|this account does|do not have access *
		oauth org not allowed
		verification required
		cloud credential error
		missing * authentication|credentials
	`)
	addLimits()
}
