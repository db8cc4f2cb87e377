package engine

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/backoff"
	"resumed/internal/limit"
	"resumed/internal/resume"
	"resumed/internal/resume/sentence"
)

// machine is a simulated machine on which several sessions of one home use two providers. Its daemon is
// killed again and again; people, exec, orders and changed rules come in between.
type machine struct {
	t     *testing.T
	dice  *rand.Rand // decides what happens
	weeks bool

	mu      sync.Mutex // guards everything that follows
	places  []*place
	disk    map[resume.Key][]byte
	paused  bool // on disk, and in force
	rules   resume.Rules
	life    *life
	lives   int
	marks   int
	sent    int
	forgets int
	asks    int
	died    time.Time // the last daemon
	alive   time.Time // on disk: when a daemon last ran
	away    time.Time // when no daemon ran for long, last
	trail   []string
	broken  string // an invariant that did not hold
}

// place is the true state of one session, whatever a daemon knows of it.
type place struct {
	key        resume.Key
	dir        string
	kind       string // of the session
	born       time.Time
	provider   string
	transcript []resume.Event
	cursor     int // lines that were read, as stored on disk

	owned   bool   // a person's process holds it
	exec    bool   // exec runs it
	process string // the mark of the living command
	began   time.Time
	leased  *life // the daemon that has its lease

	begun   map[string]bool // all commands that were started, by mark
	sends   map[int]int     // commands by the line of the interruption they were sent for
	retries int             // how often a person asked for a retry
	ordered bool            // a retry was asked for and not sent yet
	wanted  int             // the line of the interruption for which it was asked
	missed  int             // the line of an interruption whose wait ended while no daemon ran; -1: none

	forgotten map[int]bool // interruptions that a daemon has forgotten, by their line
}

// How much is tried: go test ./internal/resume -histories 100000 -first 1000.
var (
	histories = flag.Uint64("histories", 150, "how many random `histories` to try")
	first     = flag.Uint64("first", 0, "the `seed` of the first one")
)

var providersOfHome = []string{"anthropic", "anthropic", "openai", "openai"}

func newMachine(t *testing.T, seed uint64) *machine {
	m := &machine{t: t, dice: rand.New(rand.NewPCG(seed, 7)), disk: make(map[resume.Key][]byte), weeks: seed%10 == 0}
	m.rules = m.usual()
	for i, provider := range providersOfHome {
		m.settleIn(&place{key: resume.Key{Agent: "bot", ID: fmt.Sprint("s", i)}, dir: fmt.Sprint("/src/s", i), provider: provider, born: time.Now()})
	}
	return m
}

func (m *machine) settleIn(p *place) {
	p.missed, p.wanted = -1, -1
	p.sends, p.begun, p.forgotten = make(map[int]int), make(map[string]bool), make(map[int]bool)
	m.places = append(m.places, p)
}

// mostTries is how often a session is resumed at most without an order of a person, in an hour of
// outage.
const mostTries = 9

// mostPlaces bounds how many sessions a machine has.
const mostPlaces = 8

// join begins another session in the directory of that one: a person who continues, or a headless job.
func (m *machine) join(host *place) {
	if len(m.places) == mostPlaces {
		return
	}
	p := &place{
		key: resume.Key{Agent: "bot", ID: fmt.Sprint("n", len(m.places))}, dir: host.dir, provider: host.provider,
		kind: []string{"", resume.Interactive, resume.Headless, resume.Headless}[m.dice.IntN(4)], born: time.Now(),
	}
	if slices.ContainsFunc(m.places[len(providersOfHome):], func(q *place) bool { return q.dir == p.dir && q.kind != resume.Headless }) {
		p.kind = resume.Headless // of several interactive ones the last is stored
	}
	m.settleIn(p)
	m.log("%s begins in %s, %s", p.key.ID, p.dir, p.kind)
	m.write(p, resume.Prompted{At: time.Now()})
	m.write(p, resume.Progressed{At: time.Now()})
}

// replaced returns the session with which a person continued in the place's directory since it was
// stopped in that line, or nil.
func (m *machine) replaced(p *place, stop int, rules resume.Rules) *place {
	if stop < 0 || p.ordered {
		return nil
	}
	var here []*place
	for _, q := range m.places {
		if q != p && q.dir == p.dir {
			here = append(here, q)
		}
	}
	for _, q := range here {
		if q.kind == resume.Headless && len(here) > 1 {
			continue // one of several is stored, and preferably an interactive one
		}
		if q.born.After(resume.When(p.transcript[stop])) && q.lastStop(len(q.transcript)) < 0 && rules.Replaces("bot", q.kind) {
			return q
		}
	}
	return nil
}

func (m *machine) log(format string, args ...any) {
	m.trail = append(m.trail, time.Now().Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
}

// never reports that an invariant does not hold.
func (m *machine) never(format string, args ...any) {
	if m.broken == "" {
		m.broken = fmt.Sprintf(format, args...)
		m.log("NEVER: %s", m.broken)
	}
}

func (m *machine) place(key resume.Key) *place {
	for _, p := range m.places {
		if p.key == key {
			return p
		}
	}
	panic("no such place")
}

// lastStop returns the line of the refusal that the first lines of the transcript
// end with, or -1.
func (p *place) lastStop(lines int) int {
	for i := lines - 1; i >= 0; i-- {
		switch p.transcript[i].(type) {
		case resume.Limited:
			return i
		case resume.Progressed, resume.Cancelled:
			return -1
		}
	}
	return -1
}

func (m *machine) write(p *place, ev resume.Event) {
	p.transcript = append(p.transcript, ev)
	m.log("%s transcript: %T", p.key.ID, ev)
}

// refuse writes a refusal of some kind.
func (m *machine) refuse(p *place) {
	now := time.Now()
	switch m.dice.IntN(5) {
	case 0:
		m.write(p, limited(now, limit.Overloaded))
	case 1:
		m.write(p, limited(now, limit.RateLimit))
	case 2:
		m.write(p, limited(now, limit.UsageLimit))
	default:
		m.write(p, limitedUntil(now, limit.UsageLimit, now.Add(time.Duration(m.dice.Int64N(int64(10*time.Minute))))))
	}
}

// happen lets something happen in the world.
func (m *machine) happen() {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.places[m.dice.IntN(len(m.places))]
	free := p.process == "" && p.leased == nil
	switch m.dice.IntN(10) {
	case 0, 1:
		if free {
			m.refuse(p)
		}
	case 2:
		if free {
			m.write(p, resume.Prompted{At: time.Now()})
			m.write(p, resume.Progressed{At: time.Now()})
		}
	case 3:
		if p.owned || p.process == "" {
			p.owned = !p.owned
			m.log("%s owned: %v", p.key.ID, p.owned)
		}
	case 4:
		if p.exec || free {
			p.exec = !p.exec
			m.log("%s exec: %v", p.key.ID, p.exec)
		}
	case 5: // its user takes another model
		if free {
			p.provider = providersOfHome[m.dice.IntN(len(providersOfHome))]
			m.write(p, resume.Prompted{At: time.Now()})
			m.refuse(p)
		}
	case 6:
		if free {
			m.write(p, resume.Cancelled{At: time.Now()})
		}
	case 7:
		m.join(p)
	}
	for _, p := range m.places {
		m.work(p)
	}
}

// work lets the running command do something.
func (m *machine) work(p *place) {
	if p.process == "" || m.dice.IntN(3) == 0 {
		return
	}
	if m.dice.IntN(4) > 0 { // else it leaves no trace
		m.write(p, resume.Prompted{At: p.began})
		switch m.dice.IntN(3) {
		case 0:
			m.write(p, resume.Progressed{At: time.Now()})
		case 1:
			m.refuse(p)
			if m.dice.IntN(2) == 0 {
				return // it runs on and does nothing more
			}
		}
	}
	m.log("%s command %s ends", p.key.ID, p.process)
	p.process = ""
}

// order lets a person or the configuration change something.
func (m *machine) order() {
	l := m.life
	ctx := l.ctx
	m.mu.Lock()
	key := m.places[m.dice.IntN(len(m.places))].key
	kind, margin := m.dice.IntN(12), time.Duration(m.dice.Int64N(int64(2*time.Minute)))
	dead := l.dead
	m.mu.Unlock()
	if dead {
		return
	}
	var err error
	switch kind {
	case 0:
		err = l.engine.SetPaused(ctx, !m.paused)
		m.paused = !m.paused
	case 1:
		_, err = l.engine.Apply(ctx, key, resume.Pause{})
	case 2, 3:
		_, err = l.engine.Apply(ctx, key, resume.Unpause{})
	case 4:
		m.mu.Lock()
		p := m.place(key)
		p.retries++
		p.ordered, p.wanted, p.missed = true, p.lastStop(len(p.transcript)), -1
		m.mu.Unlock()
		_, err = l.engine.Apply(ctx, key, resume.Retry{})
	case 5:
		_, err = l.engine.Apply(ctx, key, resume.Forget{})
	case 6:
		rules := m.wishes(margin)
		m.mu.Lock()
		m.rules = rules
		m.mu.Unlock()
		err = l.engine.SetRules(ctx, rules, func() {})
	}
	if err == nil {
		l.sync() // an order that was answered is on disk
	}
}

// usual are the rules of a machine at its start.
func (m *machine) usual() resume.Rules {
	rules := defaultRules()
	rules.Overdue = 24 * time.Hour
	outage, _ := backoff.Named("outage")
	outage.MaxElapsed = time.Hour
	rules.ByClass = map[limit.Class]resume.Policy{limit.Overloaded: {Policy: outage}}
	return rules
}

// wishes are random rules.
func (m *machine) wishes(margin time.Duration) resume.Rules {
	rules := m.usual()
	if margin%9 == 0 {
		rules.Overdue = 0
		for _, p := range m.places {
			p.missed = -1
		}
	}
	rules.Margin, rules.Stagger = margin, margin/8
	rules.MaxConcurrent = 1 + int(margin%3)
	rules.Newcomers = []resume.Newcomers{resume.InteractiveNewcomers, resume.AnyNewcomer, resume.NoNewcomer}[margin%7%3]
	rules.KeepEnded, rules.KeepQuiet = 10*margin, 20*margin
	if margin%6 < 3 {
		rules.Priority = []resume.Priority{{Dir: "/src/s2", Rank: 1}, {Dir: "/src", Rank: 2}}
	}
	if margin%4 == 0 {
		rules.Exclude = []string{"/src/s1"}
	}
	if margin%5 == 0 {
		rules.NextAllowed = func(at time.Time) time.Time { // the first half of each hour
			if at.Minute() < 30 {
				return at
			}
			return at.Truncate(time.Hour).Add(time.Hour)
		}
	}
	return rules
}

// turn lets time pass and lets something happen. On a machine that runs for weeks there are quiet days.
func (m *machine) turn() {
	time.Sleep(time.Duration(m.dice.Int64N(int64(2 * time.Minute))))
	if m.weeks && m.dice.IntN(10) == 0 {
		time.Sleep(time.Duration(m.dice.Int64N(int64(40 * time.Hour))))
	}
	synctest.Wait()
	m.revive(m.life.mortal)
	m.happen()
	m.life.look(m.life.ctx, nil)
	m.order()
	if m.dice.IntN(4) == 0 {
		m.life.sync()
	}
	if m.life.mortal && m.dice.IntN(12) == 0 {
		m.life.die()
	}
	m.revive(m.life.mortal)
}

// revive starts the next daemon after the last one was killed.
func (m *machine) revive(mortal bool) {
	l := m.life
	synctest.Wait()
	if l.ctx.Err() == nil {
		return
	}
	<-l.done
	l.others.Wait()
	if mortal && m.dice.IntN(8) == 0 {
		time.Sleep(time.Duration(m.dice.Int64N(int64(72 * time.Hour))))
	}
	m.comeBack()
	m.start(mortal)
	synctest.Wait()
}

// comeBack notes which waits ended while no daemon ran. An hour is longer than any wait here.
func (m *machine) comeBack() {
	if m.rules.Overdue == 0 || time.Since(m.alive) < m.rules.Overdue {
		return
	}
	m.away = time.Now()
	for _, p := range m.places {
		stop := p.lastStop(len(p.transcript))
		if stop >= 0 && time.Since(resume.Later(resume.When(p.transcript[stop]).Add(time.Hour), m.died)) > m.rules.Overdue+time.Hour && p.wanted != stop && !p.ordered {
			p.missed = stop
		}
	}
}

func (m *machine) stop() {
	m.life.die()
	<-m.life.done
	m.life.others.Wait()
}

// settle lets people leave and the agents recover: then every interruption must end.
func (m *machine) settle() {
	m.stop()
	m.mu.Lock()
	m.rules, m.paused = defaultRules(), false
	for _, p := range m.places {
		p.owned, p.exec, p.missed = false, false, -1
	}
	m.mu.Unlock()
	m.start(false)
	for range 30 {
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		m.mu.Lock()
		for _, p := range m.places {
			if p.process != "" {
				m.write(p, resume.Progressed{At: time.Now()})
				p.process = ""
			}
		}
		m.mu.Unlock()
		m.life.look(m.life.ctx, nil)
	}
	sessions, err := m.life.engine.Sessions(m.t.Context())
	require.NoError(m.t, err)
	m.stop()
	for _, s := range sessions {
		if s.State == resume.GaveUp || s.State == resume.Parked || s.Paused {
			continue
		}
		if stop := m.place(s.Key).lastStop(len(m.place(s.Key).transcript)); s.State != resume.Watching {
			m.never("%s: an interruption (line %d) was forgotten in state %s: %s", s.Key.ID, stop, s.State, sentence.Of(*s))
		}
	}
}

// Invariants: never two commands for one interruption, never one while a person or exec has the
// session, never one against the current rules, and no session is forgotten.
func TestRandomHistoriesOfAMachine(t *testing.T) {
	t.Parallel()
	sent, deaths, forgets, asks := 0, 0, 0, 0
	for seed := *first; seed < *first+*histories; seed++ {
		synctest.Test(t, func(t *testing.T) {
			m := newMachine(t, seed)
			m.start(true)
			for range 30 {
				m.turn()
			}
			m.settle()
			if m.broken != "" {
				for _, line := range m.trail {
					t.Log(line)
				}
				t.Fatalf("seed %d: %s", seed, m.broken)
			}
			for _, p := range m.places {
				for line, n := range p.sends {
					require.LessOrEqual(t, n, mostTries*(1+p.retries), "seed %d, line %d: however often the daemon died", seed, line)
				}
			}
			sent, deaths, forgets, asks = sent+m.sent, deaths+m.lives, forgets+m.forgets, asks+m.asks
		})
		if t.Failed() {
			return
		}
	}
	t.Logf("%d histories, %d commands, %d daemons, %d sessions forgotten, %d asked about", *histories, sent, deaths, forgets, asks)
	require.Greater(t, uint64(sent), *histories, "the histories are worth something")
}
