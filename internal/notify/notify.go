// Package notify reports to people, with every configured channel, and tries again if a channel is
// down. A notice is durable before it is sent. The channels do not delay each other.
package notify

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"resumed/internal/humanize"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

// Event is what a notice is about.
type Event string

// The events.
const (
	GaveUp      Event = "gave_up"      // out of retries; a person must look
	Parked      Event = "parked"       // waiting cannot help; a person must look
	CutOff      Event = "cut_off"      // the process of a session ended in the middle of a turn
	Silent      Event = "silent"       // a live session shows no sign of work
	Limited     Event = "limited"      // a session was stopped and waits
	Retrying    Event = "retrying"     // a session is being resumed
	Recovered   Event = "recovered"    // a stopped session moved again
	ConfigError Event = "config_error" // a changed configuration was refused
	StateError  Event = "state_error"  // the stored state was damaged or removed
	Digest      Event = "digest"       // what happened since the last digest, once a day
	Usage       Event = "usage"        // a large part of an allowance is used
	HostGone    Event = "host_gone"    // a host of the fleet is gone while sessions wait there
	Test        Event = "test"         // a person tests whether notices arrive
)

// Events returns every event, in the order of the documentation.
func Events() []Event {
	return []Event{GaveUp, Parked, CutOff, Silent, Limited, Retrying, Recovered, ConfigError, StateError, Digest, Usage, HostGone, Test}
}

// MaxListed is how many sessions one notice lists at most; Notice.Omitted counts the others.
const MaxListed = 100

// Version is the version of a notice's JSON.
const Version = 1

// Notice is a message to a person. Its JSON is what webhooks and commands get: fields may be added, but
// not changed.
type Notice struct {
	Version      int            `json:"version"`
	ID           string         `json:"id"` // the same in all tries and channels
	Event        Event          `json:"event"`
	At           time.Time      `json:"at"` // UTC
	Host         string         `json:"host"`
	Title        string         `json:"title"`
	Text         string         `json:"text"`
	Account      string         `json:"account"`
	Provider     string         `json:"provider,omitempty"` // if the account has several
	Sessions     []view.Session `json:"sessions"`           // never null
	Omitted      int            `json:"sessions_omitted,omitempty"`
	RetryCommand string         `json:"retry_command"`       // empty if there is nothing to retry
	Allowance    *Allowance     `json:"allowance,omitempty"` // the one of which much is used
}

// Action is what a person can order with a button of a notice. There are no other orders.
type Action string

// The orders.
const (
	RetryNow Action = "retry"
	Forget   Action = "cancel"
	Hold     Action = "pause"
)

// Keys returns the keys of the listed sessions.
func (n Notice) Keys() (keys []resume.Key) {
	for _, v := range n.Sessions {
		keys = append(keys, v.Key())
	}
	return keys
}

// RetryLabel is the text of the button with which a person retries the sessions of a notice. If the
// start of one was not seen, the button is the person's word that it may continue without it.
func (n Notice) RetryLabel() string {
	if len(view.WithoutStart(n.Sessions)) > 0 {
		return humanize.ContinueUnseen
	}
	return "Retry now"
}

// Orders is what happens when a person presses a button of a notice.
type Orders struct {
	// Order is called for each session of the notice. It may block until ctx is done, which ends with
	// the channel. Nil: there are no buttons.
	Order func(ctx context.Context, order Action, session resume.Key)

	// Memory stores the shown notices and the meaning of their buttons for the next start; may be nil.
	Memory Memory
}

// Listener is a channel that people can give orders with. Listen receives them until ctx is done.
type Listener interface {
	Listen(ctx context.Context, log *slog.Logger)
}

// SendError is why a notice was not accepted, if that decides about the next try.
type SendError struct {
	Err   error
	Final bool          // another try would not change it
	After time.Duration // the other side asks to wait this long; 0: it does not

	// Missing means that what a channel needs does not exist here, such as a desktop while nobody is
	// logged in. It is logged once, and tried for as long as a channel that is down.
	Missing bool
}

func (e *SendError) Error() string {
	if e.After > 0 {
		return fmt.Sprintf("%v (asked to wait %s)", e.Err, e.After.Round(time.Second))
	}
	return e.Err.Error()
}

func (e *SendError) Unwrap() error { return e.Err }

// IsFinal reports whether another try would not change a refusal.
func IsFinal(err error) bool {
	refused, ok := errors.AsType[*SendError](err)
	return ok && refused.Final
}

// Outcome is how a delivery ended.
type Outcome string

// The outcomes.
const (
	Delivered   Outcome = "delivered"
	Failed      Outcome = "failed"      // the other side refused it for good
	Dropped     Outcome = "dropped"     // it could not be delivered within a day
	Unavailable Outcome = "unavailable" // what the channel needs does not exist here
	Removed     Outcome = "removed"     // the channel is no longer configured
	Shared      Outcome = "shared"      // one host of the fleet reports it for all
)

// Outcomes returns every outcome.
func Outcomes() []Outcome { return []Outcome{Delivered, Failed, Dropped, Unavailable, Removed, Shared} }
