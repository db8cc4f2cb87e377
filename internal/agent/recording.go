package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"iter"
	"regexp"
	"strings"
	"time"

	"resumed/internal/resume"
)

// Recording is what an agent said elsewhere than in a transcript: on the
// streams of a run, on a screen, to whoever listened to its server.
type Recording struct {
	Path   string    // of the file; empty where it is none
	Text   string    // made harmless; of a long one the beginning and the end
	Beside string    // what the same run said on its other stream, where that is known
	At     time.Time // when it was last written to
	Exact  bool      // that is when it was said: it is no copy
}

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

// maxDocuments bounds how many records that take several lines are looked for
// in one recording: each may be a try in vain.
const maxDocuments = 16

// Records visits the records of a text: its lines that are JSON objects, and
// objects that are spread over lines, as programs print them for people. Of a
// list it visits the objects. With each comes the number of the line that it
// begins in.
func Records(text string) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		documents := 0
		for n := 1; text != ""; n++ {
			line, rest, _ := strings.Cut(text, "\n")
			record := strings.TrimSpace(line)
			switch {
			case !strings.HasPrefix(record, "{") && !strings.HasPrefix(record, "["):
			case json.Valid([]byte(record)):
				if !objects([]byte(record), n, yield) {
					return
				}
			case documents < maxDocuments && rest != "":
				documents++
				decoder := json.NewDecoder(strings.NewReader(text))
				var document json.RawMessage
				if decoder.Decode(&document) != nil {
					break
				}
				if !objects(document, n, yield) {
					return
				}
				read := decoder.InputOffset()
				n += strings.Count(text[:read], "\n")
				_, rest, _ = strings.Cut(text[read:], "\n")
			}
			text = rest
		}
	}
}

// objects visits one object, or those of a list.
func objects(value []byte, line int, yield func(int, []byte) bool) bool {
	value = bytes.TrimSpace(value)
	if len(value) == 0 || value[0] == '{' {
		return len(value) == 0 || yield(line, value)
	}
	var list []json.RawMessage
	if json.Unmarshal(value, &list) != nil {
		return true
	}
	for _, element := range list {
		if element = bytes.TrimSpace(element); len(element) > 0 && element[0] == '{' && !yield(line, element) {
			return false
		}
	}
	return true
}

// Parse reads a record as Decode does.
func Parse[R any](data []byte) (R, bool) {
	var r R
	ok := Decode(data, &r)
	return r, ok
}

// Decode reads a record. A field of an unexpected type is as good as absent:
// what another version changed must not cost the record.
func Decode(data []byte, into any) bool {
	err := json.Unmarshal(data, into)
	_, mistyped := errors.AsType[*json.UnmarshalTypeError](err)
	return err == nil || mistyped
}

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

var uuid = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// IsUUID reports whether a text is an id as many agents give it.
func IsUUID(text string) bool { return uuid.MatchString(text) }

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
func (r Recording) LastShown(zone *time.Location, hour, minute int) time.Time {
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
