package agent

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// CommandLine is what an Agent may also be: one whose runs without a terminal
// `exec` can continue, because it knows how the program is called.
type CommandLine interface {
	// ProgramName is what the agent's program is called.
	ProgramName() string

	// Invocation says what these arguments of the program ask for, or false
	// where that is not a run without a terminal.
	Invocation(args []string) (Invocation, bool)
}

// Invocation is a command line that runs an agent without a terminal.
type Invocation interface {
	// Prompted reports whether the line itself says what to do: otherwise that
	// comes by the standard input.
	Prompted() bool

	// Session returns the session that the line names; empty: none.
	Session() string

	// Give returns what is to be added so that a new session gets that id; nil
	// where that cannot be.
	Give(id string) []string

	// Begin is called before the line is run in that directory. What it returns
	// is called when the run is over, and tells what can be continued. That is a
	// session which the run was given or has told of itself, never one that only
	// happened to change meanwhile.
	Begin(dir string) func(context.Context, Ended) Trail

	// Resume returns the arguments that continue the session.
	Resume(t Trail, prompt string) []string
}

// Ended is a run that is over.
type Ended struct {
	Recording        // what it printed, on its standard output and beside it
	Code      int    // its exit code
	Session   string // as it was given, named or told before; empty: not known
}

// Trail is what a run left to go on from.
type Trail struct {
	Session    string // empty: there is nothing to continue
	Transcript string // of the session; empty: not known
	Cwd        string // of the session, where that is not the run's directory
	Again      bool   // the session has forgotten the prompt: that has to be given again

	// Status is the HTTP status that the exit code stands for; 0: it tells none.
	Status int
}

var plainID = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z_-]{3,127}$`)

// PlainID returns the id where no program takes it for an option or a path.
func PlainID(id string) string {
	if plainID.MatchString(id) {
		return id
	}
	return ""
}

// ToldID returns the id that a run's records say first, by the name of its field.
func ToldID(rec Recording, field string) string {
	for _, text := range []string{rec.Text, rec.Beside} {
		for _, data := range Records(text) {
			var record map[string]json.RawMessage
			var id string
			if json.Unmarshal(data, &record) == nil && json.Unmarshal(record[field], &id) == nil && PlainID(id) != "" {
				return id
			}
		}
	}
	return ""
}

// Said reports whether a recorded prompt is what a command line says. What came
// by the standard input stands before or after it, in lines of its own.
func Said(recorded, prompt string) bool {
	recorded, prompt = strings.TrimSpace(recorded), strings.TrimSpace(prompt)
	return prompt != "" &&
		(recorded == prompt || strings.HasPrefix(recorded, prompt+"\n") || strings.HasSuffix(recorded, "\n"+prompt))
}

// Files returns the files of a pattern below the homes: the one that a run takes
// by itself, and those that are configured.
func (h Homes) Files(pattern string) []string {
	var all []string
	for _, root := range append([]string{h.Usual}, h.Roots...) {
		names, _ := fs.Glob(os.DirFS(root), pattern) // errs on a bad pattern only
		for _, name := range names {
			all = append(all, filepath.Join(root, name))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// NewFiles notes which files of a pattern there are. What it returns lists those
// that have come since: a run that begins a session writes a file of its own, and
// never into one that was there before.
func (h Homes) NewFiles(pattern string) func() []string {
	before := h.Files(pattern)
	return func() []string {
		return slices.DeleteFunc(h.Files(pattern), func(path string) bool {
			_, found := slices.BinarySearch(before, path)
			return found
		})
	}
}

// IsDashedID reports whether a text is an id with dashes, as of a UUID: not an index, and
// not a word such as latest.
func IsDashedID(text string) bool { return strings.Contains(text, "-") && PlainID(text) != "" }
