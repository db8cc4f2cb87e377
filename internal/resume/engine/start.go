package engine

import (
	"context"
	"math"
	"slices"
	"time"

	"resumed/internal/limit"
	"resumed/internal/resume"
)

// Gate says why a session that is due may not start now, and until when. It is called last: a session
// that the gate lets through is started. It can only hold a session back, and must not block. Its
// answer must be the same for all sessions of an account with the same resume.SharedLimit.
type Gate func(s resume.Session, now time.Time) (why string, until time.Time)

// RecheckGate makes the engine call the gate again for the sessions that it holds back.
func (e *Engine) RecheckGate(ctx context.Context) error {
	return e.do(ctx, func(context.Context) { e.recheck = true })
}

func (e *Engine) handleDue(ctx context.Context) {
	now := wallNow()
	for {
		next, ok := e.timers.Min()
		if !ok || next.at.After(now) {
			break
		}
		s, _ := e.book.get(next.key)
		if s.State == resume.Settling {
			e.apply(ctx, s, s, resume.Due{}, now)
			continue
		}
		e.timers.drop(s.Key)
		e.ready.add(s, e.opts.Rules)
		e.recheck = true
	}
	if e.recheck || (!e.wake.IsZero() && !e.wake.After(now)) {
		e.recheck = false
		e.start(ctx, now)
	}
	e.forget(ctx, now)
}

// postpone gives a new reset to the sessions that wait for the same one, if a session that was resumed got a new one. An
// earlier one counts only for the same limit: the short wait of another limit or model proves nothing.
func (e *Engine) postpone(ctx context.Context, c resume.Change) {
	ev, limited := c.Event.(resume.Limited)
	was := c.Before.Limit.Reset
	if !limited || !tried(c) || !shared(ev.Class) || !ev.Reset.At.After(c.At) || !was.Stated() {
		return
	}
	earlier := ev.Reset.At.Before(was.At)
	for _, key := range e.account(c.After.AccountKey()).windows.around(was.At, resume.SameWindow) {
		s, _ := e.book.get(key)
		theirs := s.Limit.Reset
		if earlier && (ev.Class != limit.UsageLimit || s.Limit.Class != limit.UsageLimit || s.Model != c.After.Model) {
			continue
		}
		if s.State == resume.Waiting && key != c.After.Key && s.AccountKey() == c.After.AccountKey() &&
			theirs.Stated() && theirs.At.Sub(was.At).Abs() <= resume.SameWindow {
			e.apply(ctx, s, s, resume.Postponed{Reset: c.After.Limit.Reset}, c.At)
		}
	}
}

// tried reports whether a resume of the session met what this step is about.
func tried(c resume.Change) bool {
	return c.Before.State == resume.Resuming || c.Before.State == resume.Settling ||
		c.Before.LastStart().After(c.Before.LimitedAt) // its command ended before the refusal was read
}

// refuse parks the sessions that would be tried next, if a resume shows that the account still refuses
// all of them: people hear of it once. The first such refusal may have a cause of its own, such as a key
// that only one session uses. What must be paid may be a model that others do not use.
func (e *Engine) refuse(ctx context.Context, c resume.Change) {
	ev, limited := c.Event.(resume.Limited)
	if !limited || !tried(c) || !refuses(ev.Class) || c.After.State != resume.Parked {
		return
	}
	for s := range e.book.active() {
		next := s.State == resume.Waiting && (!s.RetryAskedAt.IsZero() || !s.NextAt.After(c.At))
		alike := ev.Class == limit.Auth || s.Limit.Class == ev.Class && s.Model == c.After.Model
		if next && alike && s.AccountKey() == c.After.AccountKey() {
			e.apply(ctx, s, s, resume.Refused{Verdict: ev.Verdict, Text: ev.Text}, c.At)
		}
	}
}

// lift ends the wait of the sessions that the same limit stopped, if one of them shows that the limit was
// over before its reset. If that is wrong, the first of them meets the limit, and postpone makes the others
// wait again.
func (e *Engine) lift(ctx context.Context, c resume.Change) {
	reset, at, ok := c.Disproves()
	if !ok {
		return
	}
	was := c.Before
	for _, key := range e.account(was.AccountKey()).windows.around(reset, resume.SameWindow) {
		s, _ := e.book.get(key)
		if key != was.Key && s.AccountKey() == was.AccountKey() && s.Limit.Class == limit.UsageLimit && s.Model == was.Model {
			e.apply(ctx, s, s, resume.Lifted{At: at, By: was.Key}, c.At)
		}
	}
}

func (e *Engine) account(key resume.AccountKey) *account {
	a := e.accounts[key]
	if a == nil {
		a = &account{windows: newWindows()}
		e.accounts[key] = a
	}
	return a
}

// restoreAccounts computes the states of the accounts from the sessions of an earlier daemon: which
// were stopped, which have moved since, and which try.
func (e *Engine) restoreAccounts(sessions []resume.Session) {
	inOrder := func(at func(resume.Session) time.Time) []resume.Session {
		return slices.SortedFunc(slices.Values(sessions), func(a, b resume.Session) int { return at(a).Compare(at(b)) })
	}
	tries := func(s resume.Session) bool { return s.State == resume.Resuming || s.State == resume.Settling }
	for _, s := range inOrder(func(s resume.Session) time.Time { return s.LimitedAt }) {
		if (s.State == resume.Waiting || tries(s)) && shared(s.Limit.Class) {
			e.account(s.AccountKey()).open(s)
		}
		e.account(s.AccountKey()).note(s)
		e.account(s.AccountKey()).windows.note(s)
	}
	for _, s := range sessions {
		e.account(s.AccountKey()).meter(s.Usage)
		e.account(s.AccountKey()).moved(s.MovedAt)
	}
	for _, s := range inOrder(resume.Session.LastStart) {
		a, at := e.account(s.AccountKey()), s.LastStart()
		if at.IsZero() {
			continue
		}
		if tries(s) {
			a.begun(s.Key, at)
		} else {
			a.started(s.Key, at)
		}
	}
}

func (e *Engine) start(ctx context.Context, now time.Time) {
	e.wake = time.Time{}
	unchanged := make(map[holdup]bool)
	skip := func(one queued) bool {
		return unchanged[one.holdup] && !e.account(one.holdup.account).involves(one.key)
	}
	first := queued{rank: math.MinInt}
	for one, found := e.ready.next(first, skip); found; one, found = e.ready.next(one, skip) {
		if e.look(ctx, one.key, now) {
			unchanged[one.holdup] = true
		}
	}
}

// look starts a session that is due, or says why not. It reports whether its reason is unchanged and
// holds back others too.
func (e *Engine) look(ctx context.Context, key resume.Key, now time.Time) (still bool) {
	s, _ := e.book.get(key)
	if s.Pending() && s.Provider == "" {
		s.Provider = e.usualProvider(s.Account)
	}
	why, until := e.heldBack(s, now)
	if why.Kind == "" {
		if other, ok := e.successor(s); ok {
			e.apply(ctx, s, s, resume.Superseded{By: other}, now)
		} else {
			e.apply(ctx, s, s, resume.Due{Mark: e.opts.Mark()}, now)
		}
		return false
	}
	if !until.IsZero() && (e.wake.IsZero() || until.Before(e.wake)) {
		e.wake = until
	}
	if s.Blocked != nil && s.Reason == why {
		return !e.account(s.AccountKey()).involves(key)
	}
	if why.Kind == resume.WhyOneByOne {
		until = time.Time{} // at that time only one of them may start
	}
	s = e.apply(ctx, s, s, resume.HeldBack{Why: why, Until: until}, now)
	e.timers.drop(key)
	e.ready.add(s, e.opts.Rules)
	return false
}

// heldBack says why a session that is due may not start now, and until when; zero: not known.
func (e *Engine) heldBack(s resume.Session, now time.Time) (why resume.Reason, until time.Time) {
	rules := e.opts.Rules
	if e.opts.Paused {
		return resume.Because(resume.WhyPaused), time.Time{}
	}
	if rules.NextAllowed != nil {
		if at := rules.NextAllowed(now); at.After(now) {
			return resume.Because(resume.WhyHours), at
		}
	}
	if why, until := e.behind(s, now); why.Kind != "" {
		return why, until
	}
	account := e.account(s.AccountKey())
	if at := account.windows.bar(now.Add(-rules.Margin), account.movedAt); s.SharedLimit().HoldsBack(at, now) {
		return resume.Reason{Kind: resume.WhyAccountLimited, At: at.UTC().Round(0)}, at.Add(rules.Margin)
	}
	if why, until := rules.ReservedBy(account.usage, s, now); why.Kind != "" {
		return why, until // as was stated to another session of the account
	}
	if until := account.gate(s.Key, rules, now); !until.IsZero() {
		return resume.Because(resume.WhyOneByOne), until
	}
	if e.running >= max(1, rules.MaxConcurrent) {
		return resume.Because(resume.WhyMaxConcurrent), time.Time{}
	}
	if e.opts.Gate != nil {
		if why, until := e.opts.Gate(s, now); why != "" {
			return resume.Reason{Kind: resume.WhyFleet, Text: why}, until
		}
	}
	return resume.Reason{}, time.Time{}
}

// noteNewcomers stores in stopped sessions which newcomer continued in their directory. The newcomer itself is
// not stored if it was never stopped, and its transcript is not read again.
func (e *Engine) noteNewcomers(ctx context.Context, c resume.Change) {
	if c.After.Cwd == "" || e.opts.Rules.Parallel[c.After.Key.Agent] {
		return
	}
	if !c.Before.Interrupted() && c.After.Interrupted() {
		e.noteNewcomer(ctx, c.After, c.At)
	}
	if begins := c.Before.MovedAt.IsZero() || c.Before.Kind != c.After.Kind; begins && !c.After.MovedAt.IsZero() {
		at := c.At // c is large, and would escape to the heap if it was used below
		for s := range e.book.stoppedIn(dirOf(&c.After)) {
			e.noteNewcomer(ctx, s, at)
		}
	}
}

// noteNewcomer stores a newcomer even if the current rules ignore it: it may be gone when they change.
func (e *Engine) noteNewcomer(ctx context.Context, s resume.Session, now time.Time) {
	other, ok := e.newcomer(s)
	if !ok || s.Newcomer != nil && *s.Newcomer == other {
		return
	}
	if known := s.Newcomer; known != nil && known.Key != other.Key && other.Kind == resume.Headless {
		if known.Kind != resume.Headless && known.BornAt.After(s.LimitedAt) && !e.interrupted(known.Key) {
			return // a headless session says less than a person who continued
		}
	}
	e.apply(ctx, s, s, resume.Joined{Newcomer: other}, now)
}

// newcomer returns the session that continued in the same directory after this one was stopped; an
// interactive one is preferred.
func (e *Engine) newcomer(s resume.Session) (found resume.Newcomer, ok bool) {
	if s.Cwd == "" || e.opts.Rules.Parallel[s.Key.Agent] || s.Pending() {
		return found, false // the directory is not known, or says nothing
	}
	for other := range e.book.begunSince(dirOf(&s), s.LimitedAt) {
		if other.Key == s.Key || other.State != resume.Watching || !other.MovedAt.After(s.LimitedAt) {
			continue
		}
		if found, ok = (resume.Newcomer{Key: other.Key, BornAt: other.BornAt, Kind: other.Kind}), true; other.Kind != resume.Headless {
			break
		}
	}
	return found, ok
}

// successor returns the newcomer that has taken the session's place, by the current rules. If a person
// asked for a retry, there is none.
func (e *Engine) successor(s resume.Session) (resume.Key, bool) {
	if !s.RetryAskedAt.IsZero() {
		return resume.Key{}, false
	}
	other, ok := e.newcomer(s)
	return other.Key, ok && e.opts.Rules.Replaces(s.Key.Agent, other.Kind)
}

// Superseded returns that a person has continued in the same directory with another session; zero: they have not.
func (e *Engine) Superseded(ctx context.Context, key resume.Key) (resume.Reason, error) {
	return ask(ctx, e, func(context.Context) (resume.Reason, error) {
		s, _ := e.book.get(key)
		other, ok := e.successor(s)
		if n := s.Newcomer; !ok && n != nil && s.RetryAskedAt.IsZero() && e.opts.Rules.Replaces(key.Agent, n.Kind) {
			// After a restart, or a long idle time, the newcomer is not known unless it was stopped
			// too.
			other, ok = n.Key, n.BornAt.After(s.LimitedAt) && !e.interrupted(n.Key)
		}
		if !ok {
			return resume.Reason{}, nil
		}
		return resume.Reason{Kind: resume.WhySuperseded, By: other.ID}, nil
	})
}

func (e *Engine) interrupted(key resume.Key) bool {
	s, _ := e.book.get(key)
	return s.Interrupted()
}
