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
	ring []byte
	next int   // where the full ring continues
	size int64 // of the whole output
}

func (w *words) add(p []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.size += int64(len(p))
	if room := kept - len(w.head); room > 0 {
		w.head = append(w.head, p[:min(room, len(p))]...)
	}
	if len(p) > kept {
		p = p[len(p)-kept:]
	}
	if room := kept - len(w.ring); room > 0 {
		n := min(room, len(p))
		w.ring, p = append(w.ring, p[:n]...), p[n:]
	}
	for len(p) > 0 {
		n := copy(w.ring[w.next:], p)
		w.next, p = (w.next+n)%kept, p[n:]
	}
}

// all returns the output without control characters; of a long one the beginning and the end,
// on separate lines.
func (w *words) all() string {
	w.mu.Lock()
	text := string(w.ring[w.next:]) + string(w.ring[:w.next])
	if w.size > kept {
		text = string(w.head) + "\n" + text
	}
	w.mu.Unlock()
	return sanitize.Text(text)
}
