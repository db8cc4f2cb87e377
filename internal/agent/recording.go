package agent

import (
	"bytes"
	"encoding/json"
	"iter"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Recording is output of an agent outside of a transcript: of a run, on a screen, or to a client
// of its server.
type Recording struct {
	Path   string    // of the file; empty: it is not a file
	Text   string    // sanitized; of a long one the beginning and the end
	Beside string    // the other stream of the same run, if it is known
	At     time.Time // when it was last written to
	Exact  bool      // At is when it was printed: the file is not a copy
}

// maxDocuments bounds how many objects of several lines are tried to be parsed in one recording.
const maxDocuments = 16

// Records visits the JSON objects of a text: those in one line, and those that span several lines,
// as programs print them for people. For a list it visits its objects. The number is that of the
// object's first line.
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

// IsUUID reports whether a text is a UUID, which many agents use as id.
func IsUUID(text string) bool {
	const length = 36 // excludes the other forms that the library accepts
	return len(text) == length && uuid.Validate(text) == nil
}
