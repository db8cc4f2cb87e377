package limit

import (
	"time"
)

// evidence is what the parts of one refusal say about it.
type evidence struct {
	facts
	strong  Class // plain words
	weak    Class // words that say little
	scored  Class // what the words are like, where no phrase is known
	sure    bool  // of that
	scores  *scores
	byWait  bool // weak depends on the wait that is asked for
	paced   bool // strong is a pace where the wait is short
	vague   bool // strong yields to plainer words
	counted bool // strong comes from a field that names the period of the quota
	reopens bool // an allowance comes back by itself
	lifted  bool // it is over
	alone   bool // it goes on by itself, if nothing else is said
	wait    time.Duration
	reset   Reset
}

// addPhrase adds what a phrase says of a quota that is counted by a period.
func (e *evidence) addPhrase(p phrase, period Class) {
	if period != None {
		if p.perPeriod {
			p.class = period
		}
		p.paced = false
	}
	e.running = e.running || p.running
	e.reopens = e.reopens || p.reopens
	e.lifted = e.lifted || p.lifted
	e.alone = e.alone || p.alone
	e.beijing = e.beijing || p.beijing
	switch {
	case p.weak && e.weak == None:
		e.weak, e.byWait = p.class, p.byWait
	case !p.weak:
		e.addStrong(p.class, p.paced, p.vague)
	}
}

// addStrong keeps the first plain word, but for one that names what never
// passes: "Forbidden: your team has used all its credits" is about the credits.
func (e *evidence) addStrong(c Class, paced, vague bool) {
	plainer := e.vague && c != None && !vague
	if e.strong == None || plainer || neverPasses(c) && !neverPasses(e.strong) {
		e.strong, e.paced, e.vague = c, paced, vague
	}
}

// neverPasses reports what has to be bought or shortened, however it is dressed.
func neverPasses(c Class) bool { return c == Billing || c == ContextOverflow }

// addReset keeps the first time that is stated: parts are read in the order
// of how far they are to be trusted.
func (e *evidence) addReset(reset Reset) {
	if !e.reset.Stated() {
		e.reset = reset
	}
}

// addFacts adds what the fields of a part say.
func (e *evidence) addFacts(f *facts) {
	if e.status == 0 {
		e.status = f.status
	}
	if f.code != None && (e.code == None || f.code == Billing) {
		e.code = f.code
	}
	if e.family == None {
		e.family = f.family
	}
	if f.period != None && !neverPasses(e.strong) {
		e.strong, e.paced, e.vague, e.counted = f.period, false, false, true
	}
	e.running = e.running || f.running
	e.rejected = e.rejected || f.rejected
	e.beijing = e.beijing || f.beijing
}

// merge adds what a part of the message says by itself.
func (e *evidence) merge(part evidence) {
	e.addFacts(&part.facts)
	if part.counted && !neverPasses(e.strong) {
		e.strong, e.paced, e.vague, e.counted = part.strong, false, false, true
	}
	e.addStrong(part.strong, part.paced, part.vague)
	if e.weak == None {
		e.weak, e.byWait, e.wait = part.weak, part.byWait, part.wait
	}
	if part.scored != None && (e.scored == None || part.sure) {
		e.scored, e.sure, e.scores = part.scored, part.sure, part.scores
	}
	e.running = e.running || part.running
	e.reopens = e.reopens || part.reopens
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
	if e.strong == RateLimit && e.status == 0 && e.code == None && e.wait >= longWait {
		return UsageLimit
	}
	if e.paced && e.wait > 0 && e.wait < longWait && e.code == None {
		return RateLimit
	}
	refined := e.refined()
	if e.code == Auth && (e.strong == UsageLimit || refined == UsageLimit) {
		return UsageLimit // so some providers call an allowance that is used up
	}
	for _, c := range [...]Class{e.code, e.strong, refined, classOfStatus(e.status), e.family} {
		if admits(e.status, c) {
			return c
		}
	}
	if e.weak != None {
		return e.byLength()
	}
	return e.scored
}

// refined returns what the words are like where no phrase says it. A status
// narrows that down.
func (e *evidence) refined() Class {
	family := classOfStatus(e.status)
	switch {
	case e.scored == None || e.strong != None:
		return None
	case family == None && e.sure:
		return e.scored
	case family == None:
		return None
	}
	return e.scores.among(family, func(c Class) bool { return c != Cancelled && admits(e.status, c) })
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
		return e.code != Billing && (e.status != 402 || e.strong != Billing && e.scored == UsageLimit)
	default:
		return false
	}
}

// liftsAs returns the class of a limit of which nothing is known but when it lifts.
func (e *evidence) liftsAs(now time.Time) Class {
	if e.reset.Rough || e.reset.At.Sub(now) >= longWait {
		return UsageLimit
	}
	return RateLimit
}

// longWait is the wait from which on a request to come back later means an
// allowance that is used up rather than a pace that was too quick.
const longWait = time.Hour

func (e *evidence) byLength() Class {
	if e.byWait && (e.reset.Rough || e.wait >= longWait) {
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
