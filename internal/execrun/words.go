package execrun

import (
	"sync"

	"resumed/internal/sanitize"
)

// kept is how much of a command's output is kept at each end: the beginning names the session,
// the end says why it failed.
const kept = 64 << 10

// words is the beginning and the end of a command's output.
type words struct {
	mu   sync.Mutex // guards the fields below
	head []byte
	tail []byte // the end of the output, with up to as much before it
	long bool   // the tail is not the whole output
}

func (w *words) add(p []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.head = append(w.head, p[:min(kept-len(w.head), len(p))]...)
	w.long = w.long || len(w.tail)+len(p) > kept
	w.tail = append(w.tail, p[max(0, len(p)-kept):]...)
	if len(w.tail) > 2*kept { // not with every line, because that would copy all of it each time
		w.tail = append(w.tail[:0], newest(w.tail)...)
	}
}

// newest returns the part of the tail that is kept.
func newest(tail []byte) []byte { return tail[max(0, len(tail)-kept):] }

// all returns the output without control characters; of a long one the beginning and the end,
// on separate lines.
func (w *words) all() string {
	w.mu.Lock()
	text := string(newest(w.tail))
	if w.long {
		text = string(w.head) + "\n" + text
	}
	w.mu.Unlock()
	return sanitize.Text(text)
}
