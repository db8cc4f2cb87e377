package fleet

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// How much is tried: go test ./internal/fleet -run Histories -histories 100000 -first 1000. A failing
// history prints its seed; -histories 1 -first SEED runs it again.
var (
	histories = flag.Uint64("histories", 800, "how many random `histories` to try")
	first     = flag.Uint64("first", 0, "the `seed` of the first one")
)

// world is a simulated fleet: hosts with daemons that die, sleep and lose their connection, clocks that
// are off, writes that are lost or late, and a provider with limits. The hosts run the real code,
// without goroutines: while one of them waits for the store, the world goes on.
type world struct {
	dice   *rand.Rand
	now    time.Time // the time of the store and the provider
	end    time.Time // nothing goes wrong after that
	store  *Memory
	hosts  []*simHost
	late   []lateWrite
	closes []time.Time // the edges of windows: limited from even ones to odd ones
	shared *simSession // in a home directory of two hosts
	depth  int
	calm   bool // nothing goes wrong at all
	dead   bool // in the end the store is gone for good
	slow   bool // sessions are released late
	auto   bool // sessions of a host that is gone are taken over without an order
	starts []time.Time
	trail  []string
	keep   bool
	broken string
}

type lateWrite struct {
	at time.Time
	do func()
}

// simHost is one machine.
type simHost struct {
	w         *world
	name      string
	skew      time.Duration
	fleet     *Fleet
	lives     int
	busy      bool      // its daemon waits for the store
	called    time.Time // since when; zero: it does not
	asleep    time.Time // until then nothing of it runs
	cut       time.Time // until then it has no connection
	disturbed time.Time // when something last went wrong for it
	tickAt    time.Time
	walkAt    time.Time
	sessions  []*simSession
	lastStart time.Time
	limitedAt time.Time // its own breaker: since when it is open
	probing   string    // the session that probes for the fleet
	synced    bool      // it knows the fleet's time
	known     Account   // the newest state that it was shown, by epoch
	old       map[string]Entry
}

// simSession is a session: the truth about it, and what its host knows.
type simSession struct {
	id      string
	shared  *simSession // the same session on the other host; nil: this one
	state   resume.State
	session resume.Session
	due     time.Time // by its host's clock
	endsAt  time.Time // when its run shows a result; zero: it does not run
	running string    // the host on which it runs
	done    bool
	movedAt time.Time
	lost    bool // no host may take it over
	adopt   bool // an earlier daemon began it
	hold    *Hold
	tries   int
}

const (
	simAccount = "a1.anthropic"
	simStagger = 20 * time.Second
	simMargin  = 10 * time.Second
)

func newWorld(seed uint64, keep bool) *world {
	w := &world{dice: rand.New(rand.NewPCG(seed, 16)), now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), keep: keep, calm: seed%4 == 0, dead: seed%10 == 9, slow: seed%5 == 2, auto: seed%3 == 1}
	w.store = NewMemory(func() time.Time { return w.now })
	w.end = w.now.Add(4 * time.Minute)
	at := w.now.Add(w.upTo(30 * time.Second))
	for range 2 {
		until := at.Add(30*time.Second + w.upTo(150*time.Second))
		w.closes = append(w.closes, at, until)
		at = until.Add(w.upTo(3 * time.Minute))
	}
	for i := range 2 + w.dice.IntN(3) {
		h := &simHost{w: w, name: fmt.Sprint("h", i), old: make(map[string]Entry)}
		h.skew = []time.Duration{0, 0, 3 * time.Second, -8 * time.Second, 100 * time.Second, -100 * time.Second, 10 * time.Minute, -10 * time.Minute}[w.dice.IntN(8)]
		if i < 2 && h.skew.Abs() > LargestSkew {
			h.skew /= 5 // shared sessions cannot continue if a host is always alone
		}
		for j := range 1 + w.dice.IntN(3) {
			h.sessions = append(h.sessions, &simSession{id: fmt.Sprintf("%s.%d", h.name, j), state: resume.Watching})
		}
		w.hosts = append(w.hosts, h)
		h.start()
	}
	w.shared = &simSession{id: "shared", state: resume.Watching}
	for _, h := range w.hosts[:2] {
		h.sessions = append(h.sessions, &simSession{id: "shared", shared: w.shared, state: resume.Watching})
	}
	return w
}

func (w *world) upTo(d time.Duration) time.Duration { return time.Duration(w.dice.Int64N(int64(d))) }

func (w *world) chance(p float64) bool { return w.dice.Float64() < p }

func (w *world) log(format string, args ...any) {
	if w.keep {
		w.trail = append(w.trail, w.now.Format("04:05.000 ")+fmt.Sprintf(format, args...))
	}
}

func (w *world) breaks(format string, args ...any) {
	if w.broken == "" {
		w.broken = w.now.Format("04:05.000 ") + fmt.Sprintf(format, args...)
	}
}

// limited returns when the current window ends; zero: nothing is limited now.
func (w *world) limited() time.Time {
	for i := 0; i < len(w.closes); i += 2 {
		if !w.now.Before(w.closes[i]) && w.now.Before(w.closes[i+1]) {
			return w.closes[i+1]
		}
	}
	return time.Time{}
}

// run lets time pass until then.
func (w *world) run(until time.Time, over func() bool) {
	for w.broken == "" && (over == nil || !over()) {
		at, do := w.next()
		if do == nil || at.After(until) {
			w.now = resume.Later(w.now, until)
			return
		}
		w.now = resume.Later(w.now, at)
		do()
	}
}

// next returns what happens next, and when.
func (w *world) next() (time.Time, func()) {
	var (
		at time.Time
		do func()
	)
	consider := func(t time.Time, f func()) {
		if do == nil || t.Before(at) {
			at, do = t, f
		}
	}
	for _, h := range w.hosts {
		if !h.busy {
			consider(resume.Later(h.tickAt, h.asleep), h.tick)
		}
		if !h.walkAt.IsZero() {
			consider(resume.Later(h.walkAt, h.asleep), h.walk)
		}
		for _, s := range h.sessions {
			if !s.endsAt.IsZero() {
				consider(resume.Later(s.endsAt, h.asleep), func() { h.ends(s) })
			}
		}
	}
	for i, l := range w.late {
		consider(l.at, func() {
			w.late = slices.Delete(w.late, i, i+1)
			l.do()
		})
	}
	return at, do
}

// trouble makes one thing go wrong.
func (w *world) trouble() {
	h := w.hosts[w.dice.IntN(len(w.hosts))]
	h.disturb()
	switch w.dice.IntN(4) {
	case 0:
		h.cut = w.now.Add(w.upTo(100 * time.Second))
		w.log("%s is cut off until %s", h.name, h.cut.Format("04:05"))
	case 1:
		h.asleep = w.now.Add(w.upTo(100 * time.Second))
		w.log("%s sleeps until %s", h.name, h.asleep.Format("04:05"))
	case 2:
		for _, o := range w.hosts {
			o.cut = w.now.Add(w.upTo(60 * time.Second))
			o.disturb()
		}
		w.log("nobody reaches the store")
	default:
		w.log("the daemon of %s dies", h.name)
		for _, s := range h.sessions {
			if s.state == resume.Resuming { // its command still runs, and is found again
				s.state = resume.Waiting
				s.session.State = resume.Waiting
				s.due = h.clock().Add(5 * time.Second)
				if s.endsAt.IsZero() || s.shared == nil {
					s.endsAt = time.Time{}
					continue
				}
				s.state, s.session.State = resume.Resuming, resume.Resuming
			}
		}
		h.start()
	}
}

// play runs a history, and returns the world with the violations that happened.
func play(seed uint64, keep bool) *world {
	w := newWorld(seed, keep)
	for _, h := range w.hosts {
		for _, s := range h.sessions {
			s.endsAt = w.closes[0].Add(w.upTo(20 * time.Second)) // it works until it is refused
		}
	}
	for w.broken == "" && w.now.Before(w.end) {
		w.run(w.now.Add(5*time.Second+w.upTo(40*time.Second)), w.over)
		if w.over() {
			break
		}
		if !w.calm {
			w.trouble()
		}
	}
	w.end = w.now
	for _, h := range w.hosts {
		h.cut, h.asleep = resume.Earlier(h.cut, w.now), resume.Earlier(h.asleep, w.now)
		if w.dead { // all continue alone
			h.cut = w.now.Add(24 * time.Hour)
		}
	}
	w.run(w.now.Add(30*time.Minute), w.over)
	if w.broken == "" && w.over() && !w.dead && seed%4 == 1 {
		w.run(w.now.Add(3*longestWrite), nil)
		w.checkOwners()
	}
	if w.broken == "" && !w.over() {
		for _, h := range w.hosts {
			for _, s := range h.sessions {
				if !w.settled(s) {
					w.breaks("%s of %s never starts: %s", s.id, h.name, s.state)
				}
			}
		}
	}
	return w
}

// checkOwners checks that no host is stored as the owner of a session that it does not have.
func (w *world) checkOwners() {
	e, err := w.store.Get(context.Background(), Accounts, OwnerKey("shared"))
	for _, h := range w.hosts {
		if err == nil && h.fleet.holder(e) == h.fleet.me() && !h.fleet.has("shared") {
			w.breaks("%s is stored as the owner of %s for ever", h.name, w.shared.id)
		}
	}
}

// over reports whether every session has continued.
func (w *world) over() bool {
	for _, h := range w.hosts {
		for _, s := range h.sessions {
			if !w.settled(s) {
				return false
			}
		}
	}
	return true
}

// settled reports whether a session has continued, or cannot.
func (w *world) settled(s *simSession) bool {
	return s.done || s.lost || s.shared != nil && (s.shared.done || w.dead)
}

func TestHistories(t *testing.T) {
	var (
		workers sync.WaitGroup
		next    atomic.Uint64
		failed  atomic.Bool
	)
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for {
				n := next.Add(1) - 1
				if n >= *histories || failed.Load() {
					return
				}
				seed := *first + n
				if w := play(seed, false); w.broken != "" && !failed.Swap(true) {
					w = play(seed, true)
					t.Errorf("seed %d (go test ./internal/fleet -run Histories -histories 1 -first %d): %s\n%s", seed, seed, cmp.Or(w.broken, "not again"), strings.Join(w.trail[:min(len(w.trail), 200)], "\n"))
				}
			}
		})
	}
	workers.Wait()
}

// Refusals that were dated by a clock that was not compared yet, a session of a shared home directory
// on a machine that slept, a start before a known reset, a shared session that was held again before it
// was released.
func TestHistoriesThatOnceBrokeSomething(t *testing.T) {
	for _, seed := range []uint64{1321, 1601, 8735, 64063, 4052} {
		w := play(seed, true)
		require.Empty(t, w.broken, "seed %d\n%s", seed, strings.Join(w.trail, "\n"))
	}
}

func TestAHistoryIsPlayedAgain(t *testing.T) {
	for seed := range *histories / 16 {
		a, b := play(seed, true), play(seed, true)
		require.Equal(t, a.trail, b.trail)
		require.NotEmpty(t, a.trail)
	}
}
