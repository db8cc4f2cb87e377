package claude

import (
	"bytes"
	"context"

	"resumed/internal/agent"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// Shortly before a usage limit, or in a grace after it, Claude Code may tell the
// model to come to an end (switched on by the server; 2.1.325). The turn ends well
// then, and no refusal is recorded: only the note tells that work was left. These
// records are known from the program alone.
const (
	nearLimit = "near_limit" // the limit is near
	wrapUp    = "wrap_up"    // it is reached, and there is a little grace
	release   = "release"    // it is over
)

// leftOff is what is said of such an end, by its note.
var leftOff = map[string]string{
	nearLimit: "Claude Code let its turn end, because the usage limit was near",
	wrapUp:    "Claude Code let its turn end in the grace after the usage limit",
}

var quotedNote = []byte(`"usageLimitNote"`)

// maxNoteLines bounds how far back a note is looked for, in one long turn.
const maxNoteLines = 20_000

// lastNote returns the last note of the turn that the line is of, or "". A turn
// that was refused in the end tells more itself.
func lastNote(line agent.Line) (note string) {
	visited := 0
	// What cannot be read tells of no note.
	_ = agent.LinesBefore(context.Background(), line.Path, line.Offset, func(before agent.Line) bool {
		if visited++; visited > maxNoteLines {
			return false
		}
		if before.Cut || !bytes.Contains(before.Data, quotedUser) && !bytes.Contains(before.Data, apiErrorMessage) {
			return true
		}
		if bytes.Contains(before.Data, quotedToolUseID) && !bytes.Contains(before.Data, quotedNote) {
			return true // a tool's result
		}
		r, ok := parse(before.Data)
		switch {
		case !ok || r.IsSidechain:
			return true
		case r.Type == "user" && r.IsMeta && r.Note != "":
			note = r.Note
			return false
		default:
			begins := r.prompts() || r.Type == "user" && r.Origin.Kind != "" // by whomever
			return !begins && !r.interrupts() && !r.IsAPIError
		}
	})
	return note
}

// leavesOff reports whether the record ends a turn that Claude Code itself let end
// because of the limit, or says when it goes on after such an end.
func (a *Agent) leavesOff(r record, line agent.Line) (resume.Limited, bool) {
	state, isNotice := r.notice()
	goesOn := isNotice && state == waits
	if !goesOn && !(r.moved() && r.Message.StopReason == "end_turn") {
		return resume.Limited{}, false
	}
	text, ok := leftOff[lastNote(line)]
	if !ok {
		return resume.Limited{}, false
	}
	at := r.at(line.ModTime)
	ev := resume.Limited{At: at, Verdict: limit.Verdict{Class: limit.UsageLimit, WaitHelps: true}, Text: text}
	if goesOn {
		ev.Reset = a.LimitsAt(at).Refusal(limit.Refusal{Text: r.Notice}).Reset
	}
	return ev, true
}
