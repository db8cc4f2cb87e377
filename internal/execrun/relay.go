package execrun

import (
	"context"
	"os"
	"sync"
	"syscall"
	"time"
)

// hardGrace is the time between a second signal and SIGKILL.
const hardGrace = 2 * time.Second

// relay passes signals to this process on to the command's group while it runs. Between runs a
// signal ends the wait.
type relay struct {
	cancel context.CancelCauseFunc
	quit   chan struct{}
	done   sync.WaitGroup

	mu     sync.Mutex // guards the fields below
	group  int        // 0: no command runs
	passed int        // how many signals were passed on to the group
	hard   *time.Timer
	last   syscall.Signal // that this process got; 0: none
}

// newRelay starts passing on signals; stop ends it.
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
	r.last = sig
	if r.group == 0 {
		r.cancel(&signalled{sig})
		return
	}
	group := r.group
	_ = syscall.Kill(-group, sig) // fails if it has just ended
	r.passed++
	if r.passed == 2 {
		r.hard = time.AfterFunc(hardGrace, func() { r.kill(group) })
	}
}

// got returns the last signal that this process got; 0: none.
func (r *relay) got() syscall.Signal {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}

func (r *relay) kill(group int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.group == group { // otherwise another group may have that number
		_ = syscall.Kill(-group, syscall.SIGKILL)
	}
}

// attach starts a group that gets all signals from now on. A signal that comes during the start
// waits until the group exists.
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

// detach marks the group as ended, and reports whether it got a signal.
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
