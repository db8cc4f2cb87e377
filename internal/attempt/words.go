package attempt

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"resumed/internal/clean"
)

// kept is how much of a command's output is kept at each end: its beginning
// names the session, its end says why it failed.
const kept = 64 << 10

// words is the beginning and the end of what a command printed.
type words struct {
	mu   sync.Mutex // guards everything that follows
	head []byte
	ring []byte
	next int // where the ring goes on once it is full
}

func (w *words) add(p []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
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

// beginning returns the first words, made harmless.
func (w *words) beginning() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return clean.Text(string(w.head))
}

// lastWords bound what is judged: a command says in a few lines why it failed.
const (
	lastLines = 12
	lastBytes = 12 << 10
)

// stackFrame is where in a program written in JavaScript an error came from:
// it says nothing, and there may be more of them than lines are judged.
var stackFrame = regexp.MustCompile(`^\s+at .*[:(]`)

// last returns the last lines that are not blank, made harmless.
func (w *words) last() string {
	w.mu.Lock()
	text := string(w.ring[w.next:]) + string(w.ring[:w.next])
	w.mu.Unlock()
	lines := slices.DeleteFunc(strings.Split(clean.Text(text), "\n"), stackFrame.MatchString)
	first, size := len(lines), 0
	for taken := 0; first > 0 && taken < lastLines; first-- {
		line := lines[first-1]
		if strings.TrimSpace(line) == "" {
			continue
		}
		if size += len(line); size > lastBytes && taken > 0 {
			break
		}
		taken++
	}
	return strings.TrimSpace(strings.Join(lines[first:], "\n"))
}
