package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"resumed/internal/limit"
	"resumed/internal/resume"
)

// start starts the daemon of the host.
func (h *simHost) start() {
	w := h.w
	h.lives++
	h.synced, h.known, h.probing = false, Account{}, ""
	h.fleet = New(Options{
		Store: &simLink{h}, Host: h.name, Life: fmt.Sprint(h.name, "-", h.lives),
		Rules:   func() Rules { return Rules{Margin: simMargin, Stagger: simStagger, MaxWait: 192 * time.Hour} },
		Account: func(resume.Session) string { return simAccount },
		Stir:    func(context.Context) { h.walkAt = w.now },
		Now:     h.clock, Rand: w.dice.Float64,
	})
	var waiting []*resume.Session
	for _, s := range h.sessions {
		waiting = append(waiting, &s.session)
	}
	h.fleet.Restore(waiting)
	for _, s := range h.sessions {
		s.adopt = s.shared != nil && s.shared.running == h.name
	}
	h.tickAt, h.walkAt = w.now, w.now
}

func (h *simHost) clock() time.Time { return h.w.now.Add(h.skew) }

// undisturbed reports whether nothing went wrong for the host for as long as a lease lasts.
func (h *simHost) undisturbed() bool {
	return !h.held() && h.w.now.Sub(resume.Later(h.disturbed, resume.Later(h.asleep, h.cut))) > LeaseTTL+Heartbeat
}

// held reports whether the host waits for an answer for longer than any daemon would: it sleeps, or
// other hosts sleep in calls that the simulation runs inside its own.
func (h *simHost) held() bool {
	return !h.called.IsZero() && h.w.now.Sub(h.called) > AnswerWithin
}

func (h *simHost) disturb() { h.disturbed = h.w.now }

func (h *simHost) tick() {
	w := h.w
	h.busy = true
	life := h.fleet
	for _, s := range h.sessions {
		if s.adopt && s.shared.running == h.name { // it is found again
			hold, err := life.Hold(context.Background(), "shared", w.auto)
			s.hold, s.adopt = hold, err != nil
		}
	}
	next := life.tick(context.Background())
	h.busy = false
	if h.fleet == life {
		h.tickAt = resume.Later(next.Add(-h.skew), w.now.Add(time.Millisecond))
		select {
		case <-life.kick:
			h.tickAt = w.now.Add(time.Millisecond)
		default:
		}
	}
	if h.fleet.clock.offset != 0 || h.skew == 0 {
		h.synced = true
	}
}

// nudged calls tick if the daemon was woken.
func (h *simHost) nudged() {
	select {
	case <-h.fleet.kick:
		if h.tickAt.After(h.w.now) {
			h.tickAt = h.w.now
		}
	default:
	}
}

// walk is the engine of the host: it starts the sessions that are due, one after the other.
func (h *simHost) walk() {
	w := h.w
	h.walkAt = time.Time{}
	wake := func(local time.Time) {
		if at := resume.Later(local.Add(-h.skew), w.now.Add(time.Millisecond)); h.walkAt.IsZero() || at.Before(h.walkAt) {
			h.walkAt = at
		}
	}
	for _, s := range h.sessions {
		now := h.clock() // it advances while a session is started
		if s.state != resume.Waiting {
			continue
		}
		if now.Before(s.due) {
			wake(s.due)
			continue
		}
		tries := slices.ContainsFunc(h.sessions, func(o *simSession) bool { return o.state == resume.Resuming })
		if tries && !h.limitedAt.IsZero() {
			continue // until that one shows a result
		}
		if at := h.lastStart.Add(simStagger); now.Before(at) {
			wake(at)
			continue
		}
		why, until := h.fleet.Ask(s.session, now)
		if why != "" {
			wake(until)
			continue
		}
		h.begin(s)
	}
	h.nudged()
}

// begin starts a session that the gate has let through.
func (h *simHost) begin(s *simSession) {
	w := h.w
	h.lastStart = h.clock()
	s.state, s.tries = resume.Resuming, s.tries+1
	s.session.State = resume.Resuming
	h.checkStart(s)
	h.fleet.Changed(resume.Change{At: h.clock(), Event: resume.Due{}, After: s.session})
	if s.shared != nil && !h.send(s) {
		return
	}
	s.endsAt = w.now.Add(time.Second + w.upTo(20*time.Second))
	w.log("%s starts %s, ends %s", h.name, s.id, s.endsAt.Format("04:05"))
}

// send starts a session in a shared home directory.
func (h *simHost) send(s *simSession) bool {
	w, life := h.w, h.lives
	hold, err := h.fleet.Hold(context.Background(), "shared", w.auto)
	if err == nil {
		err = hold.Confirm(context.Background())
	}
	switch gone := (*GoneError)(nil); {
	case errors.As(err, &gone):
		h.failed(s)
		s.lost = true // a person is asked
		return false
	case err != nil || h.lives != life:
		w.log("%s may not have %s: %v", h.name, s.id, err)
		if hold != nil {
			hold.Release(context.Background())
		}
		h.failed(s)
		return false
	}
	if s.shared.done { // the transcript shows it
		hold.Release(context.Background())
		h.recovered(s, s.shared.movedAt.Add(h.skew))
		return false
	}
	if e, err := w.store.Get(context.Background(), Leases, SessionKey("shared")); err == nil && h.fleet.holder(e).Host != h.name {
		w.breaks("%s sends %s, which %s looks after", h.name, s.id, h.fleet.holder(e).Host)
	}
	if s.shared.running != "" && s.shared.running != h.name && !w.auto {
		w.breaks("%s runs on %s and on %s", s.id, s.shared.running, h.name)
	}
	s.shared.running, s.hold = h.name, hold
	return true
}

// checkStart checks what must be true for every start.
func (h *simHost) checkStart(s *simSession) {
	w := h.w
	alone := h.fleet.Standing().Alone
	if h.synced && h.known.State != resume.Closed && h.known.State != "" && h.known.Reset.After(w.now.Add(3*time.Second)) {
		w.breaks("%s starts %s before the reset %s that it knows", h.name, s.id, h.known.Reset.Format("04:05"))
	}
	if alone {
		return
	}
	w.starts = append(w.starts, w.now)
	p := h.fleet.accounts[simAccount].probe
	if p == nil || p.key != s.session.Key || !p.begun.Equal(h.clock()) {
		h.checkSteps(s)
		return
	}
	w.log("%s probes with %s", h.name, s.id)
	for _, other := range w.hosts {
		if other != h && other.probing != "" && h.undisturbed() && other.undisturbed() {
			w.breaks("%s probes with %s while %s does with %s", h.name, s.id, other.name, other.probing)
		}
	}
	h.probing = s.id
}

// checkSteps checks that sessions start in growing steps if nothing goes wrong.
func (h *simHost) checkSteps(s *simSession) {
	w := h.w
	e, err := w.store.Get(context.Background(), Accounts, simAccount)
	if err != nil || !w.calm {
		return
	}
	a, err := ReadAccount(e)
	if err != nil || a.State != resume.Closed {
		return // this host does not know it yet
	}
	steps := w.now.Add(time.Second).Sub(a.ClosedAt) / simStagger // clocks are read over a slow connection
	since := 0
	for _, at := range w.starts {
		if at.After(a.ClosedAt) {
			since++
		}
	}
	if most := 1<<(min(steps, 20)+1) - 1; a.Ramp != nil && since > most {
		w.breaks("%s is the start %d, of %d after %d steps", s.id, since, most, steps)
	}
}

// ends shows the result of a run.
func (h *simHost) ends(s *simSession) {
	w := h.w
	s.endsAt = time.Time{}
	if h.probing == s.id {
		h.probing = ""
	}
	if s.state == resume.Watching { // it worked
		if reset := w.limited(); !reset.IsZero() {
			h.refused(s, reset)
		} else {
			h.recovered(s, h.clock())
		}
		return
	}
	reset := w.limited()
	switch {
	case w.chance(0.1):
		w.log("%s: %s failed by itself", h.name, s.id)
		h.letGo(s)
		h.failed(s)
	case !reset.IsZero():
		h.letGo(s)
		h.refused(s, reset)
	default:
		if s.shared != nil {
			s.shared.done, s.shared.movedAt = true, w.now
		}
		h.letGo(s)
		h.recovered(s, h.clock())
	}
}

// letGo releases a shared session: in some worlds so late that it may be held again by then.
func (h *simHost) letGo(s *simSession) {
	if s.shared == nil {
		return
	}
	w, hold := h.w, s.hold
	s.shared.running, s.hold = "", nil
	release := func() {
		if hold != nil && hold.fleet == h.fleet { // otherwise its daemon is dead
			hold.Release(context.Background())
		}
	}
	if w.slow {
		w.late = append(w.late, lateWrite{w.now.Add(w.upTo(time.Minute)), release})
		return
	}
	release()
}

func (h *simHost) refused(s *simSession, reset time.Time) {
	w := h.w
	stated := reset.Truncate(time.Second)
	if w.chance(0.15) {
		stated = time.Time{}
	}
	h.limitedAt = h.clock()
	s.state = resume.Waiting
	s.session = resume.Session{
		Key: resume.Key{Agent: "bot", ID: s.id}, State: resume.Waiting, Account: "bot:default", LimitedAt: h.clock(),
		Interruption: resume.Interruption{
			Limit: limit.Verdict{Class: limit.UsageLimit, WaitHelps: true, Reset: limit.Reset{At: stated}},
		},
	}
	s.due = h.clock().Add(30*time.Second + w.upTo(10*time.Second))
	if !stated.IsZero() {
		s.due = stated.Add(simMargin + w.upTo(5*time.Second))
	}
	w.log("%s: %s is refused until %s", h.name, s.id, stated.Format("04:05"))
	h.fleet.Changed(resume.Change{At: h.clock(), Event: resume.Limited{At: h.clock(), Verdict: s.session.Limit}, After: s.session})
	h.stirred()
}

func (h *simHost) recovered(s *simSession, at time.Time) {
	h.w.log("%s: %s moves", h.name, s.id)
	if h.probing == s.id {
		h.probing = ""
	}
	s.done, s.state, h.limitedAt = true, resume.Watching, time.Time{}
	s.session.Key, s.session.State = resume.Key{Agent: "bot", ID: s.id}, resume.Watching
	h.fleet.Changed(resume.Change{At: h.clock(), Event: resume.Progressed{At: at}, After: s.session})
	h.stirred()
}

func (h *simHost) failed(s *simSession) {
	if h.probing == s.id {
		h.probing = ""
	}
	s.state, s.session.State = resume.Waiting, resume.Waiting
	s.due = h.clock().Add(20 * time.Second)
	h.fleet.Changed(resume.Change{At: h.clock(), Event: resume.NotSent{}, After: s.session})
	h.stirred()
}

func (h *simHost) stirred() {
	h.walkAt = h.w.now.Add(time.Millisecond)
	h.nudged()
}
