// Package resume decides when an interrupted session is resumed, and when to
// stop trying. Session.Next holds every rule and touches nothing.
package resume

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
)

// State is the state of a session.
type State uint8

// The states, in the order of an interruption's life.
const (
	Watching State = iota + 1 // nothing is wrong
	Waiting                   // limited; NextAt is when it is resumed
	Resuming                  // the resume is being sent or runs
	Settling                  // the resume was delivered; the transcript must move now
	GaveUp                    // out of retries; a person is told
	Parked                    // waiting cannot help; a person is told
)

var stateNames = [...]string{
	Watching: "watching",
	Waiting:  "waiting",
	Resuming: "resuming",
	Settling: "settling",
	GaveUp:   "gave_up",
	Parked:   "parked",
}

// States returns every state, in the order of an interruption's life.
func States() []State { return []State{Watching, Waiting, Resuming, Settling, GaveUp, Parked} }

func (s State) String() string {
	if s >= Watching && int(s) < len(stateNames) {
		return stateNames[s]
	}
	return fmt.Sprintf("state(%d)", uint8(s))
}

// MarshalText writes the state's name.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a state's name.
func (s *State) UnmarshalText(text []byte) error {
	for _, known := range States() {
		if known.String() == string(text) {
			*s = known
			return nil
		}
	}
	return fmt.Errorf("unknown state %q", text)
}

// MarkVariable is the environment variable by which a resumed command, and
// whatever it starts, is known as ours.
const MarkVariable = "RESUMED_MARK"

// OwnKeyVariable is in the environment of a command that has its user's own key, and of
// whatever it starts.
const OwnKeyVariable = "RESUMED_OWN_KEY"

// Session is one conversation of one agent. It is a value: Next returns a new
// one and changes nothing that the old one shares.
type Session struct {
	Key        Key       `json:"key"`
	Name       string    `json:"name,omitempty"` // what people call it; given once
	Task       *Task     `json:"task,omitempty"` // that it was begun for, or is to be; nil: its user began it
	Account    string    `json:"account,omitempty"`
	Provider   string    `json:"provider,omitempty"` // that answered last, if an account may have several
	Cwd        string    `json:"cwd,omitempty"`
	CwdBorn    time.Time `json:"cwd_born,omitzero"` // when that directory was made, as it was seen when the session was stopped
	Transcript string    `json:"transcript,omitempty"`
	Kind       string    `json:"kind,omitempty"` // Interactive or Headless; empty: not known
	Seen       Position  `json:"seen,omitzero"`  // of the last event that was applied

	Program Program  `json:"program,omitzero"`   // what its process ran when it was last seen alive
	Origin  *Origin  `json:"origin,omitempty"`   // what that process was started with; StartedWith says whether it still counts
	LeftOut []string `json:"left_out,omitempty"` // what the last resume did not repeat of it, in words
	Context Context  `json:"context,omitzero"`   // what a resume has to read again, if known
	Usage   Usage    `json:"usage,omitzero"`     // how much of its account's allowances is used, if known
	Cost    Cost     `json:"cost,omitzero"`      // what it has cost until now, if known

	BornAt      time.Time `json:"born_at,omitzero"`      // when it began; zero: not known
	FoundAt     time.Time `json:"found_at,omitzero"`     // when a daemon first saw it
	MovedAt     time.Time `json:"moved_at,omitzero"`     // when the transcript last moved
	PromptedAt  time.Time `json:"prompted_at,omitzero"`  // when somebody else than a resume last gave it a prompt
	LimitedAt   time.Time `json:"limited_at,omitzero"`   // when it was stopped last
	RecoveredAt time.Time `json:"recovered_at,omitzero"` // when an interruption last ended

	State  State  `json:"state"`
	Paused bool   `json:"paused,omitempty"`
	Reason string `json:"reason,omitempty"` // why it is in that state, for people

	Paid    *Paid     `json:"paid,omitempty"`    // it continues with its user's own key; nil: it does not
	Windows int       `json:"windows,omitempty"` // usage limits met since a person's last prompt
	Run     *Run      `json:"run,omitempty"`     // the resume that is being sent or runs
	Runs    int       `json:"runs,omitempty"`    // how often it was claimed, also if nothing came of it: numbers what is stored of a resume
	Past    []Attempt `json:"past,omitempty"`    // the resumes of the interruption before

	NoticeID    string `json:"call,omitempty"`  // of the step at which a person was needed; what is read later does not change it
	NoticeCount int    `json:"calls,omitempty"` // how many such steps there were

	Interruption
}

// ResumesAt returns when a session that waits is resumed, as far as is known: when its
// wait is over, or what holds it back after that.
func (s Session) ResumesAt() time.Time {
	if s.Blocked != nil {
		return later(s.NextAt, s.Blocked.Until)
	}
	return s.NextAt
}

// Interrupted reports whether the session is stopped and not yet given back to
// its user.
func (s Session) Interrupted() bool { return s.State != Watching && s.State != 0 }

// Over reports whether nothing becomes of the interruption without a person.
func (s Session) Over() bool { return s.State == GaveUp || s.State == Parked }

// QuietSince returns when a session that was never interrupted last moved, as
// far as is known.
func (s Session) QuietSince() time.Time { return cmp.Or(s.MovedAt, s.FoundAt) }

// WorthKeeping reports whether the session is or was interrupted, not too long
// ago, is paused, or comes from the queue: people see it, and it is stored over a restart. The others are
// found again in their files.
func (s Session) WorthKeeping() bool { return !s.LimitedAt.IsZero() || s.Paused || s.Task != nil }

// Forgotten returns the session as one that was never interrupted. It keeps its
// name: a person may still know it.
func (s Session) Forgotten() Session {
	return Session{
		Key: s.Key, Name: s.Name, Account: s.Account, Provider: s.Provider, Cwd: s.Cwd, Transcript: s.Transcript, Kind: s.Kind, Seen: s.Seen,
		State: Watching, Program: s.Program, Origin: s.Origin, PromptedAt: s.PromptedAt,
		BornAt: s.BornAt, FoundAt: s.FoundAt, MovedAt: s.MovedAt,
	}
}

// Restore returns the session as a new daemon takes it over.
func (s Session) Restore() Session {
	if s.Run != nil {
		run := *s.Run
		run.sending = true
		s.Run = &run
	}
	return s
}

// Deadline returns when the engine must look at the session again; zero: no
// time will change it. A wait that is over while the command of an earlier
// resume still runs, or while the session is paused, ends with these.
func (s Session) Deadline() time.Time {
	switch {
	case s.State == Settling:
		return s.NextAt
	case s.State == Waiting && s.Run == nil && !s.Paused:
		return s.NextAt
	default:
		return time.Time{}
	}
}

// Tally is how many sessions are in each state.
type Tally [len(stateNames)]int

// Stopped returns how many were stopped and are not given back to their users.
func (t Tally) Stopped() (n int) {
	for state, sessions := range t {
		if State(state) > Watching {
			n += sessions
		}
	}
	return n
}

// Known returns how many there are.
func (t Tally) Known() int { return t[Watching] + t.Stopped() }

// ErrNoSession is returned for a session that is not known.
var ErrNoSession = errors.New("no such session")

// Pending reports whether the session is a task that has not shown a session yet.
func (s Session) Pending() bool { return s.Task != nil && s.Task.BegunAt.IsZero() }

// IsPlaceholder reports whether there is no such session: it is a task that waits, or
// one whose session has an id that could not be chosen beforehand.
func (s Session) IsPlaceholder() bool { return s.Task != nil && s.Task.Session != s.Key.ID }

// asked names the provider of the session: all accounts of it meet the same outages.
func (s Session) asked() string { return cmp.Or(s.Provider, s.Key.Agent) }

// runs reports whether the resume of that mark is the one that runs.
func (s Session) runs(mark string) bool { return s.Run != nil && s.Run.Mark == mark }

// last returns the latest attempt; zero: there was none.
func (s Session) last() Attempt {
	if len(s.Attempts) == 0 {
		return Attempt{}
	}
	return s.Attempts[len(s.Attempts)-1]
}

// withLast returns the session with its latest attempt changed.
func (s Session) withLast(change func(*Attempt)) Session {
	if n := len(s.Attempts); n > 0 {
		s.Attempts = slices.Clone(s.Attempts)
		change(&s.Attempts[n-1])
	}
	return s
}

// conclude writes the outcome of the last attempt, if it has none.
func (s Session) conclude(how Outcome, err string, now time.Time) Session {
	if was := s.last().Outcome; was != "" && !(was == Failed && how == LimitedOut) {
		// Whether a command failed because of the limit is known only when its record is read.
		return s
	}
	return s.withLast(func(last *Attempt) {
		last.Outcome, last.Err = how, err
		if last.EndedAt.IsZero() {
			last.EndedAt = now
		}
	})
}

// models notes what the last attempt may continue with, or continued with.
func (s Session) models(m Models) Session {
	if s.last().Models == m {
		return s
	}
	return s.withLast(func(last *Attempt) { last.Models = m })
}

// Tries returns how many resumes there were since the transcript last moved.
func (s Session) Tries() int { return s.last().N }

// LastStart returns when the last resume was started; zero: there was none.
func (s Session) LastStart() time.Time { return s.last().StartedAt }

// archived makes the attempts those of the interruption before.
func (s Session) archived() Session {
	if len(s.Attempts) > 0 {
		s.Past, s.Attempts = s.Attempts, nil
	}
	return s
}

// Tried returns the attempt of that mark, also of one that has moved the
// session already.
func (s Session) Tried(mark string) (Attempt, bool) {
	for _, a := range slices.Concat(s.Attempts, s.Past) {
		if a.Mark == mark {
			return a, true
		}
	}
	return Attempt{}, false
}

// DeniedAt reports whether what was written at that time is the work of a
// resume that was refused a permission and ended with that: the session is still
// where that one left it.
func (s Session) DeniedAt(at time.Time) bool {
	return slices.ContainsFunc(slices.Concat(s.Attempts, s.Past), func(a Attempt) bool {
		return a.Outcome == Denied && a.during(at)
	})
}

// movedBy reports whether the session was given back to its user because the
// resume of that mark moved it.
func (s Session) movedBy(mark string) bool {
	if s.State != Watching || len(s.Past) == 0 {
		return false
	}
	last := s.Past[len(s.Past)-1]
	return last.Mark == mark && last.Outcome == Recovered
}

// denied parks a session whose resume was refused a permission and ended with
// that: the next one would be refused it too, and no person would know. That the
// transcript moved before does not make it a recovery.
func (s Session) denied(ev Ended, now time.Time) Session {
	if s.movedBy(ev.Mark) {
		s.Attempts, s.Past = s.Past, nil
	} else if s.State != Resuming {
		return s // a limit was met since, or the session is a person's again
	}
	s = s.withLast(func(last *Attempt) { last.Outcome, last.Err, last.EndedAt = Denied, ev.Err, now })
	s.RetryAskedAt = time.Time{}
	return s.park(ev.Err)
}

// rest ends the interruption: the session is its user's again.
func (s Session) rest(now time.Time, why string) Session {
	if s.Interrupted() {
		s.RecoveredAt = now
	}
	if !s.Run.sent() {
		s.Run = nil // it is about to be sent, and need not be
	}
	s = s.archived()
	s.State, s.Reason, s.Interruption = Watching, why, Interruption{}
	return s
}

// park leaves the session to a person.
func (s Session) park(why string) Session {
	s.State, s.NextAt, s.Reason = Parked, time.Time{}, why
	return s
}

// settle waits for the transcript to move, after a command that did what it was asked.
func (s Session) settle(patience time.Duration, now time.Time) Session {
	s.State, s.WaitFrom, s.NextAt = Settling, now, now.Add(patience)
	return s
}
