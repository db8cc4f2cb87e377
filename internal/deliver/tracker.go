package deliver

import (
	"maps"
	"slices"
	"sync"
	"time"

	"resumed/internal/resume"
)

// justNow is how old the first sign of a session may be whose process is still
// worth looking for.
const justNow = time.Minute

// tracker holds what is known of sessions only as long as the daemon runs. It blocks on nothing.
type tracker struct {
	wakeLookups chan struct{} // of size 1: there are processes to look at
	wakeHolders chan struct{} // of size 1: there is an open session, and there was none

	mu             sync.Mutex               // guards everything that follows
	running        map[string]stopper       // commands, by mark
	agentsSeen     map[string]bool          // a task of theirs was due since the daemon started
	unknownScreens map[resume.Key]int       // looks in a row at screens that were not recognised
	lookups        map[resume.Key]bool      // whose process is to be looked at; true: also the size of their context
	missed         map[resume.Key]time.Time // whose process was not found, and when
	open           map[resume.Key]bool      // stopped and open in a process; true: it was seen alive since the daemon started
}

func newTracker() *tracker {
	return &tracker{
		wakeLookups: make(chan struct{}, 1), wakeHolders: make(chan struct{}, 1),
		running: make(map[string]stopper), agentsSeen: make(map[string]bool), unknownScreens: make(map[resume.Key]int),
		lookups: make(map[resume.Key]bool), missed: make(map[resume.Key]time.Time), open: make(map[resume.Key]bool),
	}
}

// wake makes a loop look again, without a wait.
func wake(loop chan struct{}) {
	select {
	case loop <- struct{}{}:
	default:
	}
}

// command returns the command of that mark; nil: none runs.
func (t *tracker) command(mark string) stopper {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.running[mark]
}

// setCommand notes that a command runs, or by nil that it is over.
func (t *tracker) setCommand(mark string, process stopper) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if process == nil {
		delete(t.running, mark)
	} else {
		t.running[mark] = process
	}
}

// firstTask reports whether no task of the agent was due before.
func (t *tracker) firstTask(agent string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	seen := t.agentsSeen[agent]
	t.agentsSeen[agent] = true
	return !seen
}

// lastScreenLook is how many looks at screens that are not recognised it takes until a
// person is told. What covers a terminal for a while (a notice, a dialog that
// somebody reads) is gone by then.
const lastScreenLook = 3

// countScreen returns how many looks in a row showed a screen that was not recognised. The last
// one ends the row.
func (t *tracker) countScreen(key resume.Key, unknown bool) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.unknownScreens[key] + 1
	if unknown && n < lastScreenLook {
		t.unknownScreens[key] = n
	} else {
		delete(t.unknownScreens, key)
	}
	return n
}

// forgetScreens ends the row of a session that is no longer stopped.
func (t *tracker) forgetScreens(key resume.Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.unknownScreens, key)
}

// lookUp asks for a look at the process of a session, and at the size of its context.
func (t *tracker) lookUp(key resume.Key, weigh bool) {
	t.mu.Lock()
	t.lookups[key] = t.lookups[key] || weigh
	t.mu.Unlock()
	wake(t.wakeLookups)
}

// takeLookups returns the looks that were asked for since it was called last.
func (t *tracker) takeLookups() map[resume.Key]bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	taken := t.lookups
	t.lookups = make(map[resume.Key]bool)
	return taken
}

// maxMissed bounds how many sessions are noted whose process was not found.
const maxMissed = 4096

// miss notes that a session's process was not found: it is another user's, or in
// a namespace that cannot be seen.
func (t *tracker) miss(key resume.Key, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.missed) >= maxMissed {
		clear(t.missed)
	}
	t.missed[key] = now
}

// missedRecently reports whether it was not found just now: a session that moves all
// the time must not be looked for all the time.
func (t *tracker) missedRecently(key resume.Key, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	at, ok := t.missed[key]
	return ok && now.Sub(at) < justNow
}

// follow notes whether a session is stopped and open in a process.
func (t *tracker) follow(s resume.Session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, known := t.open[s.Key]
	switch open := s.Owner != nil && s.Interrupted() && s.Run == nil; {
	case open && !known:
		t.setOpen(s.Key, false)
	case !open:
		delete(t.open, s.Key)
	}
}

// saw notes that the process lives that has a session open. It may come before follow, which another
// goroutine calls.
func (t *tracker) saw(key resume.Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.setOpen(key, true)
}

// setOpen notes an open session, with mu held.
func (t *tracker) setOpen(key resume.Key, seen bool) {
	t.open[key] = seen
	if len(t.open) == 1 { // more are looked at already
		wake(t.wakeHolders)
	}
}

func (t *tracker) wasSeen(key resume.Key) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.open[key]
}

func (t *tracker) allOpen() []resume.Key {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Collect(maps.Keys(t.open))
}
