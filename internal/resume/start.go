package resume

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

// ring lets every wait end that is over.
func (e *Engine) ring(ctx context.Context) {
	now := wallNow()
	for {
		key, at, ok := e.timers.next()
		if !ok || at.After(now) {
			break
		}
		if s := e.sessions[key]; s.State == Settling {
			e.apply(ctx, s, s, Due{}, now)
			continue
		}
		e.timers.set(key, time.Time{})
		e.ready[key] = struct{}{}
		e.stirred = true
	}
	if e.stirred || (!e.wake.IsZero() && !e.wake.After(now)) {
		e.stirred = false
		e.start(ctx, now)
	}
	e.prune(now)
}

// postpone lets the sessions that wait for the same reset wait on.
func (e *Engine) postpone(ctx context.Context, c Change) {
	if !c.movesReset() {
		return
	}
	for _, key := range e.keys() {
		if s := e.sessions[key]; c.postpones(s) {
			e.apply(ctx, s, s, Postponed{Reset: c.After.Limit.Reset, By: c.After.Key}, c.At)
		}
	}
}

// account returns what is known of an account.
func (e *Engine) account(key AccountKey) *account {
	a := e.accounts[key]
	if a == nil {
		a = &account{}
		e.accounts[key] = a
	}
	return a
}

// restoreAccounts learns from the sessions of an earlier daemon how the accounts
// stand: who was stopped, who has moved since, and who tries.
func (e *Engine) restoreAccounts(sessions []Session) {
	inOrder := func(at func(Session) time.Time) []Session {
		return slices.SortedFunc(slices.Values(sessions), func(a, b Session) int { return at(a).Compare(at(b)) })
	}
	tries := func(s Session) bool { return s.State == Resuming || s.State == Settling }
	for _, s := range inOrder(func(s Session) time.Time { return s.LimitedAt }) {
		if (s.State == Waiting || tries(s)) && shared(s.Limit.Class) {
			e.account(s.AccountKey()).open(s)
		}
	}
	for _, s := range sessions {
		e.account(s.AccountKey()).moved(s.MovedAt)
	}
	for _, s := range inOrder(Session.lastStart) {
		a, at := e.account(s.AccountKey()), s.lastStart()
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

// start begins the resumes that are due, as far as anything allows.
func (e *Engine) start(ctx context.Context, now time.Time) {
	e.wake = time.Time{}
	for _, key := range e.inOrder() {
		s := e.sessions[key]
		why, until := e.heldBack(s, now)
		if why == "" {
			e.begin(ctx, s, now)
			continue
		}
		if !until.IsZero() && (e.wake.IsZero() || until.Before(e.wake)) {
			e.wake = until
		}
		if s.Reason != why {
			e.apply(ctx, s, s, Queued{Why: why}, now)
			e.timers.set(key, time.Time{})
			e.ready[key] = struct{}{}
		}
	}
}

// begin resumes a session, unless a person has gone on in its directory.
func (e *Engine) begin(ctx context.Context, s Session, now time.Time) {
	if other, ok := e.successor(s); ok {
		e.apply(ctx, s, s, Superseded{By: other}, now)
		return
	}
	e.apply(ctx, s, s, Due{Mark: e.opts.Mark()}, now)
}

// heldBack says why a session that is due may not start now, and when that may
// be another matter; zero: some other change will tell.
func (e *Engine) heldBack(s Session, now time.Time) (why string, until time.Time) {
	rules := e.opts.Rules
	if e.opts.Paused {
		return "due, but resumed is paused", time.Time{}
	}
	if rules.NextAllowed != nil {
		if at := rules.NextAllowed(now); at.After(now) {
			return "due, but outside of resume.hours", at
		}
	}
	if why, until := e.allowance(s, now); why != "" {
		return why, until
	}
	if why, until := e.account(s.AccountKey()).gate(s.Key, rules, now); why != "" {
		return why, until
	}
	if e.running >= max(1, rules.MaxConcurrent) {
		return "due, but as many resumes run as resume.max_concurrent allows", time.Time{}
	}
	return "", time.Time{}
}

// allowance says that the session waits for a usage limit of which others of
// its account know when it lifts, and when that is. Without it a session that
// is told no time would use up its retries before a reset that is known.
func (e *Engine) allowance(s Session, now time.Time) (why string, until time.Time) {
	if !s.knowsNoEnd() || e.account(s.AccountKey()).state() == Closed {
		return "", time.Time{}
	}
	margin := e.opts.Rules.Margin
	for _, other := range e.sessions {
		lifts := other.Limit.Reset.At
		if other.AccountKey() != s.AccountKey() || !other.awaitsEnd(now.Add(-margin)) {
			continue
		}
		if until.IsZero() || lifts.Add(margin).Before(until) {
			until = lifts.Add(margin)
			why = fmt.Sprintf("due, but the usage limit of its account lifts at %s, as session %s was told",
				lifts.UTC().Format(time.RFC3339), other.Key.ID)
		}
	}
	return why, until
}

// inOrder returns who is ready, first to go first.
func (e *Engine) inOrder() []Key {
	keys := make([]Key, 0, len(e.ready))
	for key := range e.ready {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b Key) int {
		sa, sb := e.sessions[a], e.sessions[b]
		order := sa.LimitedAt.Compare(sb.LimitedAt)
		if e.opts.Rules.Order == Newest {
			order = -order
		}
		return cmp.Or(order, cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.ID, b.ID))
	})
	return keys
}
