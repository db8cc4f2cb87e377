package control

import (
	"math"
	"path/filepath"
	"runtime"
	"time"

	"resumed/internal/fsevents"
)

// nameWatch hears that a socket loses its name, where the kernel tells that: of a file that
// is no directory, Linux alone does. The zero nameWatch hears nothing.
type nameWatch struct{ listener *fsevents.Listener }

// watch listens to the name of a socket, and returns how often it is looked whether it stands
// besides.
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
	// The socket itself: beside it something may be written all the time.
	if err := listener.Add(filepath.Join(of.dir, SocketName)); err != nil {
		return lookEvery
	}
	return lookRarely
}

// events is sent to when something happens to the name; nil: nobody tells.
func (n *nameWatch) events() <-chan struct{} {
	if n.listener == nil {
		return nil
	}
	return n.listener.Ready()
}

// taken passes over what was heard: only that it was counts.
func (n *nameWatch) taken() { _, _ = n.listener.Take(math.MaxInt) }

func (n *nameWatch) close() {
	if n.listener != nil {
		_ = n.listener.Close() // nothing is lost by it
		n.listener = nil
	}
}
