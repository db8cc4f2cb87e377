package transcript

import (
	"bytes"
	"context"
	"maps"
	"slices"

	"resumed/internal/limit"
	"resumed/internal/lines"
	"resumed/internal/resume"
)

// Shortly before a usage limit, or in a grace period after it, Claude Code may tell the model to
// finish (switched on by the server; 2.1.325). Then the turn ends normally and no refusal is
// recorded: only the note tells that work is left. It does not contain the reset, but Usage may.
// near_limit was provoked and observed; wrap_up and release are known only from the program.
const (
	nearLimit = "near_limit" // the limit is near
	wrapUp    = "wrap_up"    // it is reached, with a short grace period
	release   = "release"    // it has ended
)

// leftOff is the text for such an end of a turn, by its note.
var leftOff = map[string]string{
	nearLimit: "Claude Code let its turn end, because the usage limit was near",
	wrapUp:    "Claude Code let its turn end in the grace after the usage limit",
}

// LetEnd reports whether a text is that of a turn that Claude Code let end.
func LetEnd(text string) bool {
	return slices.Contains(slices.Collect(maps.Values(leftOff)), text)
}

// isNote reports whether the record is such a note.
func (r record) isNote() bool { return r.Type == "user" && r.IsMeta && r.Note != "" }

// bounds reports whether notes before the record do not belong to the turn after it: the record
// begins a turn, or ends one with a reason of its own.
func (r record) bounds() bool {
	return r.IsAPIError || r.Type == "user" && (r.Origin.Kind != "" || r.prompts() || r.interrupts())
}

// noteBefore returns the last note of the line's turn, or "".
func (rd *Reader) noteBefore(line lines.Line) string {
	if int64(len(line.Before)) == line.Offset && !bytes.Contains(line.Before, noteName) {
		return "" // as in nearly every file that is read for the first time
	}
	return rd.notes.Before(line, "", func(in lines.Span) (note string, found bool, err error) {
		err = lookBack(context.Background(), in, mayBound, func(r record, _ lines.Line) bool {
			if r.isNote() {
				note = r.Note
			}
			found = r.isNote() || r.bounds()
			return !found
		})
		return note, found, err
	})
}

// mayBound reports, by the bytes of a line, whether it may be a note or bound a turn. Few lines are,
// and a turn may be long.
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

// letEnd returns the event of a record that ends a turn which Claude Code let end because of the
// limit, or that announces its continuation after such an end.
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
