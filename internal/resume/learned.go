package resume

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"resumed/internal/backoff"
	"resumed/internal/limit"
)

func (s Session) learned(ev Learned, r Rules, now time.Time) Session {
	if ev.Origin != nil && s.MayBeOf(*ev.Origin) {
		s.Origin = ev.Origin.Since(s.Origin)
		if s.Needs == StartUnseen && s.StartedWith().Seen() {
			s = s.schedule(r, now)
		}
	}
	if ev.Continues != nil && s.Allowed != nil && s.Allowed.For == nil {
		s.Allowed = &Word{For: ev.Continues}
	}
	if ev.Context != nil {
		s = s.weighed(*ev.Context, r, now)
	}
	if ev.Usage != nil {
		s = s.metered(*ev.Usage, r, now)
	}
	if ev.Subagents != nil {
		s = s.withSubagents(*ev.Subagents)
	}
	return s.WithKind(ev.Kind)
}

// weighed sets the size of the context, and reports it to a person if the rules want that.
func (s Session) weighed(size Context, r Rules, now time.Time) Session {
	s.Context = size
	s.Context.At = Earlier(size.At, now)
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
	if usage.At = Earlier(usage.At, now); usage.At.Before(s.Usage.At) {
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

// MayBeOf reports whether the session may be of that process. A process that started too late to have received the
// session's last prompt was only opened to read the session, or holds another session of the same directory. There was a
// prompt before the limit. Of two processes, one in a sandbox and one outside of it, the one that was seen first has the
// session: the agent may have started the other, or a person for another session.
func (s Session) MayBeOf(o Origin) bool {
	prompted, had := cmp.Or(s.PromptedAt, s.LimitedAt), s.StartedWith()
	if !prompted.IsZero() && o.BeganAt.After(prompted.Add(slack)) {
		return false
	}
	return had == nil || had.Process == o.Process || (had.Sandbox == "") == (o.Sandbox == "")
}

// Program returns the program of the process that it was started with; zero: not known.
func (s Session) Program() Program {
	if o := s.StartedWith(); o != nil {
		return o.Program
	}
	return Program{}
}

// AskToContinue is a reason not to continue the session without a person's word, and how they give it: they
// are told in what it would continue.
func (s Session) AskToContinue(why string, in Permission) string {
	mode := in.String()
	if mode != "" {
		mode = " in " + mode + ","
	}
	return fmt.Sprintf("%s; %s continues it%s with your settings as they are now", why, s.retry(), mode)
}

// AskToTrust is a reason not to continue the session with a program before a person's word, and how they give it.
func (s Session) AskToTrust(path string) string {
	return fmt.Sprintf("%s would continue it, and lies below its directory, where the agent can change it: look at it, then %s runs it (or name another program as command of [[agent]])",
		path, s.retry())
}

// parkForWord parks a session until its user's word: about its start, in what it would continue, or about programs.
func (s Session) parkForWord(why, programs string, offers Permission) Session {
	s = s.park(why)
	s.Needs, s.Offered = StartUnseen, offers
	if programs != "" {
		s.Needs, s.Shows = TrustNeeded, programs
	}
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

// WithKind returns the session with this kind. A session that was once interactive stays so, whatever
// continued it since.
func (s Session) WithKind(kind string) Session {
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

const maxSubagents = 20

// WorkSince returns since when the session does its current work: a person gave it a prompt, or it
// continued after an interruption. Subagents that were stopped before that do not matter any more.
func (s Session) WorkSince() time.Time { return Later(s.PromptedAt, s.RecoveredAt) }

// withSubagents sets the subagents that were stopped. If the session itself is not stopped, it is not
// resumed for them: a person is told, once.
func (s Session) withSubagents(stopped []Subagent) Session {
	stopped = slices.DeleteFunc(slices.Clone(stopped), func(a Subagent) bool { return a.At.Before(s.WorkSince()) })
	if len(stopped) == 0 {
		return s.withoutSubagents("its subagents continued")
	}
	s.Subagents = stopped[max(0, len(stopped)-maxSubagents):]
	if s.State == Watching {
		s.Reported = true
		s.Reason = SubagentsStopped(s.Subagents) + "; the session itself was not stopped, so it is left to you: ask it to continue them" + after(s.Subagents)
	}
	return s
}

func (s Session) withoutSubagents(why string) Session {
	if len(s.Subagents) > 0 && s.State == Watching {
		s.Reported, s.Reason = false, why
	}
	s.Subagents = nil
	return s
}

const namedSubagents = 3

// SubagentsStopped says which subagents were stopped and by what, for people; empty: none.
func SubagentsStopped(stopped []Subagent) string {
	n := len(stopped)
	if n == 0 {
		return ""
	}
	var names []string
	for _, a := range stopped[:min(n, namedSubagents)] {
		names = append(names, a.named())
	}
	if n > namedSubagents {
		names = append(names, fmt.Sprintf("%d more", n-namedSubagents))
	}
	verb := map[bool]string{true: "was", false: "were"}[n == 1]
	return fmt.Sprintf("%d %s %s stopped by %s: %s", n, plural(n, "subagent"), verb, stopped[n-1].Class.Title(), strings.Join(names, ", "))
}

func (a Subagent) named() string {
	switch {
	case a.About == "" && a.Kind == "":
		return a.ID
	case a.About == "":
		return a.Kind
	case a.Kind == "":
		return a.About
	default:
		return fmt.Sprintf("%s (%s)", a.About, a.Kind)
	}
}

// after says from when on subagents can continue; empty: not known.
func after(stopped []Subagent) string {
	var last time.Time
	for _, a := range stopped {
		last = Later(last, a.Reset)
	}
	if last.IsZero() {
		return ""
	}
	return " after " + last.UTC().Format(time.RFC3339)
}

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
	if byUser || wentOn || r.CutOff == IgnoreCutOff || r.Excluded(s.Cwd) != "" {
		return s
	}
	s.CutOffs++
	s.Limit, s.LimitText = limit.Verdict{Class: limit.CutOff, WaitHelps: true}, cutBy[ev.How]
	s.LimitedAt, s.StoppedAt = Earlier(ev.At, now), now
	s.InterruptedAt = s.LimitedAt
	if r.CutOff != ResumeCutOff {
		s = s.park(s.LimitText + "; " + s.retry() + " continues it")
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
	return s.park(fmt.Sprintf(IsSilent+"%s in the middle of a turn: no record, no CPU, no tool that works or waits for the network or a time; look at it in %s",
		backoff.FormatDuration(r.Silent), ev.Owner.place()))
}

func (o Owner) place() string {
	words := fmt.Sprintf("process %d", o.PID)
	switch {
	case o.App != "":
		return o.App + " (" + words + ")"
	case o.Tmux != "":
		return "tmux " + o.Tmux + " (" + words + ")"
	case o.Kind == Headless:
		return words + ", which has no terminal"
	default:
		return "its terminal (" + words + ")"
	}
}

func (s Session) endSilence(now time.Time) Session {
	if s.SilentAt.IsZero() {
		return s
	}
	return s.unparked(now, "not silent any longer")
}
