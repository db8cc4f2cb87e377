package execrun

import (
	"context"
	"os"
	"sync"
	"syscall"
	"time"
)

// hardGrace is what a command has after the second signal.
const hardGrace = 2 * time.Second

// relay passes on what is sent to this process: to the command's group while
// it runs. Between runs there is nobody to pass it on to, and it ends the wait.
type relay struct {
	cancel context.CancelCauseFunc
	quit   chan struct{}
	done   sync.WaitGroup

	mu     sync.Mutex // guards everything that follows
	group  int        // 0: no command runs
	passed int        // how many signals the group was sent
	hard   *time.Timer
}

// newRelay begins to pass on signals; stop ends it.
func newRelay(signals <-chan os.Signal, cancel context.CancelCauseFunc) *relay {
	r := &relay{cancel: cancel, quit: make(chan struct{})}
	r.done.Go(func() {
		for {
			select {
			case <-r.quit:
				return
			case sig := <-signals:
				if sig, ok := sig.(syscall.Signal); ok {
					r.pass(sig)
				}
			}
		}
	})
	return r
}

func (r *relay) stop() {
	close(r.quit)
	r.done.Wait()
}

func (r *relay) pass(sig syscall.Signal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.group == 0 {
		r.cancel(&signalled{sig})
		return
	}
	group := r.group
	_ = syscall.Kill(-group, sig) // fails where it has just ended
	r.passed++
	if r.passed == 2 {
		r.hard = time.AfterFunc(hardGrace, func() { r.kill(group) })
	}
}

func (r *relay) kill(group int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.group == group { // else the number may be another's by now
		_ = syscall.Kill(-group, syscall.SIGKILL)
	}
}

// attach starts a group and lets it have what is sent from now on. A signal
// that comes meanwhile waits until there is somebody to pass it on to.
func (r *relay) attach(start func() (group int, err error)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	group, err := start()
	if err != nil {
		return err
	}
	r.group, r.passed = group, 0
	return nil
}

// detach says that the group is gone, and reports whether it was sent
// anything.
func (r *relay) detach() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.hard != nil {
		r.hard.Stop()
		r.hard = nil
	}
	r.group = 0
	return r.passed > 0
}
