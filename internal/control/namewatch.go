package control

import (
	"math"
	"path/filepath"
	"runtime"
	"time"

	"resumed/internal/fsevents"
)

// nameWatch watches whether a socket file is removed. Only Linux has events for a file that is
// not a directory. The zero nameWatch has no events.
type nameWatch struct{ listener *fsevents.Listener }

// watch starts watching the file of a socket, and returns how often to check it in addition.
func (n *nameWatch) watch(of *socket) (pause time.Duration) {
	n.close()
	if runtime.GOOS != "linux" {
		return lookEvery
	}
	listener, err := fsevents.New()
	if err != nil {
		return lookEvery
	}
	n.listener = listener
	// The socket itself: other files in its directory may change all the time.
	if err := listener.Add(filepath.Join(of.dir, SocketName)); err != nil {
		return lookEvery
	}
	return lookRarely
}

// events receives when something happens to the file; nil: not watched.
func (n *nameWatch) events() <-chan struct{} {
	if n.listener == nil {
		return nil
	}
	return n.listener.Ready()
}

// taken drops the events: their content does not matter.
func (n *nameWatch) taken() { _, _ = n.listener.Take(math.MaxInt) }

func (n *nameWatch) close() {
	if n.listener != nil {
		_ = n.listener.Close() // nothing can be lost
		n.listener = nil
	}
}
