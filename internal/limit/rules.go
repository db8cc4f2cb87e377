package limit

import "strings"

// ruling is what a statement of the agent means.
type ruling struct {
	class Class

	// weak says little of its own: a plainer word later in the message, a code
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

	// paced is said of a pace and of an allowance alike: a wait of less than
	// an hour tells that it is a pace.
	paced bool

	// reopens is said of an allowance that comes back by itself, whatever else
	// is used up.
	reopens bool

	// remote counts only where it is not about this machine.
	remote bool

	// vague yields to plainer words later in the message.
	vague bool

	// models is said of models only: no other service counts tokens.
	models bool
}

// counted is what the statement means of a quota that is counted by a period.
func (ru ruling) counted(by Class) ruling {
	if by == None {
		return ru
	}
	if ru.perPeriod {
		ru.class = by
	}
	ru.paced = false
	return ru
}

// providers returns the class of what is said of providers only, or None:
// other programs do not speak of allowances, money and contexts.
func (ru ruling) providers() Class {
	if ru.models || !ru.weak && (ru.class == UsageLimit || ru.class == Overloaded || neverPasses(ru.class)) {
		return ru.class
	}
	return None
}

// limitKinds are what limits are called after: "5-hour limit", "weekly Opus
// limit", "free daily request quota". A limit of another kind (threads,
// retries, file sizes) is the agent's own affair.
var limitKinds = wordSet(`usage session weekly daily monthly hourly hour hours h day days week month minute
		plan quota model models opus sonnet haiku fable claude codex gemini gpt qwen copilot kiro amazon q developer cursor grok
		free tier pro max plus premium team enterprise individual personal organization org account workspace subscription
		message messages request requests prompt prompts token tokens agentic chat completion completions interaction interactions
		api oauth global baseline base included extra allocated spending user your the cli`)

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}

// asides mean what they say wherever they stand in a refusal.
var asides lexicon[ruling]

func init() {
	asides.add(ruling{class: Billing}, `
		not available|included|supported on|in|with|for your * plan|subscription|tier
		account is not? in good standing
		must|need to? purchase|buy a|an * plan|subscription
		on a paid basis
	`)
	asides.add(ruling{class: ContextOverflow}, `
		ran out of room in the * context
		exceed|exceeds|exceeded|over the? * context limit|window|length
	`)
	asides.add(ruling{class: RateLimit, perPeriod: true}, `
		request|requests reached|exceeded|hit * rpm|tpm|rps|rpd|tpd|concurrency
	`)
	asides.add(ruling{class: UsageLimit}, `
		reached for this month|week|day
	`)
	asides.add(ruling{class: UsageLimit, reopens: true}, `
		your @ limit|limits resets|refreshes|renews
	`)
	asides.add(ruling{class: ServerError}, `
		experiencing high demand , which may cause
	`)
	asides.add(ruling{class: Overloaded}, `
		is|are currently? at|over capacity
		out of capacity
		experiencing high|heavy demand|traffic|load
		is|are currently? overloaded
	`)
	asides.add(ruling{class: BadRequest}, `
		safeguards flagged this
		unable to respond to this request
		issue with the selected model
		exceeded the # output token maximum
		violate|violates our|the * policy|policies|terms
		limited|restricted|blocked|suspended|flagged for|due|because to? of? * suspicious|abusive|harmful activity|behavior|use
	`)
	asides.add(ruling{class: RateLimit, weak: true, running: true}, `
		automatically switching|switched
		switching to the|another *
		now using
		waiting|sleeping|pausing for? # *
		waiting|sleeping|pausing before retrying|retry|trying
		resuming|continuing in|at # *
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
		by minute|second
		rpm|tpm|rps
	`)
	periods.add(UsageLimit, `
		per day|week|month
		by day|week|month
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
