package attempt

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"resumed/internal/clean"
)

// longestGist is how much of a failure's words is shown.
const longestGist = 160

// record is a line of JSON, as far as agents agree on it.
type record struct {
	Type    string          `json:"type"`
	Status  string          `json:"status"`
	IsError bool            `json:"is_error"`
	Result  string          `json:"result"`
	Message json.RawMessage `json:"message"`
	Error   json.RawMessage `json:"error"`
}

func parseRecord(line string) (record, bool) {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "{") {
		return record{}, false
	}
	var r record
	err := json.Unmarshal([]byte(line), &r)
	return r, err == nil
}

// words returns what a record says to people.
func (r record) words() string {
	if r.Result != "" {
		return r.Result
	}
	for _, raw := range []json.RawMessage{r.Error, r.Message} {
		var text string
		if json.Unmarshal(raw, &text) == nil && text != "" {
			return text
		}
		var inner struct {
			Message string `json:"message"`
			Data    struct {
				Message string `json:"message"`
			} `json:"data"`
		}
		if json.Unmarshal(raw, &inner) == nil && inner.Message+inner.Data.Message != "" {
			return inner.Message + inner.Data.Message
		}
	}
	return ""
}

// gist returns the line of a text that says what was judged, or else the last
// one that says anything, short enough to be shown.
func gist(text string, judged func(line string) bool) string {
	lines, fallback := strings.Split(text, "\n"), ""
	for _, line := range slices.Backward(lines) {
		says := line
		if r, ok := parseRecord(line); ok {
			says = r.words()
		}
		if !letters.MatchString(says) {
			continue
		}
		if judged(line) && !dumpedField.MatchString(line) {
			return clean.Short(says, longestGist)
		}
		fallback = cmp.Or(fallback, clean.Short(says, longestGist))
	}
	return fallback
}

// dumpedField is a field of an object that a program printed as it is: the line
// above, which says what the object is, says more to people.
var dumpedField = regexp.MustCompile(`^\s*\w+: \S+$`)

// letters tell a line that says something from a number or a bracket.
var letters = regexp.MustCompile(`\pL{2}`)

// results returns the records of that type among the last lines.
func results(text, kind string) []record {
	var found []record
	for line := range strings.Lines(text) {
		if r, ok := parseRecord(line); ok && r.Type == kind {
			found = append(found, r)
		}
	}
	return found
}

// lastLine returns the last line that is not blank.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}

// plainID is an id that no program takes for an option or a path.
var plainID = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z_-]{3,127}$`)

// field returns the first value of a field in lines of JSON that is an id.
func field(text, name string) string {
	pattern := regexp.MustCompile(`"` + name + `"\s*:\s*"([^"\\]*)"`)
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(strings.TrimSpace(line), "{") {
			continue
		}
		if m := pattern.FindStringSubmatch(line); m != nil && plainID.MatchString(m[1]) {
			return m[1]
		}
	}
	return ""
}

// writtenSince returns the files of a pattern that were written after that
// time, less what a file system's clock may lag behind.
func writtenSince(pattern string, began time.Time) []string {
	paths, _ := filepath.Glob(pattern) // errs on a bad pattern only
	return slices.DeleteFunc(paths, func(path string) bool {
		info, err := os.Stat(path)
		return err != nil || info.ModTime().Before(began.Add(-time.Second))
	})
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// home returns a directory in the user's home, or where a variable says.
func home(variable string, parts ...string) string {
	if dir := os.Getenv(variable); variable != "" && dir != "" {
		return dir
	}
	dir, err := os.UserHomeDir()
	if err != nil {
		return os.DevNull // nothing is found there
	}
	return filepath.Join(append([]string{dir}, parts...)...)
}
