package agent

import (
	"bytes"
	"encoding/json"
	"iter"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Recording is what an agent said elsewhere than in a transcript: on the
// streams of a run, on a screen, to a client of its server.
type Recording struct {
	Path   string    // of the file; empty where it is none
	Text   string    // made harmless; of a long one the beginning and the end
	Beside string    // what the same run said on its other stream, where that is known
	At     time.Time // when it was last written to
	Exact  bool      // that is when it was said: it is no copy
}

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

// IsUUID reports whether a text is an id as many agents give it.
func IsUUID(text string) bool {
	const length = 36 // without the other forms that the library takes
	return len(text) == length && uuid.Validate(text) == nil
}
