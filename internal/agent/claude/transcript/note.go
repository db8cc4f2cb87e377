package transcript

import (
	"bytes"
	"context"
	"maps"
	"slices"

	"resumed/internal/agent"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// Shortly before a usage limit, or in a grace after it, Claude Code may tell the
// model to come to an end (switched on by the server; 2.1.325). The turn ends well
// then, and no refusal is recorded: only the note tells that work was left. It does not
// say when the window opens again; Usage may. near_limit was provoked and seen; wrap_up
// and release are known from the program alone.
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

// LetEnd reports whether that is said of a turn which Claude Code itself let end.
func LetEnd(text string) bool {
	return slices.Contains(slices.Collect(maps.Values(leftOff)), text)
}

// isNote reports whether the record is such a note.
func (r record) isNote() bool { return r.Type == "user" && r.IsMeta && r.Note != "" }

// bounds reports whether no note before the record is of the turn after it: the
// record begins a turn, or ends one that tells more itself.
func (r record) bounds() bool {
	return r.IsAPIError || r.Type == "user" && (r.Origin.Kind != "" || r.prompts() || r.interrupts())
}

// noteBefore returns the last note of the turn that the line is of, or "".
func (rd *Reader) noteBefore(line agent.Line) string {
	if int64(len(line.Before)) == line.Offset && !bytes.Contains(line.Before, noteName) {
		return "" // as in nearly every file that is met for the first time
	}
	return rd.notes.Before(line, "", func(in agent.Span) (note string, found bool, err error) {
		err = lookBack(context.Background(), in, mayBound, func(r record, _ agent.Line) bool {
			if r.isNote() {
				note = r.Note
			}
			found = r.isNote() || r.bounds()
			return !found
		})
		return note, found, err
	})
}

// mayBound reports, by its bytes, whether a record may be a note or bound a turn: few are, and a
// turn may be long.
func mayBound(line []byte) bool {
	switch string(recordType(line)) {
	case "assistant":
		return bytes.Contains(line, apiErrorMessage)
	case "user": // or a tool's result
		return !bytes.Contains(line, toolUseID) || bytes.Contains(line, noteName)
	default:
		return false
	}
}

// leavesOff reports whether the record ends a turn that Claude Code itself let end
// because of the limit, or says when it goes on after such an end.
func (rd *Reader) leavesOff(r record, line agent.Line) (resume.Limited, bool) {
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
