// Package simulation plays random histories of the whole daemon in one bubble of
// fake time: the real engine, delivery, state, journal and notifier, with an agent,
// a machine and people that are made up. The daemon dies at every point at which it
// touches the world, and the next one has only what is on the disk.
package simulation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"resumed/internal/backoff"
	"resumed/internal/limit"
	"resumed/internal/resume"
	"resumed/internal/runner"
)

// world is what is true whoever is looking: sessions, processes, people, a disk.
//
// Whatever a daemon does to it, it does at a gate, and waits there until it is let
// through. One is let through at a time, when all others stand still, by dice that are thrown by
// the world alone: so a seed is a history, and the same one each time.
type world struct {
	t    *testing.T
	dice *rand.Rand
	home string
	bug  bug // what is broken on purpose

	mu      sync.Mutex // guards everything that follows
	places  []*place
	phones  []*phone
	life    *life
	calm    bool // nothing fails any more, and nobody interferes
	blind   bool // whose processes live cannot be seen
	paused  bool
	boot    int // how often the power failed
	rules   resume.Rules
	counts  counts
	nervous int             // turns in which death is likely
	marks   map[string]bool // that were sent
	trail   []string
	broken  string // what must never happen and did
}

// counts is what a history was worth.
type counts struct {
	steps  int // of the engine, and through gates
	lives  int
	marks  int
	pids   int
	sends  map[string]int // by way
	told   int
	parked int // as unknown
}

// place is one session, as it is.
type place struct {
	key        resume.Key
	provider   string
	transcript []resume.Event
	task       int  // how often it was begun, where it is a task; -1: it is none
	acting     int  // deliveries of the daemon that are under way
	sent       bool // by the one that was begun last

	process *process // the command that continues it

	announced map[string]int               // commands that were about to be begun, and since which start of the machine: on the disk
	left      map[string]runner.StatusFile // what they left: that is not

	owner int    // the process of a person that holds it; 0: nobody
	way   string // how that one is reached
	inbox int    // prompts that it was given and has not taken
	queue int    // prompts that were left for it
	draft string // what stands in its composer

	sends   map[int]int // by the line of the interruption
	retries int         // ordered by a person
	ordered bool        // and not sent yet
	lifted  bool        // another session has shown that its limit was over before the reset
	open    string      // the mark of a prompt of which nobody knows what became

	calls map[string]time.Time // at which it was seen to stand on disk, and since when
}

func newWorld(t *testing.T, seed uint64, home string) *world {
	w := &world{t: t, dice: rand.New(rand.NewPCG(seed, 20)), home: home, rules: rules(), marks: make(map[string]bool)}
	w.counts.sends = make(map[string]int)
	for i, provider := range []string{"one", "one", "two"} {
		w.places = append(w.places, &place{
			key: resume.Key{Agent: "bot", ID: fmt.Sprint("s", i)}, provider: provider, task: -1,
			announced: make(map[string]int), left: make(map[string]runner.StatusFile), sends: make(map[int]int), calls: make(map[string]time.Time),
		})
	}
	for _, name := range []string{"desk", "phone"} {
		w.phones = append(w.phones, newPhone(w, name))
	}
	return w
}

const maxRetries = 3

func rules() resume.Rules {
	policy := backoff.Default()
	policy.BaseDelay, policy.MaxDelay, policy.MaxRetries = 5*time.Second, time.Minute, maxRetries
	return resume.Rules{
		Backoff: policy, Margin: 10 * time.Second, MaxWait: 192 * time.Hour, Settle: 30 * time.Second, Lookback: 6 * time.Hour,
		MaxWindows: 8, MaxConcurrent: 2, Stagger: 5 * time.Second, Order: resume.Oldest,
	}
}

// log notes what happens. The caller holds mu.
func (w *world) log(format string, args ...any) {
	w.trail = append(w.trail, time.Now().Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
}

// never notes what must never happen. The caller holds mu.
func (w *world) never(format string, args ...any) {
	if w.broken == "" {
		w.broken = fmt.Sprintf(format, args...)
		w.log("NEVER: %s", w.broken)
	}
}

func (w *world) place(key resume.Key) *place {
	return w.places[slices.IndexFunc(w.places, func(p *place) bool { return p.key == key })]
}

// path is where the session's transcript is said to be.
func (p *place) path() string { return "/made-up/" + p.key.ID + ".log" }

// stop returns the line of the refusal that the session stands at, or -1.
func (p *place) stop() int {
	for i, line := range slices.Backward(p.transcript) {
		switch line.(type) {
		case resume.Limited:
			return i
		case resume.Progressed, resume.Cancelled:
			return -1
		}
	}
	return -1
}

// free reports whether a person may do something about the session: what
// happens between a last look and the act that follows it, nobody can help.
func (p *place) free() bool { return p.acting == 0 && p.process == nil && p.inbox == 0 && p.queue == 0 }

// write appends to the transcript. Whatever moves there shows what became of a prompt.
// An order stands until the session goes on: a limit does not take it back, nor does the prompt of
// a command that ran before it was given.
func (w *world) write(p *place, ev resume.Event) {
	p.transcript = append(p.transcript, ev)
	p.open = ""
	_, limited := ev.(resume.Limited)
	_, prompted := ev.(resume.Prompted)
	if !limited && !(prompted && p.process != nil) {
		p.ordered = false
	}
	w.log("%s writes %s", p.key.ID, strings.TrimPrefix(fmt.Sprintf("%T", ev), "resume."))
}

func (w *world) refuse(p *place) {
	now := time.Now()
	verdict := limit.Verdict{Class: limit.RateLimit, WaitHelps: true}
	switch w.dice.IntN(4) {
	case 0:
		verdict.Class = limit.Overloaded
	case 1:
		verdict.Class = limit.UsageLimit
		verdict.Reset = limit.Reset{At: now.Add(time.Duration(w.dice.Int64N(int64(5 * time.Minute)))), Source: limit.Structured}
	}
	w.write(p, resume.Limited{At: now, Verdict: verdict, Text: "no more"})
}

func (w *world) isBroken() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.broken != ""
}

// turn lets one thing happen: a gate opens, time passes, the world moves, or the
// daemon ends.
func (w *world) turn() {
	deaths := w.risk()
	switch chance := w.dice.IntN(1000); {
	case chance < deaths:
		w.crash(w.dice.IntN(10))
	case chance < deaths+5:
		w.restart()
	case chance < 750 && w.open():
	case chance < 850:
		w.happen()
		w.life.read()
	case chance < 860:
		w.order()
	default:
		time.Sleep(time.Duration(w.dice.Int64N(int64(30 * time.Second))))
	}
	time.Sleep(time.Duration(1+w.dice.IntN(20)) * time.Millisecond) // nothing happens at once
	synctest.Wait()
}

// risk returns how many of a thousand times the daemon dies now: more often where
// something has just happened that must not be forgotten.
func (w *world) risk() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.nervous--
	switch {
	case w.nervous > 0:
		return 200
	case w.nervous == 0:
		return 30
	default:
		return 3
	}
}

// open opens one of the gates that somebody waits at.
func (w *world) open() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	gates := w.life.gates
	if len(gates) == 0 {
		return false
	}
	slices.SortStableFunc(gates, func(a, b *gate) int { return strings.Compare(a.name, b.name) })
	name := gates[w.dice.IntN(len(gates))].name
	through := fate{alive: true, dice: w.dice.IntN(1 << 16)}
	w.life.gates = slices.DeleteFunc(gates, func(g *gate) bool {
		if g.name == name { // who waits for the same is let through together: nobody can tell them apart
			g.pass <- through
		}
		return g.name == name
	})
	w.counts.steps++
	w.log("  %s", name)
	if !strings.HasPrefix(name, "sync") && !strings.HasPrefix(name, "look") {
		w.nervous = max(w.nervous, 1)
	}
	return true
}

// happen lets something happen to a session.
func (w *world) happen() {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.places[w.dice.IntN(len(w.places))]
	switch w.dice.IntN(20) {
	case 0, 1, 2, 3, 4:
		if p.free() && (p.stop() < 0 || w.dice.IntN(5) == 0) {
			w.refuse(p)
		}
	case 5:
		if p.free() {
			w.write(p, resume.Prompted{At: time.Now()})
			w.write(p, resume.Progressed{At: time.Now()})
		}
	case 6, 7:
		if p.acting == 0 && p.process == nil {
			w.hold(p)
		}
	case 8:
		w.blind = w.dice.IntN(4) == 0
	case 9:
		phone := w.phones[w.dice.IntN(len(w.phones))]
		phone.down = w.dice.IntN(3) == 0
	case 10:
		if p.free() && w.dice.IntN(3) == 0 {
			w.write(p, resume.Cancelled{At: time.Now()})
		}
	}
	for _, p := range w.places {
		w.work(p)
	}
}

// hold lets a person open the session in a process of their own, or end that. What
// it was given and has not taken is lost then.
func (w *world) hold(p *place) {
	if p.owner != 0 {
		p.owner, p.inbox, p.queue, p.draft = 0, 0, 0, ""
	} else {
		w.counts.pids++
		p.owner = w.counts.pids
		p.way = []string{"queue", "keys", "none"}[w.dice.IntN(3)]
	}
	w.log("%s held by %d (%s)", p.key.ID, p.owner, p.way)
}

// work lets what was asked to continue the session do something.
func (w *world) work(p *place) {
	if p.process != nil && w.dice.IntN(3) > 0 {
		w.workCommand(p)
	}
	settled := p.acting == 0 || p.sent // else it would move between a last look and the act
	if p.owner != 0 && p.inbox+p.queue > 0 && settled && w.dice.IntN(3) > 0 {
		p.inbox, p.queue = 0, 0
		if w.calm || w.dice.IntN(5) > 0 { // else it is lost on the way
			w.turnOf(p)
		}
	}
}

// turnOf is a turn that a prompt of ours led to.
func (w *world) turnOf(p *place) {
	w.write(p, resume.Prompted{At: time.Now()})
	switch {
	case w.calm || w.dice.IntN(3) == 0:
		w.write(p, resume.Progressed{At: time.Now()})
	case w.dice.IntN(2) == 0:
		w.refuse(p)
	}
}

func (w *world) workCommand(p *place) {
	proc := p.process
	code := 0
	switch {
	case proc.status == "": // it only leaves the prompt for the process that holds the session
		if p.owner != 0 && (w.calm || w.dice.IntN(4) > 0) {
			p.queue++
		} else {
			code = 1
		}
	case w.calm || w.dice.IntN(3) > 0:
		w.turnOf(p)
		if !w.calm && w.dice.IntN(3) == 0 {
			return // and it runs on
		}
	case w.dice.IntN(2) == 0: // it fails
		code = 3
	}
	w.end(p, code)
}

func (w *world) end(p *place, code int) {
	left := runner.StatusFile{Began: true, Ended: true, Code: code}
	w.log("%s command %s ends: %v", p.key.ID, p.process.mark, left.Result().Err)
	if status := p.process.status; status != "" {
		p.left[status] = left
	}
	p.process.result = left.Result()
	close(p.process.over)
	p.process = nil
}
