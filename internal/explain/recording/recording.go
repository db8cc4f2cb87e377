// Package recording is what the readers of all agents share: what a recording
// tells, and how the rows of a screen are read.
package recording

import (
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/resume"
)

// Report is what a recording tells.
type Report struct {
	Kind string // what the recording is, for people: "the output of a run"
	Told []Told // in the order in which the sessions appear
}

// Told is what a recording tells of one session.
type Told struct {
	Session string // empty where it is not named
	Cwd     string

	// Event is the last thing that it tells; nil: nothing that counts. A
	// refusal after which the agent was trying again is in progress.
	Event resume.Event

	Line    int    // of the evidence, counted from 1; 0: there is none
	Beside  bool   // the evidence stands on the other stream
	Working bool   // it shows the agent at work, or trying again by itself
	Leave   string // why nothing is done about it, whatever the rules say
}

// The kinds of recordings that several agents have.
const (
	RunOutput = "the output of a run"
	Screen    = "a screen"
	HookCalls = "what its hooks were told"
)

// latestMS is the end of the year 9999: no clock runs that far ahead.
const latestMS = 253402300799999

// Millis returns a time in milliseconds that a record tells, or 0 where it tells
// none.
func Millis(ms float64) int64 {
	if ms > 0 && ms <= latestMS {
		return int64(ms)
	}
	return 0
}

// Block is one thing that a screen shows, which may take several rows.
type Block struct {
	Line int    // its first row, counted from 1
	Sign string // what it begins with
	Rows []string
}

// Text returns the words of the block.
func (b Block) Text() string { return unwrap(b.Rows) }

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

// unwrap joins the rows over which a screen broke one text. A row that ends in
// a word's own break is joined without a space.
func unwrap(rows []string) string {
	var text strings.Builder
	for _, row := range rows {
		row = strings.TrimSpace(row)
		if row == "" {
			continue
		}
		if said := text.String(); said != "" && !strings.HasSuffix(said, "/") && !strings.HasSuffix(said, "-") {
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
