package resume

import (
	"time"

	"resumed/internal/limit"
)

// settledBoot is how long after the start of the machine nothing is resumed that the restart has cut
// off: disks, networks and logins come one after the other.
const settledBoot = 2 * time.Minute

// InMidturn reports whether the session can be in the middle of a turn: it is not stopped, and no resume
// of it runs.
func (s Session) InMidturn() bool {
	return s.Run == nil && !s.Pending() && !s.IsPlaceholder() && (s.State == Watching || s.State == 0 || !s.SilentAt.IsZero())
}

// died handles the end of the session's process in the middle of a turn. If nothing proves that its user
// did not end it, it counts as closed by its user.
func (s Session) died(ev Died, r Rules, now time.Time, u float64) Session {
	if s.Origin == nil || s.Origin.Process != ev.Process || !s.InMidturn() {
		return s // another process has continued it
	}
	gone := *s.Origin
	gone.GoneAt = now
	s.Origin = &gone
	s = s.endSilence(now)
	byUser := ev.How == Vanished && s.Kind == Headless || ev.How <= HungUp && r.Closed == LeaveClosed
	wentOn := Later(s.MovedAt, s.PromptedAt).After(ev.At.Add(slack))
	if byUser || wentOn || r.CutOff == IgnoreCutOff || r.Excludes(s.Cwd) {
		return s
	}
	s.CutOffs++
	s.Limit, s.LimitText = limit.Verdict{Class: limit.CutOff, WaitHelps: true}, cutBy[ev.How]
	s.LimitedAt, s.StoppedAt = Earlier(ev.At, now), now
	s.InterruptedAt = s.LimitedAt
	if r.CutOff != ResumeCutOff {
		s = s.park(Because(WhyCutOff))
		s.Needs = RetryCutOff
		return s
	}
	if ev.How == Restarted {
		s.NotBefore = ev.BootedAt.Add(settledBoot)
	}
	return s.wait(r, now, now, u).late(r, now)
}

var cutBy = [...]string{
	Vanished:  "was cut off: its process ended in the middle of a turn",
	HungUp:    "was cut off: its process ended in the middle of a turn",
	Killed:    "was cut off: its process was killed, or crashed, in the middle of a turn",
	Restarted: "was cut off by a restart of the machine",
}

// cutAfter reports whether a record of that time is from before the session was cut off: it is read
// late, and shows no new work.
func (s Session) cutAfter(at time.Time) bool {
	return s.Limit.Class == limit.CutOff && len(s.Attempts) == 0 && !at.After(s.LimitedAt)
}

// silent parks a live session that shows no sign of work. Only its user can tell what it waits for.
func (s Session) silent(ev Silent, r Rules, now time.Time) Session {
	if s.State != Watching || !s.InMidturn() || r.Silent == 0 {
		return s
	}
	s.SilentAt, s.Owner = now, &ev.Owner
	return s.park(Reason{Kind: WhySilent, N: int64(r.Silent.Seconds())})
}

func (s Session) endSilence(now time.Time) Session {
	if s.SilentAt.IsZero() {
		return s
	}
	return s.unparked(now, Because(WhyNotSilent))
}
