package deliver

import (
	"maps"
	"slices"
	"sync"
	"time"

	"resumed/internal/resume"
)

// justNow is how long after a session's last event its process is still looked up.
const justNow = time.Minute

// tracker is what is known about sessions only while the daemon runs. Its methods do not block.
type tracker struct {
	wakeLookups chan struct{} // of size 1: there are lookups to do
	wakeHolders chan struct{} // of size 1: there is an open session, and there was none before
	hooked      chan struct{} // of size 1: a hook was called

	running    sync.Map // commands, by mark
	agentsSeen sync.Map // agents of which a task was due since the daemon started

	mu        sync.Mutex               // guards everything that follows
	screens   map[resume.Key]screen    // of sessions into which nothing could be typed
	lookups   map[resume.Key]bool      // sessions to look up the process of; true: read the size of the context too
	missed    map[resume.Key]time.Time // when the process of a session was not found
	questions map[resume.Key]question  // what hooks told since the last look
	open      map[resume.Key]bool      // sessions that are stopped and open in a process, or work unattended; true: it was seen alive since the daemon started
}

func newTracker() *tracker {
	return &tracker{
		wakeLookups: make(chan struct{}, 1), wakeHolders: make(chan struct{}, 1), hooked: make(chan struct{}, 1),
		screens: make(map[resume.Key]screen), lookups: make(map[resume.Key]bool), missed: make(map[resume.Key]time.Time),
		questions: make(map[resume.Key]question), open: make(map[resume.Key]bool),
	}
}

func wake(loop chan struct{}) {
	select {
	case loop <- struct{}{}:
	default:
	}
}

// lastScreenLook is how often in a row a screen must not be recognised, or show the same draft, until that is
// reported. What covers a terminal for a while (a notice, a person who thinks) is gone by then.
const lastScreenLook = 3

// screen is what was in the way when a prompt was to be typed.
type screen struct {
	obstacle
	looks int    // how often in a row
	told  string // what a person was told about it, if that is a reason that no process gives
}

// obstacle is what no prompt is typed on: a screen that was not recognised, or a draft.
type obstacle struct {
	strange bool
	draft   string
}

// countScreen returns how often in a row the same obstacle was there. The count of screens that are not recognised starts
// again at lastScreenLook; every count does when the session is no longer stopped.
func (t *tracker) countScreen(key resume.Key, now obstacle) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.screens[key]
	if s.obstacle != now {
		s = screen{obstacle: now}
	}
	s.looks++
	if now == (obstacle{}) || now.strange && s.looks >= lastScreenLook {
		delete(t.screens, key)
	} else {
		t.screens[key] = s
	}
	return s.looks
}

// block stores what a person was told about the screen of a session.
func (t *tracker) block(key resume.Key, why string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.screens[key]
	s.told = why
	t.screens[key] = s
}

// blocked returns what a person was told about the screen of a session the last time that it was read.
func (t *tracker) blocked(key resume.Key) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.screens[key].told
}

// lookUp asks for a lookup of the session's process, and with weigh for the size of its context.
func (t *tracker) lookUp(key resume.Key, weigh bool) {
	t.mu.Lock()
	t.lookups[key] = t.lookups[key] || weigh
	t.mu.Unlock()
	wake(t.wakeLookups)
}

func (t *tracker) takeLookups() map[resume.Key]bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	taken := t.lookups
	t.lookups = make(map[resume.Key]bool)
	return taken
}

const maxMissed = 4096

// miss stores that a process was not found: it may be another user's, or in another namespace.
func (t *tracker) miss(key resume.Key, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.missed) >= maxMissed {
		clear(t.missed)
	}
	t.missed[key] = now
}

// missedRecently reports that: a session that moves all the time must not cause lookups all the time.
func (t *tracker) missedRecently(key resume.Key, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	at, ok := t.missed[key]
	return ok && now.Sub(at) < justNow
}

// question is what a hook said that a process asks for, and when; "": nothing, as far as it asked before.
type question struct {
	asks string
	at   time.Time
}

// told stores what a hook said about a session. Beyond maxMissed sessions it is ignored.
func (t *tracker) told(key resume.Key, q question) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.questions) < maxMissed {
		t.questions[key] = q
	}
}

// takeQuestions returns what hooks said until then, and when the next one is due; zero: there is none.
func (t *tracker) takeQuestions(until time.Time) (due map[resume.Key]question, next time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	due = make(map[resume.Key]question)
	for key, q := range t.questions {
		switch {
		case q.asks == "" || !q.at.After(until):
			due[key] = q
			delete(t.questions, key)
		case next.IsZero() || q.at.Before(next):
			next = q.at
		}
	}
	return due, next
}

// follow stores whether a session is stopped and open in a process, or works unattended.
func (t *tracker) follow(s resume.Session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, known := t.open[s.Key]
	switch open := s.Owner != nil && s.Interrupted() && s.Run == nil || s.Unattended(); {
	case open && !known:
		t.setOpen(s.Key, false)
	case !open:
		delete(t.open, s.Key)
	}
}

// saw stores that the session's owner lives. Another goroutine may call follow only later.
func (t *tracker) saw(key resume.Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.setOpen(key, true)
}

// setOpen stores an open session. The caller holds mu.
func (t *tracker) setOpen(key resume.Key, seen bool) {
	t.open[key] = seen
	if len(t.open) == 1 { // with more than one, the loop runs already
		wake(t.wakeHolders)
	}
}

func (t *tracker) wasSeen(key resume.Key) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.open[key]
}

// rests stores that an unattended session does not work until it moves again.
func (t *tracker) rests(key resume.Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.open, key)
}

func (t *tracker) allOpen() []resume.Key {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Collect(maps.Keys(t.open))
}
