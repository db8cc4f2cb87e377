package resume

import (
	"time"

	"resumed/internal/limit"
)

// Event is something that happened to a session.
type Event interface{ event() }

// What a transcript says. At is always the record's own time.
type (
	// Limited is a refusal that ended a turn.
	Limited struct {
		At time.Time
		limit.Verdict
		Text  string // the agent's words, for people
		First bool   // read at the first sight of its file: it may be old news

		// Context is what a resume has to read again; zero: it is not known.
		Context Context
	}

	// Progressed is a real turn of the agent: not a bookkeeping line, not
	// another error, not a prompt.
	Progressed struct {
		At    time.Time
		Model string // that spoke; empty: not told
	}

	// Prompted is a prompt that was given to the agent, by a person or by us.
	Prompted struct {
		At time.Time
		By string // who gave it where it is no person, such as "another resumed"
	}

	// Cancelled is a turn that a person stopped.
	Cancelled struct{ At time.Time }
)

// Renamed is a transcript that has another name now. It concerns every session
// of its agent that was read from it, so its observation names no session.
type Renamed struct{ From string }

// What becomes of a resume.
type (
	// Due is the end of a wait. Mark names the resume that follows from it.
	Due struct{ Mark string }

	// Queued is a wait that is over and must wait on, for a reason outside
	// the session. Until is when that may be another matter; zero: it is not known.
	Queued struct {
		Why   string
		Until time.Time
	}

	// Postponed is a wait for a reset that another session of the account has
	// found to come later.
	Postponed struct {
		Reset limit.Reset
		By    Key
	}

	// Superseded is a wait that is over when a person has gone on in the same
	// directory with another session.
	Superseded struct{ By Key }

	// Joined is a session that was begun where this one had been stopped.
	Joined struct{ Newcomer }

	// Sending is the point from which a resume cannot be taken back: what the
	// transcript says from here on may be its doing.
	Sending struct {
		Mark    string
		LeftOut []string // what of the session's own command line is not repeated, in words
		Models  Models   // what it may go on with
	}

	// Started is a resume command that runs now, or a prompt that is about to
	// be handed to the process that holds the session.
	Started struct {
		Mark string
		Process
		Unverifiable bool
	}

	// Ended is a resume command that is over.
	Ended struct {
		Mark    string
		Outcome Outcome // Delivered, Failed, TimedOut, Denied or Unknown
		Err     string  // in words; empty where it ended well
		Unpaid  string  // why its user's own key is not used any longer; empty: it may be
	}

	// Recalled is a resume that is not to be sent, if it was not yet.
	Recalled struct{}

	// NotSent is a resume that was not sent: why, and what follows from that.
	NotSent struct {
		Mark  string
		Why   string
		Then  Then
		Owner *Owner    // the process that has the session open, if that is why
		Until time.Time // when to try again; zero: soon
	}

	// Lost is a resume that an earlier daemon began and of which no living
	// process and no trace in the transcript was found.
	Lost struct{ Mark string }
)

// Then is what follows if a resume was not sent.
type Then uint8

// What may follow.
const (
	TryAgain      Then = iota // the session waits, and is tried again
	Park                      // waiting does not help: a person has to act
	Tell                      // it is tried again, and a person is told once
	TellUnreached             // the same; the process that has it open can be given nothing as long as it lives
	UserClosed                // its user was seen to have closed it just now
	NeedsOrder                // it is tried again; the order that led here did not know this, and is used up
	KeepForPeople             // the rest of the week's allowance is for people: the rules say until when
	DropOwnKey                // its user's own key cannot be used: it waits for its account
)

// Which process holds a session that was stopped.
type (
	// Occupied is a live process that holds it, and why nothing can be given to
	// that process; "" where something can.
	Occupied struct {
		Owner     Owner
		Unreached string
		Tell      bool // a person should know, once
	}

	// Released is the end of that process.
	Released struct {
		Closed bool // as far as can be told, its user ended it
	}
)

// What a person orders.
type (
	// Retry makes an interrupted session due now, attempts forgiven.
	Retry struct{ By string } // the machine that asks for it; "": a person of this one, as for those that follow

	// Forget drops the interruption; a new one counts again.
	Forget struct{ By string }

	// Pause keeps a session from being resumed until Unpause.
	Pause struct{ By string }

	// Unpause ends a Pause.
	Unpause struct{}
)

// Reconsider computes a wait anew from what is known, after the rules changed.
type Reconsider struct{}

// Rewound is a clock that was set back.
type Rewound struct{}

// Slept is a clock that ran on while nothing else did.
type Slept struct{ For time.Duration }

// CameBack is the end of a time in which no daemon ran, or the machine slept.
type CameBack struct{ Since time.Time }

// Expired is an interruption that ended long ago, and that no person has cared for.
type Expired struct{}

func (Limited) event()    {}
func (Progressed) event() {}
func (Prompted) event()   {}
func (Cancelled) event()  {}
func (Due) event()        {}
func (Queued) event()     {}
func (Postponed) event()  {}
func (Superseded) event() {}
func (Joined) event()     {}
func (Sending) event()    {}
func (Started) event()    {}
func (Ended) event()      {}
func (Recalled) event()   {}
func (NotSent) event()    {}
func (Lost) event()       {}
func (Occupied) event()   {}
func (Released) event()   {}
func (Retry) event()      {}
func (Forget) event()     {}
func (Pause) event()      {}
func (Unpause) event()    {}
func (Reconsider) event() {}
func (Rewound) event()    {}
func (Slept) event()      {}
func (Renamed) event()    {}
func (CameBack) event()   {}
func (Expired) event()    {}
func (Learned) event()    {}
func (Pay) event()        {}
func (Enqueued) event()   {}
func (Relisted) event()   {}
func (Became) event()     {}

// Observation is an event that was read from an agent's files: what happened, to
// which session, and where it is written.
type Observation struct {
	Key        Key
	Account    string    // AGENT:NAME; sessions of one account share a limit
	Provider   string    // who answers there, where an account may have several; empty: not told
	Cwd        string    // where the session works
	CwdBorn    time.Time // when that directory was made; zero: not known
	Transcript string    // the file it was read from
	Kind       string    // Interactive or Headless; empty: not told
	Made       time.Time // when the session, or that file, was made; zero: not known, or its first event tells
	Late       bool      // this is not how it began: that was read before, or happened elsewhere
	Pos        Position
	Event      Event
}

// Born returns when the session began whose first observation this is; zero: it
// was found, and that is not known.
func (s Observation) Born() time.Time {
	at := When(s.Event)
	limited, _ := s.Event.(Limited)
	_, cancelled := s.Event.(Cancelled)
	if limited.First || cancelled { // it began before
		at = time.Time{}
	}
	if s.Late || at.IsZero() || !s.Made.IsZero() && s.Made.Before(at) {
		return s.Made
	}
	return at
}

// When returns the time of what a transcript says; zero: it does not tell.
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

// Learned is what became known of a session by other ways than its transcript. What is not known is zero.
type Learned struct {
	Program Program // what a live process of its own runs,
	Origin  *Origin // what that was started with,
	Kind    string  // and whether a person sits before it: Interactive or Headless

	Context *Context
	Usage   *Usage
	Cost    *Cost
}

// Pay is a person who has a session continue with their own key, at their cost. It holds until
// the limit is over that stopped the session, and nothing but a person gives it.
type Pay struct{}

// What becomes of a task.
type (
	// Enqueued is a task that a person asks for, or asks for anew.
	Enqueued struct{}

	// Relisted gives a task another place in the queue; 0: it was begun, and is not shown there any longer.
	Relisted struct{ Place int }

	// Became is a task whose command has told which session it began.
	Became struct{ Session string }
)
