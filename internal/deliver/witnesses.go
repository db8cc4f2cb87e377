package deliver

import (
	"sync"
	"time"

	"resumed/internal/resume"
)

// witnesses are the sessions whose live process is to be looked at: which
// program it runs can be told only while it lives.
type witnesses struct {
	wake chan struct{} // of size 1

	mu   sync.Mutex               // guards everything that follows
	keys map[resume.Key]bool      // whether each is to be weighed, too
	lost map[resume.Key]time.Time // whose process was looked for in vain, and when
}

func newWitnesses() *witnesses {
	return &witnesses{wake: make(chan struct{}, 1), keys: make(map[resume.Key]bool), lost: make(map[resume.Key]time.Time)}
}

// call asks for a look at a session, and at how large its context is unless that is known. It blocks on nothing.
func (w *witnesses) call(key resume.Key, weigh bool) {
	w.mu.Lock()
	w.keys[key] = w.keys[key] || weigh
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// giveUp notes that a session's process is not found: it is another user's, or in
// a world that cannot be seen.
func (w *witnesses) giveUp(key resume.Key, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.lost) >= maxLost {
		clear(w.lost)
	}
	w.lost[key] = now
}

// vain reports whether it was looked for in vain just now: a session that moves all
// the time must not be looked for all the time.
func (w *witnesses) vain(key resume.Key, now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	at, ok := w.lost[key]
	return ok && now.Sub(at) < justNow
}

// maxLost bounds what is remembered of those.
const maxLost = 4096

func (w *witnesses) take() map[resume.Key]bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	keys := w.keys
	w.keys = make(map[resume.Key]bool)
	return keys
}
