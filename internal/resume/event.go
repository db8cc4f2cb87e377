package resume

import (
	"time"

	"resumed/internal/limit"
)

// Event is something that happened to a session.
type Event interface{ event() }

// Events that are read from a transcript. At is the record's own time.
type (
	// Limited is a refusal that ended a turn.
	Limited struct {
		At time.Time
		limit.Verdict
		Text  string // in the agent's words, for people
		First bool   // found when the file was read for the first time: it may be old

		// AtWord is why only a person's word continues the session, for people; empty: it continues by itself.
		AtWord string

		// Context is what the provider reads again at a resume; zero: not known.
		Context Context
	}

	// Progressed is a real turn of the agent: not a bookkeeping line, not
	// another error, not a prompt.
	Progressed struct {
		At    time.Time
		Model string // the model that answered; empty: not known
	}

	// Prompted is a prompt to the agent, from a person or from us.
	Prompted struct {
		At time.Time
		By string // the sender if it is not a person, such as "another resumed"
	}

	// Cancelled is a turn that a person stopped.
	Cancelled struct{ At time.Time }
)

// Renamed is a transcript with a new name. Its observation names no session: it concerns every session
// of the agent that was read from that file.
type Renamed struct{ From string }

// SubagentEnded is the end of a subagent. Its own records tell how it ended.
type SubagentEnded struct{ At time.Time }

// The events of a resume.
type (
	// Due is the end of a wait. Mark names the resume that begins now.
	Due struct{ Mark string }

	// HeldBack is about a session that is due, for a reason outside of it. Until is when that reason
	// may end; zero: not known.
	HeldBack struct {
		Why   string
		Until time.Time
	}

	// Postponed is a reset that has moved, as another session of the account was told.
	Postponed struct{ Reset limit.Reset }

	// Refused is a refusal of another session that holds for the whole account, such as a sign-in that
	// is needed. Text is in the agent's words.
	Refused struct {
		limit.Verdict
		Text string
	}

	// Lifted is a limit that ended before its reset: another session that it had stopped works again.
	Lifted struct {
		At time.Time
		By Key
	}

	// Superseded ends a wait because a person continued in the same directory with another session.
	Superseded struct{ By Key }

	// Joined is a new session that began in the directory of this one after this one was stopped.
	Joined struct{ Newcomer }

	// Sending is the point from which a resume cannot be taken back: what the transcript shows from
	// here on may come from it.
	Sending struct {
		Mark    string
		LeftOut []string // which parts of the session's own command line are not repeated, for people
		Models  Models   // the models it may continue with
	}

	// Started is a resume with a running command, or with a prompt that is about to be handed to the
	// process that holds the session.
	Started struct {
		Mark string
		Process
		Unverifiable bool
	}

	// Ended is the end of a resume command.
	Ended struct {
		Mark    string
		Outcome Outcome // Delivered, Failed, TimedOut, Denied or Unknown
		Err     string  // for people; empty if it succeeded
	}

	// Recalled takes back a resume that was not sent yet.
	Recalled struct{}

	// NotSent is a resume that was not sent: why, and what happens next.
	NotSent struct {
		Mark  string
		Why   string
		Then  NextStep
		Owner *Owner    // the process that has the session open, if that is why
		Until time.Time // when to try again; zero: soon
		Shows string    // the programs that a person must trust first; empty: none

		Offers Permission // in what it would continue, with ParkUnseen
	}

	// Lost is a resume of an earlier daemon that left no living process and no trace in the transcript.
	Lost struct{ Mark string }
)

// NextStep says what happens after a resume was not sent.
type NextStep uint8

// What can happen then.
const (
	TryAgain      NextStep = iota // the session waits, and is tried again
	Park                          // waiting does not help: a person must act
	ParkUnseen                    // its start was not seen, or Shows is set: a person must say that it may continue
	Tell                          // it is tried again, and reported to a person once
	TellUnreached                 // the same; the process that has it open cannot be given a prompt until a person acts there
	UserClosed                    // its user has just closed it
	UserLeft                      // its user has left it for an empty session
	NeedsOrder                    // it is tried again; the person's order was given without knowing this, and no longer counts
	KeepForPeople                 // the rest of the week's allowance is reserved for people: the rules say until when
)

// Events about the process that holds a stopped session.
type (
	// Occupied is a live process that holds the session. Unreached says why it cannot be given a
	// prompt; "" if it can.
	Occupied struct {
		Owner     Owner
		Unreached string
		Tell      bool // report it to a person, once
	}

	// Asked is what the live process of a session asks a person for, such as a permission; "":
	// nothing.
	Asked struct {
		For      string
		Owner    Owner // PID 0: not known
		Attended bool  // a hook reported it, whoever gave the session its last prompt
	}

	// Released is the end of that process.
	Released struct {
		Closed bool // its user ended it, as far as is known
		Left   bool // or has left the session there, and began another one
	}
)

// Events about the process of a session in the middle of a turn.
type (
	// Died is the end of that process, and of no other that continues the session.
	Died struct {
		Process  Process
		At       time.Time // when the last record of the turn was written
		How      End
		BootedAt time.Time // when the machine was started, if How is Restarted
	}

	// Silent is such a process that shows no sign of work.
	Silent struct{ Owner Owner }
)

// End is how a process ended, as far as is known.
type End uint8

// The ends.
const (
	Vanished  End = iota // not known: its user may have ended it
	HungUp               // it was killed, or its terminal was closed
	Killed               // its user did not end it
	Restarted            // with the machine
)

// Orders of a person.
type (
	// Retry makes an interrupted session due now and forgets its attempts.
	Retry struct {
		By  string // the machine that asks; "": a person on this machine, as in the following orders
		Now bool   // also before the time that the provider named to a session whose cancel this undoes
	}

	// Forget ends the interruption. A new one is handled as usual.
	Forget struct{ By string }

	// Pause holds a session back until Unpause.
	Pause struct{ By string }

	// Unpause ends a Pause.
	Unpause struct{}
)

// Reconsider computes the wait again, after the rules changed.
type Reconsider struct{}

// Rewound is a clock that was set back.
type Rewound struct{}

// Slept is time that only passed on the clock: the machine slept, or the clock was set forward.
type Slept struct{ For time.Duration }

// CameBack is the end of a time in which no daemon ran, or the machine slept.
type CameBack struct{ Since time.Time }

// Expired is an interruption that ended long ago and that no person has acted on.
type Expired struct{}

func (Limited) event()        {}
func (Progressed) event()     {}
func (Prompted) event()       {}
func (Cancelled) event()      {}
func (Due) event()            {}
func (HeldBack) event()       {}
func (Postponed) event()      {}
func (Refused) event()        {}
func (Lifted) event()         {}
func (Superseded) event()     {}
func (Joined) event()         {}
func (Sending) event()        {}
func (Started) event()        {}
func (Ended) event()          {}
func (Recalled) event()       {}
func (NotSent) event()        {}
func (Lost) event()           {}
func (Occupied) event()       {}
func (Released) event()       {}
func (Asked) event()          {}
func (Died) event()           {}
func (Silent) event()         {}
func (Retry) event()          {}
func (Forget) event()         {}
func (Pause) event()          {}
func (Unpause) event()        {}
func (Reconsider) event()     {}
func (Rewound) event()        {}
func (Slept) event()          {}
func (Renamed) event()        {}
func (CameBack) event()       {}
func (Expired) event()        {}
func (Learned) event()        {}
func (ProcessUnknown) event() {}
func (Enqueued) event()       {}
func (Relisted) event()       {}
func (Became) event()         {}
func (SubagentEnded) event()  {}

// Observation is an event that was read from an agent's files: what happened, to which session, and
// where it is recorded.
type Observation struct {
	Key        Key
	Account    string    // AGENT:NAME; sessions of one account share a limit
	Provider   string    // who answers, if an account may have several providers; empty: not known
	Cwd        string    // the session's working directory
	CwdBorn    time.Time // when that directory was made; zero: not known
	Transcript string    // the file it was read from
	Kind       string    // Interactive or Headless; empty: not known
	App        string    // the editor or desktop app that the session is open in, for people; empty: none, or not known
	Made       time.Time // when the session, or that file, was made; zero: not known, or the first event shows it
	Late       bool      // this is not the session's first event: that was read before, or is in another file
	Pos        Position
	Event      Event
}

// Born returns when the session of this first observation began; zero: not known.
func (s Observation) Born() time.Time {
	at := When(s.Event)
	limited, _ := s.Event.(Limited)
	_, cancelled := s.Event.(Cancelled)
	if limited.First || cancelled { // it began before this event
		at = time.Time{}
	}
	if s.Late || at.IsZero() || !s.Made.IsZero() && s.Made.Before(at) {
		return s.Made
	}
	return at
}

// When returns the time of a transcript event; zero: it has none.
func When(ev Event) time.Time {
	switch ev := ev.(type) {
	case Limited:
		return ev.At
	case Progressed:
		return ev.At
	case Prompted:
		return ev.At
	case Cancelled:
		return ev.At
	default:
		return time.Time{}
	}
}

// Learned is news about a session from other sources than its transcript. Zero fields are not known.
type Learned struct {
	Origin *Origin // its live process, and what that was started with
	Kind   string  // whether a person uses it: Interactive or Headless

	Context *Context
	Usage   *Usage

	Subagents *[]Subagent

	Continues *Permission // in what it continues on a person's word that did not name it
}

// ProcessUnknown says that no process of a stopped session was found, so that what it was started with stays
// unknown; or that a person must trust the programs in Shows first.
type ProcessUnknown struct {
	Why    string
	Shows  string
	Offers Permission // in what it would continue
}

// The events of a task.
type (
	// Enqueued is a task that a person adds, or asks for again.
	Enqueued struct{}

	// Relisted moves a task to another place in the queue; 0: it has begun and is no longer listed.
	Relisted struct{ Place int }

	// Became is the id of the session that the command of a task has begun.
	Became struct{ Session string }
)

// Bounded returns the event with times that can be stored.
func Bounded(ev Event) Event {
	switch ev := ev.(type) {
	case Limited:
		ev.At = past(ev.At)
		if ev.Reset.At = ahead(ev.Reset.At); !ev.Reset.Stated() {
			ev.Reset = limit.Reset{} // no provider can have stated it
		}
		ev.Context.At = past(ev.Context.At)
		return ev
	case Progressed:
		ev.At = past(ev.At)
		return ev
	case Prompted:
		ev.At = past(ev.At)
		return ev
	case Cancelled:
		ev.At = past(ev.At)
		return ev
	case NotSent:
		ev.Until = ahead(ev.Until)
		return ev
	case Learned:
		if c := ev.Context; c != nil {
			ev.Context = &Context{Tokens: c.Tokens, At: past(c.At), Warm: c.Warm}
		}
		if u := ev.Usage; u != nil {
			ev.Usage = &Usage{At: past(u.At), WeekUsed: u.WeekUsed, WeekResetsAt: ahead(u.WeekResetsAt), Lifts: ahead(u.Lifts)}
		}
		return ev
	default:
		return ev
	}
}

// Bounded returns the observation with times that can be stored.
func (s Observation) Bounded() Observation {
	s.CwdBorn, s.Made, s.Event = past(s.CwdBorn), past(s.Made), Bounded(s.Event)
	return s
}
