package limit

import (
	"time"

	"resumed/internal/limit/facts"
	"resumed/internal/limit/words"
)

// evidence is what the parts of one refusal say about it.
type evidence struct {
	facts.Facts
	strong  Class // plain words
	weak    Class // words that say little
	scored  Class // what the words are like, where no phrase is known
	sure    bool  // of that
	scores  *words.Scores
	running bool
	byWait  bool // weak depends on the wait that is asked for
	paced   bool // strong is a pace where the wait is short
	vague   bool // strong yields to plainer words
	counted bool // strong is told by the period of the quota, in a field
	reopens bool // an allowance comes back by itself
	lifted  bool // it is over
	alone   bool // it goes on by itself, if nothing else is said
	wait    time.Duration
	reset   Reset
}

// addPhrase adds what a phrase says of a quota that is counted by a period.
func (e *evidence) addPhrase(p words.Phrase, period Class) {
	if period != None {
		if p.PerPeriod {
			p.Class = period
		}
		p.Paced = false
	}
	e.running = e.running || p.Running
	e.reopens = e.reopens || p.Reopens
	e.lifted = e.lifted || p.Lifted
	e.alone = e.alone || p.Alone
	e.Beijing = e.Beijing || p.Beijing
	switch {
	case p.Weak && e.weak == None:
		e.weak, e.byWait = p.Class, p.ByWait
	case !p.Weak:
		e.addStrong(p.Class, p.Paced, p.Vague)
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
func (e *evidence) addFacts(f *facts.Facts) {
	if e.Status == 0 {
		e.Status = f.Status
	}
	if f.Code != None && (e.Code == None || f.Code == Billing) {
		e.Code = f.Code
	}
	if e.Family == None {
		e.Family = f.Family
	}
	if f.Period != None && !neverPasses(e.strong) {
		e.strong, e.paced, e.vague, e.counted = f.Period, false, false, true
	}
	e.running = e.running || f.Running
	e.Rejected = e.Rejected || f.Rejected
	e.Beijing = e.Beijing || f.Beijing
}

// merge adds what a part of the message says by itself.
func (e *evidence) merge(part evidence) {
	e.addFacts(&part.Facts)
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
	if e.reopens && e.strong == Billing && e.Code != Billing && e.reset.Stated() && facts.Admits(e.Status, UsageLimit) {
		return UsageLimit
	}
	for _, c := range [...]Class{e.Code, e.strong} {
		if neverPasses(c) && facts.Admits(e.Status, c) {
			return c
		}
	}
	if e.Rejected {
		return UsageLimit
	}
	if e.strong == RateLimit && e.Status == 0 && e.Code == None && e.wait >= longWait {
		return UsageLimit
	}
	if e.paced && e.wait > 0 && e.wait < longWait && e.Code == None {
		return RateLimit
	}
	refined := e.refined()
	if e.Code == Auth && (e.strong == UsageLimit || refined == UsageLimit) {
		return UsageLimit // so some providers call an allowance that is used up
	}
	for _, c := range [...]Class{e.Code, e.strong, refined, facts.ByStatus(e.Status), e.Family} {
		if facts.Admits(e.Status, c) {
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
	family := facts.ByStatus(e.Status)
	switch {
	case e.scored == None || e.strong != None:
		return None
	case family == None && e.sure:
		return e.scored
	case family == None:
		return None
	}
	return e.scores.Among(family, func(c Class) bool { return c != Cancelled && facts.Admits(e.Status, c) })
}

// mayLift reports a class that a stated time overrules: what an agent recorded
// as refused until then is a limit that lifts then, whatever its words. Not so
// where a field says that it has to be bought, shortened or signed in for.
func (e *evidence) mayLift(c Class) bool {
	switch c {
	case None, BadRequest:
		return true
	case Auth:
		return e.Status != 401
	case Billing:
		return e.Code != Billing && (e.Status != 402 || e.strong != Billing && e.scored == UsageLimit)
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
