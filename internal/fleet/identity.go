package fleet

import (
	"context"
	"sync"
	"time"

	"resumed/internal/resume"
)

const (
	// IdentifyWithin is how long sessions wait until their account is known.
	IdentifyWithin = 10 * time.Second

	// identityTTL is how long a lookup of the signed-in account is valid.
	identityTTL = time.Minute
)

// Identities caches which account of the fleet each session uses. A lookup reads files, and a file
// system that does not answer blocks it forever. So each lookup runs in its own goroutine, and only
// Await waits for one.
type Identities struct {
	Find  func(resume.Session) string // the key of its account; empty: not known. It may block
	Found func()                      // the key of an account has changed
	Slow  func(resume.AccountKey)     // Find has taken longer than IdentifyWithin

	mu sync.Mutex
	of map[resume.AccountKey]*identity // guarded by mu
}

// identity is what is known of one account of this host. Its fields are guarded by Identities.mu.
type identity struct {
	key    string
	known  bool          // the key is valid
	ready  chan struct{} // closed when known is set
	lookup *time.Timer   // the timer of the running lookup; nil: none runs
	at     time.Time     // when a lookup last ended; zero: none has
}

// Of returns the key of a session's account; empty: the session waits for no other host. If it is not
// known yet the caller asks again after Found is called.
func (i *Identities) Of(s resume.Session) (key string, known bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	e := i.current(s)
	return e.key, e.known
}

// Await is like Of, but waits until the key is known.
func (i *Identities) Await(ctx context.Context, s resume.Session) string {
	i.mu.Lock()
	ready := i.current(s).ready
	i.mu.Unlock()
	select {
	case <-ready:
	case <-ctx.Done():
	}
	key, _ := i.Of(s)
	return key
}

// Known returns the key of an account that a session uses; empty: not known.
func (i *Identities) Known(account resume.AccountKey) string {
	i.mu.Lock()
	defer i.mu.Unlock()
	if e := i.of[account]; e != nil {
		return e.key
	}
	return ""
}

// Renew makes every account be looked up again, for example after the configuration has changed. The
// result of a lookup that still runs is ignored.
func (i *Identities) Renew() {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, e := range i.of {
		e.lookup, e.at = nil, time.Time{}
	}
}

// current returns the identity of a session's account, and starts a lookup if it is old.
func (i *Identities) current(s resume.Session) *identity {
	e := i.of[s.AccountKey()]
	if e == nil {
		if i.of == nil {
			i.of = make(map[resume.AccountKey]*identity)
		}
		e = &identity{ready: make(chan struct{})}
		i.of[s.AccountKey()] = e
	}
	if e.lookup == nil && (e.at.IsZero() || time.Since(e.at) >= identityTTL) {
		lookup := time.AfterFunc(IdentifyWithin, func() { i.slow(e, s.AccountKey()) })
		e.lookup = lookup
		go func() { i.learn(e, lookup, i.Find(s)) }()
	}
	return e
}

func (i *Identities) learn(e *identity, lookup *time.Timer, key string) {
	i.mu.Lock()
	if e.lookup != lookup {
		i.mu.Unlock()
		return
	}
	lookup.Stop()
	changed := e.makeValid() || e.key != key
	e.key, e.lookup, e.at = key, nil, time.Now()
	i.mu.Unlock()
	if changed {
		i.Found()
	}
}

// slow stops waiting for a lookup. The old key is valid until the lookup ends.
func (i *Identities) slow(e *identity, account resume.AccountKey) {
	i.mu.Lock()
	changed := e.makeValid()
	i.mu.Unlock()
	if changed {
		i.Slow(account)
		i.Found()
	}
}

// makeValid makes the key valid, and reports whether it was not before.
func (e *identity) makeValid() bool {
	if e.known {
		return false
	}
	e.known = true
	close(e.ready)
	return true
}
