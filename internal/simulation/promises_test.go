package simulation

import (
	"time"

	"resumed/internal/resume"
)

// bug is a promise that is broken on purpose, to see that it is found.
type bug string

const (
	acceptsBeforeDisk bug = "a claim is acted on before it is on disk"
	losesCommands     bug = "a command that was begun is not found again"
	announcesNothing  bug = "a command is begun, and a power cut loses that it was"
	sendsUnknownAgain bug = "a prompt of which nobody knows what became is sent again"
	countsNothing     bug = "a resume that failed costs no attempt"
	ignoresResets     bug = "a stated reset is not waited for"
	dropsDue          bug = "a session that is due is forgotten"
	forgetsToTell     bug = "that a session was given up is not told"
	callsTwice        bug = "that a session was given up is told by two notices"
	keepsNoNotice     bug = "a notice is sent that is not on disk"
	forgetsItTold     bug = "that a notice was delivered is not kept"
)

var bugs = []bug{
	acceptsBeforeDisk, losesCommands, announcesNothing, sendsUnknownAgain, countsNothing, ignoresResets, dropsDue, forgetsToTell, callsTwice, keepsNoNotice, forgetsItTold,
}

// judge holds a step of the engine against the rules in force.
func (l *life) judge(c resume.Change) {
	p := l.world.place(c.After.Key)
	p.lifted = !c.After.LiftedAt.IsZero()
	if c.NeedsPerson() || c.Entered(resume.GaveUp) {
		l.nervous = 3
	}
	if run := c.ClaimedRun(); run != nil {
		l.claims[run.Mark] = &claim{place: p}
		switch {
		case len(c.After.Attempts) > maxRetries:
			l.never("%s: attempt %d, where %d are allowed", p.key.ID, len(c.After.Attempts), maxRetries)
		case c.Before.RetryAskedAt.IsZero() && c.Before.LiftedAt.IsZero() && c.At.Before(c.Before.Limit.Reset.At):
			l.never("%s: a resume began before the stated reset", p.key.ID)
		case l.paused || c.Before.Paused:
			l.never("%s: a resume began although it is paused", p.key.ID)
		}
	}
	if run := c.After.Run; run != nil && run.Unverifiable {
		l.claims[run.Mark].handed = true
	}
	if lost, ok := c.Event.(resume.Lost); ok && c.Before.Run != nil && c.Before.Run.Mark == lost.Mark && l.marks[lost.Mark] {
		l.never("%s: %s was begun, and counts as never begun", p.key.ID, lost.Mark)
	}
	if ended, ok := c.Event.(resume.Ended); ok && ended.Outcome == resume.Unknown && c.Before.State == resume.Resuming && c.Before.Run != nil {
		l.counts.parked++
		if c.After.State != resume.Parked {
			l.never("%s: nobody knows what became of %s, and it is %s", p.key.ID, ended.Mark, c.After.State)
		}
	}
}

// sent is the moment that matters: a prompt reaches a session. The caller holds mu.
func (l *life) sent(p *place, mark, way string) {
	stop, made := p.stop(), l.claims[mark]
	limited := resume.Limited{}
	if stop >= 0 {
		limited = p.transcript[stop].(resume.Limited)
	}
	l.log("SENT %s %s by %s", p.key.ID, mark, way)
	l.counts.sends[way]++
	if stop >= 0 {
		p.sends[stop]++
	}
	begins := p.task >= 0 && len(p.transcript) == 0
	if begins {
		p.task++
	}
	switch {
	case begins && p.task > 1:
		l.never("%s: a task was begun %d times", p.key.ID, p.task)
	case l.marks[mark]:
		l.never("%s: %s was sent twice", p.key.ID, mark)
	case !made.onDisk:
		l.never("%s: %s was sent before its claim was on disk", p.key.ID, mark)
	case way != "command" && !made.toldIt:
		l.never("%s: %s was handed over before that was on disk", p.key.ID, mark)
	case stop < 0 && !begins:
		l.never("%s: a prompt for a session that is not interrupted", p.key.ID)
	case p.process != nil:
		l.never("%s: a second one while the first one runs", p.key.ID)
	case way == "command" && p.owner != 0:
		l.never("%s: a command beside the process that holds the session", p.key.ID)
	case p.open != "":
		l.never("%s: sent again, though nobody knows what became of %s", p.key.ID, p.open)
	case time.Now().Before(limited.Reset.At) && !p.ordered && !p.lifted:
		l.never("%s: sent before the stated reset", p.key.ID)
	case !begins && p.sends[stop] > maxRetries*(1+p.retries):
		l.never("%s: %d tries, where %d are allowed", p.key.ID, p.sends[stop], maxRetries)
	}
	l.marks[mark], p.ordered, p.sent = true, false, true
	if way != "command" {
		p.open = mark
	}
}

// stands notes at which call the session stands, as far as the disk tells. The
// caller holds mu.
func (w *world) stands(s resume.Session) {
	p, call := w.place(s.Key), callOf(s)
	if _, known := p.calls[call]; call != "" && !known {
		p.calls[call] = time.Now()
		w.log("%s stands at the call %s", p.key.ID, call)
	}
}

// callOf names what a person is called for; empty: for nothing.
func callOf(s resume.Session) string {
	if s.State == resume.GaveUp || s.State == resume.Parked || s.Reported {
		return s.NoticeID
	}
	return ""
}
