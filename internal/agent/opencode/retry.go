package opencode

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"resumed/internal/limit"
	"resumed/internal/resume"
)

// note is what a running opencode says of a session: through its server or
// through the plugin. None of it is in the database.
type note struct {
	kind      noteKind
	session   string
	directory string
	atMS      int64
	pid       int // of the process that holds the session; 0: the server does
	status    Status
}

type noteKind uint8

const (
	retrying noteKind = iota + 1 // it waits and will try again by itself
	working                      // it works
	over                         // the turn is over: the database says how
	dropped                      // nobody holds the session any more
)

// Status is the state of a session as opencode says it.
type Status struct {
	Type    string `json:"type"`
	Attempt int    `json:"attempt"`
	Message string `json:"message"`
	Next    int64  `json:"next"` // epoch in milliseconds
	Action  struct {
		Reason string `json:"reason"`
	} `json:"action"`
}

// kind returns what the status says, or 0 where it says nothing.
func (s Status) kind() noteKind {
	switch s.Type {
	case "retry":
		return retrying
	case "busy":
		return working
	case "idle":
		return over
	default:
		return 0
	}
}

// kindOfEvent returns what an event tells of its session, or 0 if that is nothing.
func kindOfEvent(event string, s Status) noteKind {
	switch event {
	case "session.status":
		return s.kind()
	case "session.idle", "session.error":
		return over
	default:
		return 0
	}
}

// Verdict says what opencode is waiting for.
func (s Status) Verdict(reader limit.Reader, at time.Time) limit.Verdict {
	reader.At = at
	v := reader.Refusal(limit.Refusal{Text: s.Message})
	switch {
	case s.Action.Reason == "account_rate_limit" || s.Action.Reason == "free_tier_limit":
		v.Class = limit.UsageLimit
	case !v.Class.Transient() || v.Class == limit.Unknown:
		v.Class = limit.ServerError // it is tried again, so it is one that passes
	}
	v.WaitHelps, v.InProgress = true, true
	if at, ok := limit.Epoch(s.Next); ok {
		v.Reset = limit.Reset{At: at, Source: limit.Structured}
	}
	return v
}

// retries is which sessions opencode tries again by itself.
type retries struct {
	mu        sync.Mutex
	bySession map[string]note // guarded by mu
}

func (r *retries) put(n note) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.bySession == nil {
		r.bySession = make(map[string]note)
	}
	r.bySession[n.session] = n
}

func (r *retries) get(session string) (note, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n, ok := r.bySession[session]
	return n, ok
}

func (r *retries) drop(session string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.bySession, session)
}

func (r *retries) all() []note {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []note
	for _, n := range r.bySession {
		all = append(all, n)
	}
	slices.SortFunc(all, func(a, b note) int { return cmp.Compare(a.atMS, b.atMS) })
	return all
}

// hear takes notes in, in order, and tells which sessions wait by themselves
// now.
func (f *follower) hear(ctx context.Context, notes ...note) {
	told := make(map[string]bool)
	for _, n := range notes {
		switch n.kind {
		case retrying:
			f.agent.retries.put(n)
			told[n.session] = true
		case dropped:
			if was, ok := f.agent.retries.get(n.session); ok && was.pid == n.pid {
				was.kind = dropped
				f.agent.retries.put(was)
			}
		default:
			f.agent.retries.drop(n.session)
			for path := range f.books {
				f.dirty[path] = true
			}
			f.ring(quiet)
		}
	}
	for _, n := range f.agent.retries.all() {
		if told[n.session] && n.kind == retrying {
			f.tell(ctx, n)
		}
	}
	f.findDead(ctx)
}

// tell reports that opencode waits by itself, or that it did until it died.
func (f *follower) tell(ctx context.Context, n note) {
	at, ok := f.standing(ctx, n)
	if !ok {
		return
	}
	when := time.UnixMilli(n.atMS).UTC()
	event := resume.Limited{At: when, Verdict: n.status.Verdict(f.agent.Limits, when), Text: n.status.Message, First: !f.ready}
	at.said.atMS = n.atMS
	if n.kind == dropped {
		event.InProgress = false
		at.said.atMS++ // after it was in progress
	}
	// It is told again with the next look where that fails.
	_ = f.feed.See(ctx, []resume.Observation{at.book.observation(at.session, at.said, event)})
}

// standing returns where the session that a note is about stands in a database:
// its last message is not over and began before the note.
func (f *follower) standing(ctx context.Context, n note) (standing, bool) {
	if _, ok := f.open[n.session]; !ok {
		for _, b := range f.books {
			_ = f.lookAt(ctx, b) // it complains by itself
		}
	}
	at, ok := f.open[n.session]
	return at, ok && at.said.atMS <= n.atMS
}

// note remembers which sessions of the book have a message that is not over.
func (f *follower) note(b *book, n news) {
	for session, at := range f.open {
		if at.book == b {
			delete(f.open, session)
		}
	}
	for session, at := range n.open {
		at.book = b
		f.open[session] = at
	}
}

// findDead tells of the sessions that waited by themselves until their process
// died: nothing else remembers what they waited for.
func (f *follower) findDead(ctx context.Context) {
	for _, n := range f.agent.retries.all() {
		if n.kind == retrying && (n.pid == 0 || f.agent.lives(ctx, n.pid)) {
			continue
		}
		n.kind = dropped
		f.tell(ctx, n)
		f.agent.retries.drop(n.session)
	}
}
