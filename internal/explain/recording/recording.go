// Package recording is shared by the readers of all agents: the result of a recording, and how streams of records and
// rows of a screen are read.
package recording

import (
	"bytes"
	"cmp"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/headless"
	"resumed/internal/limit"
	"resumed/internal/lines"
	"resumed/internal/resume"
)

// Reader interprets output of one agent outside of its transcripts, and recognises transcripts by their beginning.
type Reader struct {
	Name   string       // of the agent
	Limits limit.Reader // its At is not set

	// Begins reports whether a line at the beginning of a file belongs to a transcript or a database of the agent (is),
	// and whether this line decides it (known). The line may be cut at its end.
	Begins func(line []byte) (is, known bool)

	// Read interprets a recording, or returns false if it is not the agent's. With named it is known to be the agent's:
	// then formats count that other agents have too.
	Read func(limits limit.Reader, rec headless.Recording, named bool) (Report, bool)

	// Note returns what a person should know about a transcript without an interruption, depending on its last event,
	// or ""; nil: there is nothing to add.
	Note func(transcript string, last resume.Event) string

	// GoesOn reports whether a transcript ends with the agent's announcement that it continues by itself when the limit
	// lifts; nil: there is no such announcement.
	GoesOn func(transcript string) bool
}

// With returns the reader with these limits.
func (r Reader) With(limits limit.Reader) Reader {
	r.Limits = limits
	return r
}

// Recognises reports whether a file that begins with head is a transcript or a database of the agent.
func (r Reader) Recognises(head []byte) bool {
	for line := range bytes.Lines(head) {
		if is, known := r.Begins(line); known {
			return is
		}
	}
	return false
}

// Printed interprets the streams of a run of the agent without a terminal, or returns false if they do not tell.
func (r Reader) Printed(rec headless.Recording) (Told, bool) {
	r.Limits.At = rec.At
	report, ok := r.Read(r.Limits, rec, true)
	if !ok || report.Kind != RunOutput {
		return Told{}, false
	}
	return report.Told[0], true
}

// Recorded interprets a recording, or returns false if it is not the agent's.
func (r Reader) Recorded(rec headless.Recording) (Report, bool) {
	r.Limits.At = rec.At
	return r.Read(r.Limits, rec, false)
}

// Report is the result of a recording.
type Report struct {
	Kind string // what the recording is, for people: "the output of a run"
	Told []Told // in the order in which the sessions appear
}

// Told is what a recording says about one session.
type Told struct {
	Session string // empty if the recording does not contain it
	Cwd     string

	// Event is the last relevant event; nil: none. A refusal that the agent was retrying is in progress.
	Event resume.Event

	Line    int    // of the evidence, counted from 1; 0: none
	Beside  bool   // the evidence is on the other stream
	Working bool   // the agent was working, or retrying by itself
	Leave   string // why nothing is done about the session, whatever the rules say
}

// Kinds of recordings of several agents.
const (
	RunOutput = "the output of a run"
	Screen    = "a screen"
	HookCalls = "what its hooks were told"
)

// Of returns the report of a recording with one session.
func Of(kind string, told Told) Report { return Report{Kind: kind, Told: []Told{told}} }

// FirstStream tries the formats in order, each on the recorded stream and then on the other one.
func FirstStream(rec headless.Recording, formats ...func(text string) (Told, bool)) (Told, bool) {
	for _, read := range formats {
		if told, ok := read(rec.Text); ok {
			return told, true
		}
		if told, ok := read(rec.Beside); ok {
			told.Beside = true
			return told, true
		}
	}
	return Told{}, false
}

// OfRun returns the Read of an agent whose runs print one of these formats. Without an event a format does not tell.
func OfRun(formats ...func(limits limit.Reader, text string) Told) func(limit.Reader, headless.Recording, bool) (Report, bool) {
	return func(limits limit.Reader, rec headless.Recording, _ bool) (Report, bool) {
		for _, format := range formats {
			told, ok := FirstStream(rec, func(text string) (Told, bool) {
				told := format(limits, text)
				return told, told.Event != nil
			})
			if ok {
				return Of(RunOutput, told), true
			}
		}
		return Report{}, false
	}
}

// Follow reads the records of a run. The last event counts. What parse returns for a record has the session and the
// directory, if the record contains them.
func Follow[R any](text string, parse func(R) Told) (told Told) {
	for line, data := range headless.Records(text) {
		record, ok := lines.Parse[R](data)
		if !ok {
			continue
		}
		r := parse(record)
		told.Session = cmp.Or(r.Session, told.Session)
		told.Cwd = cmp.Or(told.Cwd, r.Cwd)
		if r.Event != nil {
			told.Event, told.Line = r.Event, line
		}
	}
	return told
}

// Lines reads the text of a run line by line. The last event counts.
func Lines(text string, read func(line string) resume.Event) (told Told) {
	n := 0
	for line := range strings.Lines(text) {
		n++
		if event := read(strings.TrimRight(line, "\r\n \t")); event != nil {
			told.Event, told.Line = event, n
		}
	}
	return told
}

// ID returns text if it is a UUID, else "".
func ID(text string) string {
	if agent.IsUUID(text) {
		return text
	}
	return ""
}

// Refused returns the event of a refusal.
func Refused(at time.Time, v limit.Verdict, text string) resume.Limited {
	return resume.Limited{At: at, Verdict: v, Text: agent.Clip(text)}
}

// Update replaces the entry of one session in a recording of several sessions, or adds it.
func Update(all []Told, last Told) []Told {
	for i := range all {
		if all[i].Session == last.Session {
			all[i] = last
			return all
		}
	}
	return append(all, last)
}

// LineOf returns the number of the line at an offset of a text, counted from 1.
func LineOf(text string, offset int) int { return strings.Count(text[:offset], "\n") + 1 }

// Block is one item on a screen, which may have several rows.
type Block struct {
	Line int    // its first row, counted from 1
	Sign string // the character it begins with
	Rows []string
}

// Blocks splits the rows of a screen: begins returns the sign at the beginning of a row, or "", and the words after it, goesOn
// reports whether a row belongs to the block above it. A blank row ends a block.
func Blocks(rows []string, begins func(row string) (sign, words string), goesOn func(row string) bool) []Block {
	var blocks []Block
	open := false
	for i, row := range rows {
		sign, words := begins(row)
		switch {
		case sign != "":
			blocks = append(blocks, Block{Line: i + 1, Sign: sign, Rows: []string{words}})
			open = true
		case row == "" || open && !goesOn(row):
			open = false
		case open:
			last := &blocks[len(blocks)-1]
			last.Rows = append(last.Rows, row)
		}
	}
	return blocks
}

// Text joins the rows of a text that the screen wrapped. After a row that ends with "/" or "-" no space is added.
func (b Block) Text() string {
	var text strings.Builder
	for _, row := range b.Rows {
		row = strings.TrimSpace(row)
		if row == "" {
			continue
		}
		if before := text.String(); before != "" && !strings.HasSuffix(before, "/") && !strings.HasSuffix(before, "-") {
			text.WriteByte(' ')
		}
		text.WriteString(row)
	}
	return text.String()
}

// LastShown returns when a screen with that clock time in that zone (nil means local) was captured: at the latest when
// the recording was written. A copy is newer than the screen.
func LastShown(r headless.Recording, zone *time.Location, hour, minute int) time.Time {
	if zone == nil {
		zone = time.Local
	}
	written := r.At.In(zone)
	shown := time.Date(written.Year(), written.Month(), written.Day(), hour, minute, 0, 0, zone)
	switch {
	case r.Exact:
		return r.At
	case shown.After(written):
		return shown.AddDate(0, 0, -1)
	default:
		return shown
	}
}
