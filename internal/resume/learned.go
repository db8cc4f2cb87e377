package resume

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"resumed/internal/limit"
)

func (s Session) learned(ev Learned, r Rules, now time.Time) Session {
	if ev.Program != (Program{}) {
		s.Program = ev.Program
	}
	// A process that started too late to have received the session's last prompt was only opened to read the session, or
	// holds another session of the same directory. There was a prompt before the limit.
	prompted := cmp.Or(s.PromptedAt, s.LimitedAt)
	if ev.Origin != nil && (prompted.IsZero() || !ev.Origin.BeganAt.After(prompted.Add(slack))) {
		s.Origin = ev.Origin
		if s.Needs == StartUnseen && s.StartedWith().Seen() {
			s = s.schedule(r, now)
		}
	}
	if ev.Cost != nil {
		s.Cost = *ev.Cost
	}
	if ev.Context != nil {
		s = s.weighed(*ev.Context, r)
	}
	if ev.Usage != nil {
		s = s.metered(*ev.Usage, r, now)
	}
	if ev.Subagents != nil {
		s = s.withSubagents(*ev.Subagents)
	}
	return s.Attended(ev.Kind)
}

// weighed sets the size of the context, and reports it to a person if the rules want that.
func (s Session) weighed(size Context, r Rules) Session {
	s.Context = size
	if s.State != Waiting || s.Reported || r.OnCold != TellCold {
		return s
	}
	if why := s.tooCold(r, s.NextAt); why != "" {
		s.Reported, s.Reason = true, join(describe(s.Limit, ""), why, "it is resumed anyway, unless you cancel it")
	}
	return s
}

// metered sets the usage, and changes the wait if the usage was not known when the wait began.
func (s Session) metered(usage Usage, r Rules, now time.Time) Session {
	if usage.At.Before(s.Usage.At) {
		return s
	}
	s.Usage = usage
	if s.State != Waiting {
		return s
	}
	if s.Limit.Class == limit.UsageLimit && !s.Limit.Reset.Stated() && s.Usage.Lifts.After(s.LimitedAt) {
		s.Limit.Reset = limit.Reset{At: s.Usage.Lifts, Source: limit.Structured}
	}
	return s.scheduleAgain(r, now)
}

// StartedWith returns what the process was started with that received the session's last prompt; nil:
// not known. A process that was last seen before that prompt may have been replaced by another, with
// other arguments.
func (s Session) StartedWith() *Origin {
	if s.Origin == nil || s.Origin.SeenAt.Before(s.PromptedAt) {
		return nil
	}
	return s.Origin
}

// AskToContinue is a reason not to continue the session without a person's word, and how they give it.
func (s Session) AskToContinue(why string) string {
	return fmt.Sprintf("%s; %s continues it with your settings as they are now", why, s.retry())
}

func (s Session) parkUnseen(why string) Session {
	s = s.park(why)
	s.Needs = StartUnseen
	return s
}

// Shown returns a command line that continues the session, without the secrets that are stored in its
// origin, for people.
func (s Session) Shown(argv []string) []string {
	if s.Origin == nil || s.Origin.Shown == nil {
		return argv
	}
	shown, kept := slices.Clone(argv), slices.Concat(s.Origin.Through, s.Origin.Args)
	for i, arg := range argv {
		if at := slices.Index(kept, arg); at >= 0 && at < len(s.Origin.Shown) {
			shown[i] = s.Origin.Shown[at]
		}
	}
	return shown
}

// Attended returns the session with this kind. A session that was once interactive stays so, whatever
// continued it since.
func (s Session) Attended(kind string) Session {
	if kind != "" && s.Kind != Interactive {
		s.Kind = kind
	}
	return s
}

func (s Session) occupied(ev Occupied) Session {
	if s.State != Waiting || s.Run != nil {
		return s
	}
	s.Owner, s.Reported, s.ClosedAt = &ev.Owner, s.Reported || ev.Tell, time.Time{}
	if s.Unreached != ev.Unreached {
		s.Unreached = ev.Unreached
		s.Reason = s.cause("")
	}
	return s
}

// Unattended reports whether the session works again, and no person has given it a prompt since.
func (s Session) Unattended() bool {
	resumed := strings.HasPrefix(s.Reason, WorksAgain) || strings.HasPrefix(s.Reason, WentOn)
	return s.State == Watching && resumed && s.PromptedAt.Before(s.RecoveredAt)
}

// permission parks a session that asks for something, until that is answered. Without a hook, only
// sessions count that work unattended.
func (s Session) permission(ev Asked, now time.Time) Session {
	switch {
	case ev.For != "" && (s.Unattended() || ev.Attended && s.State == Watching):
		s.Asks, s.Owner = ev.For, nil
		if ev.Owner.PID > 0 {
			s.Owner = &ev.Owner
		}
		return s.park(AsksFor + ev.For)
	case s.Asks != "" && s.Asks != ev.For:
		if s.PromptedAt.Before(s.RecoveredAt) { // it works unattended again, as before
			return s.rest(now, WorksAgain+": you answered it")
		}
		return s.unparked(now, "you answered it")
	default:
		return s
	}
}

func (s Session) unparked(now time.Time, why string) Session {
	recovered := s.RecoveredAt
	s = s.rest(now, why)
	s.RecoveredAt = recovered
	return s
}

// released computes the wait again if only a process that has ended held the session back.
func (s Session) released(ev Released, r Rules, now time.Time) Session {
	if ev.Left && s.Interrupted() && s.Run == nil {
		return s.rest(now, "left by you with /clear")
	}
	if s.Owner == nil || s.Run != nil {
		return s
	}
	if s.Asks != "" {
		return s.rest(now, "it does not ask any longer")
	}
	if !s.SilentAt.IsZero() {
		return s.unparked(now, "its process has ended")
	}
	heldBack := s.State == Waiting || s.State == Parked && s.Unreached != "" && s.Reason == s.Unreached
	s.Owner, s.Unreached, s.Reported = nil, "", false
	if !heldBack {
		return s
	}
	if ev.Closed {
		s.ClosedAt = now
	}
	s.NotBefore = time.Time{}
	return s.schedule(r, now)
}

// lifted makes a session due that waits for the reset of a limit which is over.
func (s Session) lifted(ev Lifted, r Rules, now time.Time) Session {
	if s.State != Waiting || !s.RetryAskedAt.IsZero() || !ev.At.After(s.LimitedAt) || !s.LiftedAt.IsZero() {
		return s
	}
	s.LiftedAt = ev.At
	s = s.schedule(r, now)
	if s.State == Waiting {
		s.Reason = fmt.Sprintf("its limit was over before the reset at %s: session %s of the same account works again", s.Limit.Reset.At.UTC().Format(time.RFC3339), ev.By.ID)
	}
	return s
}
