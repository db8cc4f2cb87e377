// Package resume decides when an interrupted session is resumed, and when to stop trying. Session.Next
// has all the rules and no side effects.
package resume

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"resumed/internal/limit"
)

// State is the state of a session.
type State uint8

// The states, in the order of an interruption.
const (
	Watching State = iota + 1 // not stopped
	Waiting                   // stopped; NextAt is when it is resumed
	Resuming                  // the resume is being sent, or runs
	Settling                  // the resume was delivered; the transcript must move now
	GaveUp                    // no tries are left; reported to a person
	Parked                    // waiting cannot help; reported to a person
)

var stateNames = [...]string{
	Watching: "watching",
	Waiting:  "waiting",
	Resuming: "resuming",
	Settling: "settling",
	GaveUp:   "gave_up",
	Parked:   "parked",
}

// States returns every state, in the order of an interruption.
func States() []State { return []State{Watching, Waiting, Resuming, Settling, GaveUp, Parked} }

// CanRetry reports whether a session is interrupted, and no resume is on its way.
func (s State) CanRetry() bool { return s == Waiting || s == Parked || s == GaveUp }

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
	if at := slices.Index(stateNames[Watching:], string(text)); at >= 0 {
		*s = Watching + State(at)
		return nil
	}
	return fmt.Errorf("unknown state %q", text)
}

// MarkVariable is the environment variable that identifies the command of a resume, and the processes
// that it starts.
const MarkVariable = "RESUMED_MARK"

// Session is one conversation of one agent. It is a value: Next returns a new one and changes nothing
// that both share.
type Session struct {
	Key        Key       `json:"key"`
	Name       string    `json:"name,omitempty"` // for people; never changes
	Task       *Task     `json:"task,omitempty"` // the task that begins or began it; nil: its user began it
	Account    string    `json:"account,omitempty"`
	Model      string    `json:"model,omitempty"`    // that answered last, if known
	Provider   string    `json:"provider,omitempty"` // who answered last, if an account may have several providers
	Cwd        string    `json:"cwd,omitempty"`
	CwdBorn    time.Time `json:"cwd_born,omitzero"` // when that directory was made, as observed when the session was stopped
	Transcript string    `json:"transcript,omitempty"`
	Kind       string    `json:"kind,omitempty"` // Interactive or Headless; empty: not known
	App        string    `json:"app,omitempty"`  // the editor or desktop app that its user works with, for people; empty: a terminal, or not known
	Seen       Position  `json:"seen,omitzero"`  // position of the last event that was applied

	Origin      *Origin  `json:"origin,omitempty"`       // its process, and what that was started with; StartedWith says whether it still counts
	NotRepeated []string `json:"not_repeated,omitempty"` // what the last resume did not repeat of Origin, for people
	Context     Context  `json:"context,omitzero"`       // what the provider reads again at a resume, if known
	Usage       Usage    `json:"usage,omitzero"`         // how much of its account's allowances is used, if known

	BornAt      time.Time `json:"born_at,omitzero"`      // when it began; zero: not known
	FoundAt     time.Time `json:"found_at,omitzero"`     // when a daemon first observed it
	MovedAt     time.Time `json:"moved_at,omitzero"`     // when the transcript last moved
	PromptedAt  time.Time `json:"prompted_at,omitzero"`  // when it last got a prompt that was not from a resume
	LimitedAt   time.Time `json:"limited_at,omitzero"`   // when it was last stopped
	RecoveredAt time.Time `json:"recovered_at,omitzero"` // when an interruption last ended

	State   State  `json:"state"`
	Paused  bool   `json:"paused,omitempty"`
	Allowed *Word  `json:"allowed,omitempty"` // a person said that it may continue although its start was not seen; nil: nobody did
	Trusted string `json:"trusted,omitempty"` // the programs that a person said may continue it, as they were then
	Reason  Reason `json:"reason,omitzero"`   // why it is in that state

	WorksAlone bool `json:"works_alone,omitempty"` // it continued after an interruption, and no person has given it a prompt since

	StoppedBefore *limit.Verdict `json:"stopped_before,omitempty"` // what stopped it when a person continued it, until it moves; nil: nothing

	Undo *Undo `json:"undo,omitempty"` // the interruption that a person cancelled, until it is over; nil: none

	Subagents []Subagent `json:"subagents,omitempty"` // that were stopped since a person's last prompt, and have not continued

	Windows int       `json:"windows,omitempty"`  // usage limits met since a person's last prompt
	CutOffs int       `json:"cut_offs,omitempty"` // how often its process ended in the middle of a turn since then
	Run     *Run      `json:"run,omitempty"`      // the resume that is being sent, or runs
	Runs    int       `json:"runs,omitempty"`     // how often it was claimed, also without effect: part of the names of a resume's files
	Past    []Attempt `json:"past,omitempty"`     // the resumes of the previous interruption

	NoticeID    string `json:"notice_id,omitempty"`    // notice of the step at which a person was needed; later events do not change it
	NoticeCount int    `json:"notice_count,omitempty"` // how many such notices there were

	Interruption
}

// ResumesAt returns when a waiting session is resumed, as far as is known: after its wait, and after
// what holds it back then.
func (s Session) ResumesAt() time.Time {
	if s.Blocked != nil {
		return Later(s.NextAt, s.Blocked.Until)
	}
	return s.NextAt
}

// Interrupted reports whether the session is stopped and its interruption has not ended.
func (s Session) Interrupted() bool { return s.State != Watching && s.State != 0 }

// NeedsPerson reports whether only a person can end the interruption.
func (s Session) NeedsPerson() bool { return s.State == GaveUp || s.State == Parked }

// QuietSince returns when a session that was never interrupted last moved, as far as is known.
func (s Session) QuietSince() time.Time { return cmp.Or(s.MovedAt, s.FoundAt) }

// WorthKeeping reports whether the session is or was interrupted (and that is not forgotten), is
// paused, comes from the queue, asks for something, or has stopped subagents. Such sessions are shown to people and stored;
// the others are found again in their files.
func (s Session) WorthKeeping() bool {
	return !s.LimitedAt.IsZero() || s.Paused || s.Task != nil || s.Asks != "" || !s.SilentAt.IsZero() || len(s.Subagents) > 0
}

// Forgotten returns the session as if it was never interrupted. Its name stays: a person may still use
// it.
func (s Session) Forgotten() Session {
	return Session{
		Key: s.Key, Name: s.Name, Account: s.Account, Provider: s.Provider, Model: s.Model, Cwd: s.Cwd, Transcript: s.Transcript, Kind: s.Kind, App: s.App, Seen: s.Seen,
		State: Watching, Origin: s.Origin, PromptedAt: s.PromptedAt,
		BornAt: s.BornAt, FoundAt: s.FoundAt, MovedAt: s.MovedAt,
	}
}

// Restore returns the session as a new daemon loads it: its resume may have been sent.
func (s Session) Restore() Session {
	if s.Run != nil {
		run := *s.Run
		run.sending = true
		s.Run = &run
	}
	return s
}

// Deadline returns when the engine must handle the session next; zero: at no known time. A session that
// is due while the command of an earlier resume runs, or while it is paused, waits for the end of that.
func (s Session) Deadline() time.Time {
	if s.State == Settling || s.State == Waiting && s.Run == nil && !s.Paused {
		return s.NextAt
	}
	return time.Time{}
}

// Tally counts the sessions in each state.
type Tally [len(stateNames)]int

// Interrupted returns how many sessions are interrupted.
func (t Tally) Interrupted() (n int) {
	for state, sessions := range t {
		if State(state) > Watching {
			n += sessions
		}
	}
	return n
}

// Known returns how many sessions there are.
func (t Tally) Known() int { return t[Watching] + t.Interrupted() }

// ErrNoSession is returned for a session that is not known.
var ErrNoSession = errors.New("no such session")

// Pending reports whether the session is a task, and no session of it has been observed yet.
func (s Session) Pending() bool { return s.Task != nil && s.Task.BegunAt.IsZero() }

// IsPlaceholder reports whether there is no session with this key: it is a task that waits, or a task
// that got a session with another id, which could not be chosen in advance.
func (s Session) IsPlaceholder() bool { return s.Task != nil && s.Task.Session != s.Key.ID }

func (s Session) runs(mark string) bool { return s.Run != nil && s.Run.Mark == mark }

// Last returns the last resume of the interruption; zero: there was none.
func (s Session) Last() Attempt {
	if len(s.Attempts) == 0 {
		return Attempt{}
	}
	return s.Attempts[len(s.Attempts)-1]
}

func (s Session) withLast(change func(*Attempt)) Session {
	if n := len(s.Attempts); n > 0 {
		s.Attempts = slices.Clone(s.Attempts)
		change(&s.Attempts[n-1])
	}
	return s
}

// conclude sets the outcome of the last attempt, if it has none.
func (s Session) conclude(how Outcome, err string, now time.Time) Session {
	if was := s.Last().Outcome; was != "" && !(was == Failed && how == LimitedOut) {
		// Failed may become LimitedOut: the limit is known only when its record is read.
		return s
	}
	return s.withLast(func(last *Attempt) {
		last.Outcome, last.Err = how, err
		if last.EndedAt.IsZero() {
			last.EndedAt = now
		}
	})
}

func (s Session) models(m Models) Session {
	if s.Last().Models == m {
		return s
	}
	return s.withLast(func(last *Attempt) { last.Models = m })
}

// Tries returns how many resumes there were since the transcript last moved.
func (s Session) Tries() int { return s.Last().N }

// LastStart returns when the last resume was started; zero: never.
func (s Session) LastStart() time.Time { return s.Last().StartedAt }

// LastResume returns when the last resume was started, also of an earlier interruption; zero: never.
func (s Session) LastResume() time.Time {
	if n := len(s.Past); n > 0 {
		return Later(s.Past[n-1].StartedAt, s.LastStart())
	}
	return s.LastStart()
}

func (s Session) archived() Session {
	if len(s.Attempts) > 0 {
		s.Past, s.Attempts = s.Attempts, nil
	}
	return s
}

// Tried returns the attempt with that mark, also if it has ended its interruption.
func (s Session) Tried(mark string) (Attempt, bool) {
	for _, a := range slices.Concat(s.Attempts, s.Past) {
		if a.Mark == mark {
			return a, true
		}
	}
	return Attempt{}, false
}

// DeniedAt reports whether a record of that time is the work of a resume that was refused a permission
// and ended: the session has not moved since.
func (s Session) DeniedAt(at time.Time) bool {
	return slices.ContainsFunc(slices.Concat(s.Attempts, s.Past), func(a Attempt) bool {
		return a.Outcome == Denied && a.during(at)
	})
}

// denied parks a session after its resume was refused a permission and ended: the next resume would be
// refused it too, and no person would know. It is not a recovery, even if the transcript moved before.
func (s Session) denied(ev Ended, now time.Time) Session {
	if n := len(s.Past); n > 0 && s.State == Watching && s.Past[n-1].Mark == ev.Mark && s.Past[n-1].Outcome == Recovered {
		s.Attempts, s.Past = s.Past, nil // it moved the session, which ended the interruption
	} else if s.State != Resuming {
		return s // a limit was met since, or a person continues the session
	}
	s = s.withLast(func(last *Attempt) { last.Outcome, last.Err, last.EndedAt = Denied, ev.Err, now })
	s.RetryAskedAt = time.Time{}
	return s.park(inWordsOf(WhyDenied, ev.Err))
}

func (s Session) rest(now time.Time, why Reason) Session {
	if s.Interrupted() {
		s.RecoveredAt = now
	}
	if !s.Run.sent() {
		s.Run = nil // it was not sent yet, and need not be
	}
	s = s.archived()
	s.State, s.Reason, s.WorksAlone, s.Interruption, s.Subagents, s.Undo = Watching, why, false, Interruption{}, nil, nil
	return s
}

func (s Session) park(why Reason) Session {
	s.State, s.NextAt, s.GivesUpAt, s.Reason, s.Needs = Parked, time.Time{}, time.Time{}, why, ""
	return s
}

// settle waits for the transcript to move, after the resume was delivered.
func (s Session) settle(patience time.Duration, now time.Time) Session {
	s.State, s.WaitFrom, s.NextAt = Settling, now, now.Add(patience)
	return s
}
