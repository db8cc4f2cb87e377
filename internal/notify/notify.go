// Package notify reports to people, by every configured channel, and tries again when a
// channel is down. A notice is durable before it is sent; each channel delivers at its own
// pace and delays no other.
package notify

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

// Event is what a notice is about.
type Event string

// The events.
const (
	GaveUp      Event = "gave_up"      // out of retries; a person must look
	Parked      Event = "parked"       // waiting cannot help; a person must look
	Limited     Event = "limited"      // a session was stopped and waits
	Retrying    Event = "retrying"     // a session is being resumed
	Recovered   Event = "recovered"    // an interrupted session moved again
	ConfigError Event = "config_error" // a changed configuration was refused
	StateError  Event = "state_error"  // the stored state was damaged or removed
	Digest      Event = "digest"       // what happened since the last one, once a day
	Usage       Event = "usage"        // much of an allowance is used, or nearly all of it
	HostGone    Event = "host_gone"    // a host of the fleet is gone while sessions wait there
	Test        Event = "test"         // a person asked whether notices arrive
)

// Events returns every event, in the order of the documentation.
func Events() []Event {
	return []Event{GaveUp, Parked, Limited, Retrying, Recovered, ConfigError, StateError, Digest, Usage, HostGone, Test}
}

// MaxListed is how many sessions one notice lists at most; Notice.Omitted says
// how many more it is about.
const MaxListed = 100

// Version is the version of a notice's JSON.
const Version = 1

// Notice is what a person is told. Its JSON is what webhooks and commands get:
// fields may be added, none may change.
type Notice struct {
	Version      int            `json:"version"`
	ID           string         `json:"id"` // the same over all tries and channels
	Event        Event          `json:"event"`
	At           time.Time      `json:"at"` // UTC
	Host         string         `json:"host"`
	Title        string         `json:"title"`
	Text         string         `json:"text"`
	Account      string         `json:"account"`
	Provider     string         `json:"provider,omitempty"` // where the account has several
	Sessions     []view.Session `json:"sessions"`           // never null
	Omitted      int            `json:"sessions_omitted,omitempty"`
	RetryCommand string         `json:"retry_command"`       // empty where there is nothing to retry
	Allowance    *Allowance     `json:"allowance,omitempty"` // of which much is used
}

// Channel is one way to reach people. It may also have the method Close() error,
// called when it is not used any more.
type Channel interface {
	// Name is what the configuration calls it.
	Name() string

	// To says where it leads, without secrets.
	To() string

	// Events are those that it is sent.
	Events() []Event

	// Word returns a notice in the channel's own words.
	Word(Notice) Notice

	// Send sends a notice as it is worded, and returns what the other side
	// answered, where it says anything. The error is nil once the other side has
	// taken the notice. Any error means "try again later", unless it is a
	// PermanentError, an UnavailableError or a RetryAfterError. Errors and answers
	// are shown and logged: they must not hold secrets.
	//
	// It must return soon after ctx is done. Deliveries come one at a time, but a
	// test notice may be sent beside one.
	Send(context.Context, Notice) (answer string, err error)
}

// Order is what a person can order from where a notice arrives. There is nothing else.
type Order string

// The orders.
const (
	RetryNow Order = "retry"
	Forget   Order = "cancel"
	Hold     Order = "pause"
)

// Orders is what is done when a person presses a button of a notice.
type Orders struct {
	// Order is called for each session of the notice, and may take its time, until ctx is done with
	// the channel. Nil: there are no buttons.
	Order func(ctx context.Context, order Order, session resume.Key)

	// Memory stores over a restart what is shown and what its buttons mean; may be nil.
	Memory Memory
}

// Listener is a channel by which people give orders. Listen takes them until ctx is done.
type Listener interface {
	Listen(ctx context.Context, log *slog.Logger)
}

// PermanentError is a refusal that another try would only meet again.
type PermanentError struct{ Err error }

func (e *PermanentError) Error() string { return e.Err.Error() }

// Unwrap returns the refusal itself.
func (e *PermanentError) Unwrap() error { return e.Err }

// RetryAfterError is a refusal that says when to come back.
type RetryAfterError struct {
	After time.Duration // from now
	Err   error
}

func (e *RetryAfterError) Error() string {
	return fmt.Sprintf("%v (asked to wait %s)", e.Err, e.After.Round(time.Second))
}

// Unwrap returns the refusal itself.
func (e *RetryAfterError) Unwrap() error { return e.Err }

// UnavailableError says that the means of a channel do not exist here, such as
// a desktop while nobody is logged in. It is warned about once and waited for as long as
// for a channel that is down.
type UnavailableError struct{ Err error }

func (e *UnavailableError) Error() string { return e.Err.Error() }

// Unwrap returns what is missing.
func (e *UnavailableError) Unwrap() error { return e.Err }

// Outcome is how a delivery ended.
type Outcome string

// The outcomes.
const (
	Delivered   Outcome = "delivered"
	Failed      Outcome = "failed"      // the other side refused it for good
	Dropped     Outcome = "dropped"     // it could not be delivered for a day
	Unavailable Outcome = "unavailable" // the means of the channel do not exist here
	Removed     Outcome = "removed"     // the channel is not configured any more
	Shared      Outcome = "shared"      // one host of the fleet tells it for all
)

// Outcomes returns every outcome.
func Outcomes() []Outcome { return []Outcome{Delivered, Failed, Dropped, Unavailable, Removed, Shared} }
