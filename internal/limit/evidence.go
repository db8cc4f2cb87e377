package limit

import "time"

// evidence is what the parts of one refusal say about it.
type evidence struct {
	status     int
	code       Class // a code that names the class
	family     Class // a code that names only a family
	strong     Class // plain words
	weak       Class // words that say little
	running    bool
	byWait     bool  // weak depends on the wait that is asked for
	paced      bool  // strong is a pace where the wait is short
	vague      bool  // strong yields to plainer words
	models     bool  // it was said of models only
	plain      Class // what was said in words that only providers have
	counted    bool  // strong is told by the period of the quota, in a field
	reopens    bool  // an allowance comes back by itself
	wait       time.Duration
	reset      Reset
	failedHook bool // what a hook was told when a turn failed
	rejected   bool // an account's quota was refused, by the record's own field
}

func (e *evidence) addCode(ru ruling) {
	switch {
	case ru.weak && e.family == None:
		e.family = ru.class
	case !ru.weak && (e.code == None || ru.class == Billing):
		e.code = ru.class
	}
}

func (e *evidence) addWords(ru ruling) {
	e.running = e.running || ru.running
	e.reopens = e.reopens || ru.reopens
	switch {
	case ru.weak && e.weak == None:
		e.weak, e.byWait = ru.class, ru.byWait
	case !ru.weak:
		e.addStrong(ru)
	}
	e.models = e.models || ru.models
	if e.plain == None {
		e.plain = ru.providers()
	}
}

// addStrong keeps the first plain word, but for one that names what never
// passes: "Forbidden: your team has used all its credits" is about the credits.
func (e *evidence) addStrong(ru ruling) {
	plainer := e.vague && ru.class != None && !ru.vague
	if e.strong == None || plainer || neverPasses(ru.class) && !neverPasses(e.strong) {
		e.strong, e.paced, e.vague = ru.class, ru.paced, ru.vague
	}
}

// neverPasses reports what has to be bought or shortened, however it is dressed.
func neverPasses(c Class) bool { return c == Billing || c == ContextOverflow }

// shows reports whether it tells by itself that a provider of models said it:
// by a code, or by words that nobody else has.
func (e *evidence) shows() bool { return e.code != None || e.family != None || e.models }

// addReset keeps the first time that is stated: parts are read in the order
// of how far they are to be trusted.
func (e *evidence) addReset(reset Reset) {
	if !e.reset.Stated() {
		e.reset = reset
	}
}

// merge adds what a part of the message says by itself.
func (e *evidence) merge(part evidence) {
	if e.status == 0 {
		e.status = part.status
	}
	if part.code != None {
		e.addCode(ruling{class: part.code})
	}
	if e.family == None {
		e.family = part.family
	}
	if part.counted && !neverPasses(e.strong) {
		e.strong, e.paced, e.vague, e.counted = part.strong, false, false, true
	}
	e.addStrong(ruling{class: part.strong, paced: part.paced, vague: part.vague})
	e.models = e.models || part.models
	if e.weak == None {
		e.weak, e.byWait, e.wait = part.weak, part.byWait, part.wait
	}
	e.running = e.running || part.running
	e.reopens = e.reopens || part.reopens
	e.rejected = e.rejected || part.rejected
	e.addReset(part.reset)
}

// class weighs the evidence. What never passes goes first; then what is named
// exactly wins over what only names a family, as far as the status admits it.
// Extra usage that is spent does not matter where the plan's own comes back.
func (e *evidence) class() Class {
	if e.reopens && e.strong == Billing && e.code != Billing && e.reset.Stated() && admits(e.status, UsageLimit) {
		return UsageLimit
	}
	for _, c := range [...]Class{e.code, e.strong} {
		if neverPasses(c) && admits(e.status, c) {
			return c
		}
	}
	if e.rejected {
		return UsageLimit
	}
	if e.strong == RateLimit && e.status == 0 && e.code == None && e.wait >= asksHours {
		return UsageLimit
	}
	if e.paced && e.wait > 0 && e.wait < asksHours && e.code == None {
		return RateLimit
	}
	for _, c := range [...]Class{e.code, e.strong, byStatus(e.status), e.family} {
		if admits(e.status, c) {
			return c
		}
	}
	return e.byLength()
}

// mayLift reports a class that a stated time overrules: what an agent recorded
// as refused until then is a limit that lifts then, whatever its words. Not so
// where a field says that it has to be bought, shortened or signed in for.
func (e *evidence) mayLift(c Class) bool {
	switch c {
	case None, BadRequest:
		return true
	case Auth:
		return e.status != 401
	case Billing:
		return e.code != Billing && e.status != 402
	default:
		return false
	}
}

// liftsAs returns the class of a limit of which nothing is known but when it lifts.
func (e *evidence) liftsAs(now time.Time) Class {
	if e.reset.Rough || e.reset.At.Sub(now) >= asksHours {
		return UsageLimit
	}
	return RateLimit
}

// asksHours is the wait from which on a request to come back later means an
// allowance that is used up rather than a pace that was too quick.
const asksHours = time.Hour

func (e *evidence) byLength() Class {
	if e.byWait && (e.reset.Rough || e.wait >= asksHours) {
		return UsageLimit
	}
	return e.weak
}

func (e *evidence) verdict() Verdict {
	c := e.class()
	if c == None {
		return Verdict{}
	}
	return Verdict{Class: c, WaitHelps: c.Transient(), InProgress: e.running, Reset: e.reset}
}
