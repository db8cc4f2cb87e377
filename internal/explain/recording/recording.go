// Package recording is what the readers of all agents share: what a recording
// tells of sessions, and how streams of records and the rows of a screen are read.
package recording

import (
	"bytes"
	"cmp"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// Reader reads what one agent says elsewhere than in its transcripts, and knows those by
// their beginning.
type Reader struct {
	Name   string       // of the agent
	Limits limit.Reader // without its time

	// Begins reports whether a line at the beginning of a file is one of a transcript or a
	// database of the agent, and whether that tells it of the file. It may be torn at its end.
	Begins func(line []byte) (is, known bool)

	// Run says what the streams of a run without a terminal tell, or false where they are
	// not in a format of the agent's.
	Run func(limit.Reader, agent.Recording) (Told, bool)

	// Any says what a recording of any kind tells, or false where it is none of the
	// agent's; nil: there are runs only.
	Any func(limit.Reader, agent.Recording) (Report, bool)

	// Note returns what a person should know about a transcript in which no interruption
	// was found, by the last that it tells, or nothing; nil: transcripts tell all.
	Note func(transcript string, last resume.Event) string

	// GoesOn reports whether a transcript ends with the promise of the agent to go on by
	// itself when the limit lifts; nil: there is no such promise.
	GoesOn func(transcript string) bool
}

// Recognises reports whether a file that begins with head is a transcript or a database of
// the agent, wherever it lies.
func (r Reader) Recognises(head []byte) bool {
	for line := range bytes.Lines(head) {
		if is, known := r.Begins(line); known {
			return is
		}
	}
	return false
}

// Printed says what the streams of a run without a terminal tell.
func (r Reader) Printed(rec agent.Recording) (Told, bool) { return r.Run(r.at(rec.At), rec) }

// Recorded says what a recording tells, or false where it is none of the agent's.
func (r Reader) Recorded(rec agent.Recording) (Report, bool) {
	if r.Any != nil {
		return r.Any(r.at(rec.At), rec)
	}
	told, ok := r.Printed(rec)
	return Of(RunOutput, told), ok
}

func (r Reader) at(at time.Time) limit.Reader {
	r.Limits.At = at
	return r.Limits
}

// Report is what a recording tells.
type Report struct {
	Kind string // what the recording is, for people: "the output of a run"
	Told []Told // in the order in which the sessions appear
}

// Told is what a recording tells of one session.
type Told struct {
	Session string // empty if the recording does not name it
	Cwd     string

	// Event is the last event that the recording tells; nil: none that counts. A
	// refusal after which the agent was trying again is in progress.
	Event resume.Event

	Line    int    // of the evidence, counted from 1; 0: there is none
	Beside  bool   // the evidence is on the other stream
	Working bool   // the agent was working, or trying again by itself
	Leave   string // why nothing is done about the session, whatever the rules say
}

// The kinds of recordings that several agents have.
const (
	RunOutput = "the output of a run"
	Screen    = "a screen"
	HookCalls = "what its hooks were told"
)

// Of returns the report of a recording that tells of one session.
func Of(kind string, told Told) Report { return Report{Kind: kind, Told: []Told{told}} }

// FirstStream reads the recorded stream of a run, and its other stream if the first
// one tells nothing.
func FirstStream(rec agent.Recording, read func(text string) (Told, bool)) (Told, bool) {
	if told, ok := read(rec.Text); ok {
		return told, true
	}
	told, ok := read(rec.Beside)
	told.Beside = true
	return told, ok
}

// Record is what one record of a run tells.
type Record struct {
	Session string
	Cwd     string
	Event   resume.Event // nil: nothing new
}

// Follow reads the records of a run. The last event counts. parse returns false for
// a record that tells nothing of the run.
func Follow(text string, parse func(data []byte) (Record, bool)) (told Told) {
	for line, data := range agent.Records(text) {
		r, ok := parse(data)
		if !ok {
			continue
		}
		told.Session = cmp.Or(r.Session, told.Session)
		told.Cwd = cmp.Or(told.Cwd, r.Cwd)
		if r.Event != nil {
			told.Event, told.Line = r.Event, line
		}
	}
	return told
}

// Lines reads the words of a run, line by line. The last event counts.
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

// ID returns a text that is an id as many agents give it, else nothing.
func ID(text string) string {
	if agent.IsUUID(text) {
		return text
	}
	return ""
}

// Refused is the event of a refusal.
func Refused(at time.Time, v limit.Verdict, text string) resume.Limited {
	return resume.Limited{At: at, Verdict: v, Text: agent.Clip(text)}
}

// Update stores what a recording of several sessions tells last of one of them.
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

// Block is one thing that a screen shows, which may take several rows.
type Block struct {
	Line int    // its first row, counted from 1
	Sign string // what it begins with
	Rows []string
}

// Blocks splits the rows of a screen: begins returns the sign that a row begins
// with and the words after it, goesOn says whether a row belongs to the block
// above it. A blank row ends a block.
func Blocks(rows []string, begins func(row string) (sign, words string, ok bool), goesOn func(row string) bool) []Block {
	var blocks []Block
	open := false
	for i, row := range rows {
		sign, words, ok := begins(row)
		switch {
		case ok:
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

// Text joins the rows over which the screen broke one text. A row that ends in
// a word's own break is joined without a space.
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

// LastShown returns when a screen was read on which a clock of that zone (nil
// means local) showed hour and minute: at the latest when the recording was
// written. A copy is younger than the screen.
func LastShown(r agent.Recording, zone *time.Location, hour, minute int) time.Time {
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
