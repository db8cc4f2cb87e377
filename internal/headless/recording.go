package headless

import (
	"bytes"
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"time"
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

// maxDocuments bounds how often a text is searched for the end of an object of several lines.
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
			if !strings.HasPrefix(record, "{") && !strings.HasPrefix(record, "[") {
				text = rest
				continue
			}
			document, lines := json.RawMessage(record), 0
			if !json.Valid(document) && documents < maxDocuments {
				documents++
				decoder := json.NewDecoder(strings.NewReader(text))
				if decoder.Decode(&document) == nil {
					read := decoder.InputOffset()
					lines = strings.Count(text[:read], "\n")
					_, rest, _ = strings.Cut(text[read:], "\n")
				}
			}
			for _, object := range objects(document) {
				if !yield(n, object) {
					return
				}
			}
			n += lines
			text = rest
		}
	}
}

// objects returns an object, or those of a list.
func objects(value json.RawMessage) []json.RawMessage {
	isObject := func(v json.RawMessage) bool { return bytes.HasPrefix(v, []byte("{")) && json.Valid(v) }
	list := []json.RawMessage{value}
	if !isObject(value) && json.Unmarshal(value, &list) != nil {
		return nil
	}
	return slices.DeleteFunc(list, func(v json.RawMessage) bool { return !isObject(v) })
}
