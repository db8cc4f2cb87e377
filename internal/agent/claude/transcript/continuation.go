package transcript

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/lines"
)

// Since 2.1.2xx a process that waits at its prompt continues by itself when a usage limit resets
// within a day. It announces that in notices: records of type system that do not end a turn.

// native is the state of Claude Code's own continuation.
type native uint8

const (
	unarmed   native = iota // not mentioned
	waits                   // it will continue when the limit resets
	fired                   // it has continued, or tries to
	cancelled               // a person does not want it to
	lapsed                  // it has given up, or waits for a key
)

// notice returns the state in a notice about the continuation.
func (r record) notice() native {
	if r.Type != "system" || r.Subtype != "informational" {
		return unarmed
	}
	return continuationIn(r.Notice)
}

// HasReset begins the text that Claude Code shows if it should have continued while the machine
// slept, in a notice and on its screen.
const HasReset = "usage limit has reset"

func continuationIn(text string) native {
	text = strings.ToLower(text)
	switch {
	case strings.HasPrefix(text, "automatic continue cancelled"):
		return cancelled
	case strings.HasPrefix(text, "automatic continue "), // stopped, was turned off, did not run
		strings.HasPrefix(text, HasReset): // press enter
		return lapsed
	case strings.HasPrefix(text, "usage limit reset"), strings.HasPrefix(text, "usage limit available again"):
		return fired
	case strings.HasPrefix(text, "usage limit reached") && strings.Contains(text, "continuing automatically"):
		return waits
	default:
		return unarmed
	}
}

// OnContinuation reports whether a text that Claude Code shows is about its own continuation, and
// whether a person declined that.
func OnContinuation(text string) (is, declined bool) {
	state := continuationIn(text)
	return state != unarmed, state == cancelled
}

// Continuation is the last notice after the refusal that stopped the session.
type Continuation struct {
	state native
	at    time.Time
}

// LastContinuation reads it from the end of a transcript.
func LastContinuation(ctx context.Context, transcript string) (last Continuation, err error) {
	may := func(line []byte) bool {
		return bytes.Contains(line, quotedInformational) || bytes.Contains(line, apiErrorMessage)
	}
	err = lookBack(ctx, lines.Whole(transcript), may, func(r record, line lines.Line) bool {
		if state := r.notice(); state != unarmed {
			last = Continuation{state, r.at(line.ModTime)}
		}
		return last.state == unarmed && !r.IsAPIError
	})
	return last, err
}

// GoesOn reports whether the transcript ends with a notice that Claude Code will continue by itself.
func GoesOn(transcript string) bool {
	last, err := LastContinuation(context.Background(), transcript)
	return err == nil && last.state == waits
}

// LeaveUntil returns that a process continues by itself, and how long it is given time.
func LeaveUntil(pid int, until time.Time) *agent.Leave {
	return &agent.Leave{
		Why: fmt.Sprintf("process %d continues by itself when the limit resets; it is given time until %s",
			pid, until.UTC().Format(time.RFC3339)),
		Until: until,
	}
}

// Patience is how long after the reset Claude Code may take to continue by itself. It was seen to
// take a minute: it checks twice a minute, with a random delay.
const Patience = 5 * time.Minute

// GivenUntil returns until when a process that began at that time is given to continue by itself.
// It returns zero if the process that announced it is gone, or had its time.
func (c Continuation) GivenUntil(reset, began, now time.Time) time.Time {
	var until time.Time
	switch {
	case c.at.Before(began): // announced by an earlier process
	case c.state == waits && reset.After(c.at):
		until = reset.Add(Patience)
	case c.state == waits, c.state == fired:
		until = c.at.Add(Patience)
	}
	if until.After(now) {
		return until
	}
	return time.Time{}
}
