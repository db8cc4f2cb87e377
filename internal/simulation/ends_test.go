package simulation

import (
	"maps"
	"slices"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// crash ends the daemon at once, wherever it is: while it writes to the disk too,
// and with all that runs on the machine where the power fails.
func (w *world) crash(kind int) {
	l := w.life
	next := l.image(kind < 4)
	w.mu.Lock()
	l.dead = true
	w.log("CRASH %d", kind)
	if kind == 0 {
		w.boot++
		for _, p := range w.places {
			w.powerOff(p)
		}
	}
	gates := l.gates
	l.gates = nil
	w.mu.Unlock()
	for _, g := range gates {
		g.pass <- fate{}
	}
	for _, part := range []*part{l.core, l.people, l.disk} {
		part.cancel()
	}
	for _, part := range []*part{l.core, l.people, l.disk} {
		part.wait.Wait()
	}
	for _, p := range w.places {
		p.acting = 0
	}
	_ = l.store.Close()
	w.discard(l.dir)
	w.unrecorded()
	w.start(next)
}

// powerOff ends all that runs. Nobody writes down how it ended, and what was written
// down by others than the daemon may be lost.
func (w *world) powerOff(p *place) {
	for _, status := range slices.Sorted(maps.Keys(p.left)) {
		if w.dice.IntN(2) == 0 {
			delete(p.left, status)
		}
	}
	if p.owner != 0 {
		w.hold(p)
	}
	if p.process != nil {
		close(p.process.over)
		p.process = nil
	}
}

// restart stops the daemon as a service manager does, and starts the next.
func (w *world) restart() {
	w.stop()
	w.start(w.life.dir)
}

// stop ends the daemon's parts in the order of the real one. What it still does to the world it does.
func (w *world) stop() {
	l := w.life
	w.mu.Lock()
	l.stopping = true
	w.log("STOP")
	w.mu.Unlock()
	for _, part := range []*part{l.core, l.people, l.disk} {
		part.cancel()
		ended := make(chan struct{})
		go func() { part.wait.Wait(); close(ended) }()
		for !closed(ended) {
			if synctest.Wait(); !w.open() {
				time.Sleep(100 * time.Millisecond)
			}
		}
	}
	require.NoError(w.t, l.store.Close())
	w.unrecorded()
}

func closed(ch chan struct{}) bool {
	synctest.Wait()
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// order lets a person order something. What was answered is on disk.
func (w *world) order() {
	l := w.life
	p := w.places[w.dice.IntN(len(w.places))]
	kind := w.dice.IntN(6)
	var err error
	switch kind {
	case 0:
		w.mu.Lock()
		w.paused = w.dice.IntN(3) == 0
		w.mu.Unlock()
		err = l.engine.SetPaused(l.core.ctx, w.paused)
		l.store.SetPaused(w.paused)
	case 1:
		_, err = l.engine.Apply(l.core.ctx, p.key, resume.Pause{})
	case 2, 3:
		_, err = l.engine.Apply(l.core.ctx, p.key, resume.Unpause{})
	case 4:
		w.retry(p)
	case 5:
		_, err = l.engine.Apply(l.core.ctx, p.key, resume.Forget{})
	}
	if err == nil {
		require.NoError(w.t, l.store.Sync(l.core.ctx))
	}
}

// retry is a person who has looked at the session, and wants it to go on.
func (w *world) retry(p *place) {
	l := w.life
	w.mu.Lock()
	if p.acting > 0 {
		w.mu.Unlock()
		return
	}
	w.log("%s RETRY", p.key.ID)
	p.retries++
	p.ordered, p.open = true, ""
	w.mu.Unlock()
	s, err := l.engine.Apply(l.core.ctx, p.key, resume.Retry{})
	if err == nil && l.store.Sync(l.core.ctx) == nil {
		w.mu.Lock()
		l.stands(s)
		w.mu.Unlock()
	}
}
