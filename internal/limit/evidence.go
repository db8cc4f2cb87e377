package limit

import (
	"cmp"
	"time"
)

type evidence struct {
	facts
	strong  phrase // the clear one that counts
	weak    phrase // the first that says little
	scored  Class  // by the learned weights, if no phrase is known
	sure    bool   // whether scored is sure
	scores  *scores
	counted bool          // strong comes from a field with the period of the quota
	wait    time.Duration // in the words
	pause   time.Duration // in a field
	reset   Reset
}

// period is the class by the period of the quota, if the message names one.
func (e *evidence) addPhrase(p phrase, period Class) {
	if period != None {
		if p.is(perPeriod) {
			p.class = period
		}
		p.traits &^= paced
	}
	e.traits |= p.traits & (running | reopens | lifted | alone | beijing)
	switch {
	case !p.is(weak):
		e.addStrong(p)
	case e.weak.class == None:
		e.weak = p
	}
}

// addStrong keeps the first clear phrase, except that a class that never passes wins.
func (e *evidence) addStrong(p phrase) {
	plainer := e.strong.is(vague) && p.class != None && !p.is(vague)
	if e.strong.class == None || plainer || neverPasses(p.class) && !neverPasses(e.strong.class) {
		e.strong = p
	}
}

// neverPasses reports whether waiting never helps: something has to be bought or shortened.
func neverPasses(c Class) bool { return c == Billing || c == ContextOverflow }

func (e *evidence) addReset(reset Reset) {
	if !e.reset.Stated() {
		e.reset = reset
	}
}

// addPeriod sets the class by the period of the quota, in a field.
func (e *evidence) addPeriod(c Class) {
	if c != None && !neverPasses(e.strong.class) {
		e.strong, e.counted = phrase{class: c}, true
	}
}

func (e *evidence) addFacts(f *facts) {
	e.status, e.family = cmp.Or(e.status, f.status), cmp.Or(e.family, f.family)
	if f.code != None && (e.code == None || f.code == Billing) {
		e.code = f.code
	}
	e.addPeriod(f.period)
	e.traits |= f.traits & (running | reopens | beijing)
	e.rejected = e.rejected || f.rejected
}

func (e *evidence) merge(part evidence) {
	e.addFacts(&part.facts)
	if part.counted {
		e.addPeriod(part.strong.class)
	}
	e.addStrong(part.strong)
	if e.weak.class == None {
		e.weak = part.weak
	}
	e.wait, e.pause = cmp.Or(e.wait, part.wait), cmp.Or(e.pause, part.pause)
	if part.scored != None && (e.scored == None || part.sure) {
		e.scored, e.sure, e.scores = part.scored, part.sure, part.scores
	}
	e.addReset(part.reset)
}

// class decides the class. Classes that never pass come first. Then an exact name wins over the name of
// a family, if the status admits it. Used-up extra usage does not matter if the plan's own allowance is
// refilled.
func (e *evidence) class() Class {
	if e.is(reopens) && e.strong.class == Billing && e.code != Billing && e.reset.Stated() && admits(e.status, UsageLimit) {
		return UsageLimit
	}
	for _, c := range [...]Class{e.code, e.strong.class} {
		if neverPasses(c) && admits(e.status, c) {
			return c
		}
	}
	if e.rejected {
		return UsageLimit
	}
	if e.status == 0 && max(e.wait, e.pause) >= longWait && (e.code == RateLimit || e.code == None && e.strong.class == RateLimit) {
		return UsageLimit
	}
	if e.strong.is(paced) && e.wait > 0 && e.wait < longWait && e.code == None {
		return RateLimit
	}
	refined := e.refined()
	if e.code == Auth && (e.strong.class == UsageLimit || refined == UsageLimit) {
		return UsageLimit // some providers use this code for a used-up allowance
	}
	for _, c := range [...]Class{e.code, e.strong.class, refined, classOfStatus(e.status), e.family} {
		if admits(e.status, c) {
			return c
		}
	}
	switch {
	case e.weak.class == None:
		return e.scored
	case e.weak.is(byWait) && (e.reset.Rough || e.wait >= longWait):
		return UsageLimit
	default:
		return e.weak.class
	}
}

// refined returns the class by the learned weights. The status restricts the choice.
func (e *evidence) refined() Class {
	family := classOfStatus(e.status)
	switch {
	case e.scored == None || e.strong.class != None:
		return None
	case family == None && e.sure:
		return e.scored
	case family == None:
		return None
	}
	return e.scores.among(family, func(c Class) bool { return c != Cancelled && admits(e.status, c) })
}

// mayLift reports whether a stated time overrules the class: if an agent recorded a refusal until that
// time, it is a limit that lifts then, whatever its words are. This does not apply if a field says that
// something has to be bought, shortened or signed in for.
func (e *evidence) mayLift(c Class) bool {
	switch c {
	case None, BadRequest:
		return true
	case Auth:
		return e.status != 401
	case Billing:
		return e.code != Billing && (e.status != 402 || e.strong.class == UsageLimit || e.strong.class != Billing && e.scored == UsageLimit)
	default:
		return false
	}
}

// longWait is the wait from which on "try again later" means a used-up allowance and not a rate limit.
const longWait = time.Hour

func (e *evidence) verdict() Verdict {
	c := e.class()
	if c == None {
		return Verdict{}
	}
	return Verdict{Class: c, WaitHelps: c.Transient(), InProgress: e.is(running), Reset: e.reset}
}
