package transcript

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/limit"
	"resumed/internal/lines"
	"resumed/internal/resume"
)

// Since 2.1.2xx a process that waits at its prompt continues by itself when a usage limit resets
// within a day. It announces that in notices: records of type system that do not end a turn.

type native uint8

const (
	unarmed   native = iota // not mentioned
	waits                   // it will continue when the limit resets
	fired                   // it has continued, or tries to
	cancelled               // a person does not want it to
	lapsed                  // it has given up, or waits for a key
)

func (r record) notice() native {
	if r.Type != "system" || r.Subtype != "informational" {
		return unarmed
	}
	return continuationIn(r.Notice)
}

// HasReset begins what Claude Code shows if it should have continued while the machine slept.
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

// Continuation is the last notice after the refusal that stopped the session.
type Continuation struct {
	state native
	at    time.Time
}

// LastContinuation reads it from the end of a transcript.
func LastContinuation(ctx context.Context, transcript string) (last Continuation, err error) {
	err = lookBack(ctx, lines.Whole(transcript), lines.Any(`"informational"`, "ApiErrorMessage").In, func(r record, line lines.Line) bool {
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
func LeaveUntil(pid int, until time.Time) *agent.Skip {
	return &agent.Skip{
		Why: fmt.Sprintf("process %d continues by itself when the limit resets; it is given time until %s",
			pid, until.UTC().Format(time.RFC3339)),
		Until: until,
	}
}

// Patience is how long it may take to continue after the reset: it checks twice a minute.
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

// Shortly before a usage limit, or in a grace period after it, Claude Code may tell the model to
// finish (switched on by the server; 2.1.325). Then the turn ends normally and no refusal is
// recorded: only the note tells that work is left. It does not contain the reset, but Usage may.
// near_limit was provoked and observed; wrap_up and release are known only from the program.
const (
	nearLimit = "near_limit" // the limit is near
	wrapUp    = "wrap_up"    // it is reached, with a short grace period
	release   = "release"    // it has ended
)

var leftOff = map[string]string{
	nearLimit: "Claude Code let its turn end, because the usage limit was near",
	wrapUp:    "Claude Code let its turn end in the grace after the usage limit",
}

// LetEnd reports whether a text is that of a turn that Claude Code let end.
func LetEnd(text string) bool {
	return slices.Contains(slices.Collect(maps.Values(leftOff)), text)
}

func (r record) isNote() bool { return r.Type == "user" && r.IsMeta && r.Note != "" }

// bounds reports whether the record begins a turn, or ends one with a reason of its own.
func (r record) bounds() bool {
	return r.IsAPIError || r.Type == "user" && (r.Origin.Kind != "" || r.prompts() || r.interrupts())
}

// bounding are words of records that may be a note or bound a turn, besides prompts.
var bounding = lines.Any("ApiErrorMessage", "LimitNote")

func (rd *Reader) noteBefore(line lines.Line) string {
	return rd.notes.Before(line, "", func(in lines.Span, known string) (note string, found bool, err error) {
		if held, ok := in.Held(); ok && known == "" && !bytes.Contains(held, []byte("LimitNote")) {
			return "", false, nil // nearly always
		}
		may := func(line []byte) bool { return bounding.In(line) || byUser.In(line) && !ofTool.In(line) }
		err = lookBack(context.Background(), in, may, func(r record, _ lines.Line) bool {
			if r.isNote() {
				note = r.Note
			}
			found = r.isNote() || r.bounds()
			return !found
		})
		return note, found, err
	})
}

// letEnd returns the event of a turn that Claude Code let end because of the limit.
func (rd *Reader) letEnd(r record, line lines.Line) (resume.Limited, bool) {
	goesOn := r.notice() == waits
	if !goesOn && !(r.moved() && r.Message.StopReason == "end_turn") {
		return resume.Limited{}, false
	}
	text, ok := leftOff[rd.noteBefore(line)]
	if !ok {
		return resume.Limited{}, false
	}
	at := r.at(line.ModTime)
	ev := resume.Limited{At: at, Verdict: limit.Verdict{Class: limit.UsageLimit, WaitHelps: true}, Text: text}
	if goesOn {
		ev.Reset = rd.LimitsAt(at).Refusal(limit.Refusal{Text: r.Notice}).Reset
	}
	return ev, true
}
