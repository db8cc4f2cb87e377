// Package caller says who asks the daemon for something, and what each kind of caller may ask for.
//
// An agent that is watched may be turned against its user by a text that it reads. So what it can
// reach must not give it more than it has: orders are a person's.
package caller

import (
	"errors"
	"slices"
)

// Kind is what a caller is. The zero Kind may nothing.
type Kind int

// The kinds of callers.
const (
	Unseen   Kind = iota // the process is gone, or hides itself
	Confined             // more restricted than the daemon
	Agent                // a command of an agent that a person started
	Run                  // a run of an agent that the daemon started, or one of its commands
	Person               // none of these
)

// Right is what a request needs.
type Right int

// The rights. No caller has the zero Right: a request without a right is refused.
const (
	_      Right = iota
	Look         // read what the daemon knows
	Report       // say something about the caller's own session
	Order        // have something done
)

// table says what each kind of caller may do. What it does not name is refused.
var table = map[Kind][]Right{
	Person:   {Look, Report, Order},
	Run:      {Look, Report},
	Agent:    {Look, Report},
	Confined: {Look},
	Unseen:   {},
}

// ErrRefused says that the caller may not ask for that.
var ErrRefused = errors.New("the caller may not order this")

// RefusedError is why a caller was refused.
type RefusedError struct{ By Caller }

var refusals = map[Kind]string{
	Run:      "an agent may not order this",
	Agent:    "an agent may not order this",
	Confined: "this may not be ordered from a sandbox or a container",
}

func (e *RefusedError) Error() string {
	const try = ": run it in a terminal of your own"
	if refusal, known := refusals[e.By.Kind]; known {
		return refusal + try + " (" + e.By.Why + ")"
	}
	return "the daemon serves only processes that it can see" + try + " (" + e.By.Why + ")"
}

func (*RefusedError) Unwrap() error { return ErrRefused }

// Caller is the process that asks, as it was judged.
type Caller struct {
	Kind Kind
	Why  string // it is no person, for people

	Marks   []string  // of the runs that it belongs to
	Holders []Process // the agents that it belongs to, the nearest first
}

// Process is a living process of an agent.
type Process struct {
	Agent string
	PID   int
}

// May returns nil if the caller has the right, else a *RefusedError.
func (c Caller) May(right Right) error {
	if slices.Contains(table[c.Kind], right) {
		return nil
	}
	return &RefusedError{c}
}
