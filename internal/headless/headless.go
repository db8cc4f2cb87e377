// Package headless is about runs of agents without a terminal: their command lines, what they print, and what of them
// can be continued.
package headless

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"slices"
	"strings"

	"resumed/internal/lazy"
)

// CommandLine is an Agent whose runs without a terminal `exec` can continue.
type CommandLine interface {
	// ProgramName returns the name of the agent's program.
	ProgramName() string

	// Invocation parses arguments of the program, or returns false if they are no run without a terminal.
	Invocation(args []string) (Invocation, bool)
}

// Invocation is a command line that runs an agent without a terminal.
type Invocation interface {
	// Prompted reports whether the command line contains the prompt: else it comes on the standard input.
	Prompted() bool

	// Session returns the session that the command line names; empty: none.
	Session() string

	// SessionIDArgs returns the arguments that give a new session that id; nil if that is impossible.
	SessionIDArgs(id string) []string

	// Track is called before the command is run in that directory. The returned function is
	// called when the run is over, and returns what can be continued: a session whose id was
	// given to the run or printed by it, never one that just happened to change meanwhile.
	Track(dir string) func(context.Context, Ended) Continuation

	// Resume returns the arguments that continue the session.
	Resume(t Continuation, prompt string) []string
}

// Ended is a finished run.
type Ended struct {
	Printed
	Code    int    // its exit code
	Session string // as it was given, named or printed; empty: not known
}

// Continuation is what can be continued after a run.
type Continuation struct {
	Session    string // empty: there is nothing to continue
	Transcript string // of the session; empty: not known
	Cwd        string // of the session, if it is not the run's directory
	Again      bool   // the session does not contain the prompt, which must be sent again

	// Status is the HTTP status that the exit code means; 0: none.
	Status int
}

var plainID = lazy.Regexp(`^[0-9A-Za-z][0-9A-Za-z_-]+$`)

// PlainID returns the id if no program can mistake it for an option or a path, else "".
func PlainID(id string) string {
	if len(id) >= 4 && len(id) <= 128 && plainID().MatchString(id) {
		return id
	}
	return ""
}

// ToldID returns the first id in a run's records, in the field of that name.
func ToldID(run Printed, field string) string {
	for _, text := range []string{run.Stdout, run.Stderr} {
		for data := range Records(text) {
			var record map[string]json.RawMessage
			var id string
			if json.Unmarshal(data, &record) == nil && json.Unmarshal(record[field], &id) == nil && PlainID(id) != "" {
				return id
			}
		}
	}
	return ""
}

// Said reports whether a recorded prompt is the one of a command line. Text from the standard
// input is before or after it, on its own lines.
func Said(recorded, prompt string) bool {
	recorded, prompt = strings.TrimSpace(recorded), strings.TrimSpace(prompt)
	return prompt != "" &&
		(recorded == prompt || strings.HasPrefix(recorded, prompt+"\n") || strings.HasSuffix(recorded, "\n"+prompt))
}

// Printed is what a run printed: sanitized, and of a long text the beginning and the end.
type Printed struct{ Stdout, Stderr string }

// maxDocuments bounds how often a text is searched for the end of an object of several lines.
const maxDocuments = 16

// Records visits the JSON objects of a text: those in one line, and those that span several lines,
// as programs print them for people. For a list it visits its objects.
func Records(text string) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		documents := 0
		for text != "" {
			line, rest, _ := strings.Cut(text, "\n")
			record := strings.TrimSpace(line)
			if !strings.HasPrefix(record, "{") && !strings.HasPrefix(record, "[") {
				text = rest
				continue
			}
			document := json.RawMessage(record)
			if !json.Valid(document) && documents < maxDocuments {
				documents++
				decoder := json.NewDecoder(strings.NewReader(text))
				if decoder.Decode(&document) == nil {
					_, rest, _ = strings.Cut(text[decoder.InputOffset():], "\n")
				}
			}
			for _, object := range objects(document) {
				if !yield(object) {
					return
				}
			}
			text = rest
		}
	}
}

func objects(value json.RawMessage) []json.RawMessage {
	isObject := func(v json.RawMessage) bool { return bytes.HasPrefix(v, []byte("{")) && json.Valid(v) }
	list := []json.RawMessage{value}
	if !isObject(value) && json.Unmarshal(value, &list) != nil {
		return nil
	}
	return slices.DeleteFunc(list, func(v json.RawMessage) bool { return !isObject(v) })
}
