package limit

import (
	"cmp"
	"time"
)

// evidence is what the parts of one refusal tell about it.
type evidence struct {
	facts
	strong  Class // by clear phrases
	weak    Class // by phrases that say little
	scored  Class // by the learned weights, if no phrase is known
	sure    bool  // whether scored is sure
	scores  *scores
	byWait  bool          // weak depends on the stated wait
	paced   bool          // strong means a rate limit if the wait is short
	vague   bool          // strong gives way to clearer words
	counted bool          // strong comes from a field with the period of the quota
	reopens bool          // an allowance is refilled by itself
	lifted  bool          // the limit is over
	alone   bool          // the agent continues by itself, if the message says nothing else
	wait    time.Duration // in the words
	pause   time.Duration // in a field
	reset   Reset
}

// addPhrase adds the meaning of a phrase. period is the class by the period of the quota, if the
// message names one.
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

// addStrong keeps the first clear phrase, except that a class that never passes wins: "Forbidden: your
// team has used all its credits" is about the credits.
func (e *evidence) addStrong(c Class, paced, vague bool) {
	plainer := e.vague && c != None && !vague
	if e.strong == None || plainer || neverPasses(c) && !neverPasses(e.strong) {
		e.strong, e.paced, e.vague = c, paced, vague
	}
}

// neverPasses reports whether waiting never helps: something has to be bought or shortened.
func neverPasses(c Class) bool { return c == Billing || c == ContextOverflow }

// addReset keeps the first stated time: parts are read in the order of their reliability.
func (e *evidence) addReset(reset Reset) {
	if !e.reset.Stated() {
		e.reset = reset
	}
}

// addFacts adds the fields of a part.
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

// merge adds the evidence of one part of the message.
func (e *evidence) merge(part evidence) {
	e.addFacts(&part.facts)
	if part.counted && !neverPasses(e.strong) {
		e.strong, e.paced, e.vague, e.counted = part.strong, false, false, true
	}
	e.addStrong(part.strong, part.paced, part.vague)
	if e.weak == None {
		e.weak, e.byWait = part.weak, part.byWait
	}
	e.wait, e.pause = cmp.Or(e.wait, part.wait), cmp.Or(e.pause, part.pause)
	if part.scored != None && (e.scored == None || part.sure) {
		e.scored, e.sure, e.scores = part.scored, part.sure, part.scores
	}
	e.running = e.running || part.running
	e.reopens = e.reopens || part.reopens
	e.addReset(part.reset)
}

// class decides the class. Classes that never pass come first. Then an exact name wins over the name of
// a family, if the status admits it. Used-up extra usage does not matter if the plan's own allowance is
// refilled.
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
	if e.status == 0 && max(e.wait, e.pause) >= longWait && (e.code == RateLimit || e.code == None && e.strong == RateLimit) {
		return UsageLimit
	}
	if e.paced && e.wait > 0 && e.wait < longWait && e.code == None {
		return RateLimit
	}
	refined := e.refined()
	if e.code == Auth && (e.strong == UsageLimit || refined == UsageLimit) {
		return UsageLimit // some providers use this code for a used-up allowance
	}
	for _, c := range [...]Class{e.code, e.strong, refined, classOfStatus(e.status), e.family} {
		if admits(e.status, c) {
			return c
		}
	}
	switch {
	case e.weak == None:
		return e.scored
	case e.byWait && (e.reset.Rough || e.wait >= longWait):
		return UsageLimit
	default:
		return e.weak
	}
}

// refined returns the class by the learned weights, if no phrase is known. The status restricts the
// choice.
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
		return e.code != Billing && (e.status != 402 || e.strong != Billing && e.scored == UsageLimit)
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
	return Verdict{Class: c, WaitHelps: c.Transient(), InProgress: e.running, Reset: e.reset}
}
