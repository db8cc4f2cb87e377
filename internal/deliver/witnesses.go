package deliver

import (
	"sync"

	"resumed/internal/resume"
)

// witnesses are the sessions whose live process is to be looked at: which
// program it runs can be told only while it lives.
type witnesses struct {
	wake chan struct{} // of size 1

	mu   sync.Mutex // guards everything that follows
	keys map[resume.Key]struct{}
}

func newWitnesses() *witnesses {
	return &witnesses{wake: make(chan struct{}, 1), keys: make(map[resume.Key]struct{})}
}

// call asks for a look at a session. It blocks on nothing.
func (w *witnesses) call(key resume.Key) {
	w.mu.Lock()
	w.keys[key] = struct{}{}
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *witnesses) take() map[resume.Key]struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	keys := w.keys
	w.keys = make(map[resume.Key]struct{})
	return keys
}
