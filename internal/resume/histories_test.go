package resume

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
)

// machine is a make-believe machine on which several sessions of one home ask
// two providers. Its daemon dies again and again; people, exec, orders and
// changed rules come in between.
type machine struct {
	t    *testing.T
	dice *rand.Rand // of the world

	mu     sync.Mutex // guards everything that follows
	places []*place
	disk   map[Key][]byte
	paused bool // on disk, and in force
	rules  Rules
	life   *life
	lives  int
	marks  int
	sent   int
	trail  []string
	broken string // what must never happen and did
}

// place is where one session lives: what is true of it whoever is looking.
type place struct {
	key        Key
	provider   string
	transcript []Event
	cursor     int // lines that were read, as it is on disk

	owned   bool   // a person's process holds it
	exec    bool   // exec looks after it
	process string // the mark of the living command
	began   time.Time
	leased  *life // the daemon that looks after it

	sends map[int]int // commands by the line of the interruption they were sent for
}

// life is one daemon, from its start to its death.
type life struct {
	*machine
	engine  *Engine
	dead    bool
	ctx     context.Context // done when it is dead
	cancel  context.CancelFunc
	done    chan struct{}
	pending map[Key][]byte // not on disk yet
	read    map[Key]int
	dice    *rand.Rand // of its deaths
	mortal  bool
	others  sync.WaitGroup
}

const histories = 1000

var providersOfHome = []string{"anthropic", "anthropic", "openai", "openai"}

func newMachine(t *testing.T, seed uint64) *machine {
	m := &machine{t: t, dice: rand.New(rand.NewPCG(seed, 7)), disk: make(map[Key][]byte), rules: DefaultRules()}
	for i, provider := range providersOfHome {
		m.places = append(m.places, &place{key: Key{"bot", fmt.Sprint("s", i)}, provider: provider, sends: make(map[int]int)})
	}
	return m
}

func (m *machine) log(format string, args ...any) {
	m.trail = append(m.trail, time.Now().Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
}

// never notes what must never happen.
func (m *machine) never(format string, args ...any) {
	if m.broken == "" {
		m.broken = fmt.Sprintf(format, args...)
		m.log("NEVER: %s", m.broken)
	}
}

func (m *machine) place(key Key) *place {
	for _, p := range m.places {
		if p.key == key {
			return p
		}
	}
	panic("no such place")
}

// start begins a daemon's life with what the disk knows.
func (m *machine) start(mortal bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lives++
	ctx, cancel := context.WithCancel(m.t.Context())
	l := &life{
		machine: m, ctx: ctx, cancel: cancel, done: make(chan struct{}), pending: make(map[Key][]byte), read: make(map[Key]int),
		dice: rand.New(rand.NewPCG(m.dice.Uint64(), 3)), mortal: mortal,
	}
	var known []Session
	for _, p := range m.places {
		l.read[p.key] = p.cursor
		if data, ok := m.disk[p.key]; ok {
			var s Session
			require.NoError(m.t, json.Unmarshal(data, &s))
			known = append(known, s)
		}
	}
	chance := rand.New(rand.NewPCG(m.dice.Uint64(), 5))
	l.engine = NewEngine(Options{
		Rules: m.rules, Sessions: known, Paused: m.paused, Act: l.act, Changed: l.changed, Rand: chance.Float64,
		Mark: func() string {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.marks++
			return fmt.Sprint("m", m.marks)
		},
	})
	m.life = l
	m.log("START")
	go func() { _ = l.engine.Run(ctx); close(l.done) }()
	l.others.Go(func() { l.recover(ctx, known) })
}

// die ends the daemon at once: nothing it does from here on reaches the world.
func (l *life) die() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead {
		return
	}
	l.dead = true
	l.log("CRASH")
	for _, p := range l.places {
		if p.leased == l {
			p.leased = nil
		}
	}
	l.cancel()
}

// risk lets the daemon die here, now and then.
func (l *life) risk() bool {
	l.mu.Lock()
	dies := l.mortal && l.dice.IntN(8) == 0
	dead := l.dead
	l.mu.Unlock()
	if dies {
		l.die()
	}
	return dies || dead
}

// changed is told every step, in the engine's own goroutine.
func (l *life) changed(c Change) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead {
		return
	}
	data, err := json.Marshal(c.After)
	require.NoError(l.t, err)
	l.pending[c.After.Key] = data
	l.log("%s %T %s -> %s", c.After.Key.ID, c.Event, c.Before.State, c.After.State)
	if c.Begun() != nil {
		l.judgeBegin(c)
	}
	if queued, ok := c.Event.(Queued); ok {
		l.judgeQueue(c.After, queued.Why)
	}
}

// judgeQueue holds what keeps a session back against whose limit it is.
func (l *life) judgeQueue(s Session, why string) {
	for key, other := range l.engine.sessions {
		if other.Provider != s.Provider && strings.Contains(why, "session "+key.ID) {
			l.never("%s waits for a session of another provider", s.Key.ID)
		}
	}
}

// judgeBegin holds a resume that begins against the rules in force.
func (l *life) judgeBegin(c Change) {
	s, rules := c.After, l.engine.opts.Rules
	switch {
	case l.engine.opts.Paused:
		l.never("a resume began while all is paused")
	case c.Before.Paused:
		l.never("a resume of a paused session began")
	case rules.Open != nil && rules.Open(c.At).After(c.At):
		l.never("a resume began outside of the hours")
	case rules.excluded(s.Cwd) != "":
		l.never("a resume began in an excluded directory")
	case l.engine.running > max(1, rules.MaxConcurrent):
		l.never("%d resumes at a time, where %d are allowed", l.engine.running, rules.MaxConcurrent)
	case c.Before.Asked.IsZero() && c.At.Before(c.Before.Limit.Reset.At):
		l.never("a resume began before the stated reset")
	}
	for key, other := range l.engine.sessions {
		if key == s.Key || other.AccountKey() != s.AccountKey() || len(other.Attempts) == 0 {
			continue
		}
		last := other.last().StartedAt
		if limited := l.engine.account(s.AccountKey()).limitedAt; !limited.IsZero() && other.State == Resuming && last.After(limited) {
			l.never("two sessions of one account try at a time")
		}
		if other.State == Resuming && c.At.Sub(last) < rules.Stagger {
			l.never("two sessions of one account begin within the stagger")
		}
	}
}

// sync puts on disk what is known.
func (l *life) sync() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead {
		return
	}
	maps.Copy(l.disk, l.pending)
	clear(l.pending)
	for _, p := range l.places {
		if l.dice.IntN(2) == 0 {
			p.cursor = l.read[p.key]
		}
	}
}

// look reads what is new of all sessions, or of one.
func (l *life) look(ctx context.Context, only *place) {
	l.mu.Lock()
	var sightings []Sighting
	for _, p := range l.places {
		if only != nil && only != p {
			continue
		}
		for i := l.read[p.key]; i < len(p.transcript); i++ {
			sightings = append(sightings, Sighting{
				Key: p.key, Account: "bot:default", Provider: p.provider, Cwd: "/src/" + p.key.ID,
				Pos: Position{"1", int64(i + 1)}, Event: p.transcript[i],
			})
		}
	}
	l.mu.Unlock()
	if l.engine.See(ctx, sightings) != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, sight := range sightings {
		l.read[sight.Key] = max(l.read[sight.Key], int(sight.Pos.Offset))
	}
}

// recover does what a daemon does at its start.
func (l *life) recover(ctx context.Context, known []Session) {
	var gone []Session
	for _, s := range known {
		l.mu.Lock()
		lives := s.Run != nil && l.machine.place(s.Key).process == s.Run.Mark
		l.mu.Unlock()
		switch {
		case s.Run == nil:
		case lives:
			_, _ = l.engine.Tell(ctx, s.Key, Started{Mark: s.Run.Mark, Process: Process{PID: 7}})
			l.others.Go(func() { l.follow(ctx, s) })
		default:
			gone = append(gone, s)
		}
	}
	l.look(ctx, nil)
	for _, s := range gone {
		_, _ = l.engine.Tell(ctx, s.Key, Lost{Mark: s.Run.Mark})
	}
}

// act does what a daemon does when a session enters Resuming. It may die at
// every point of it.
func (l *life) act(ctx context.Context, s Session) {
	mark := s.Run.Mark
	p := l.machine.place(s.Key)
	if !l.lease(p) {
		_, _ = l.engine.Tell(ctx, s.Key, Held{Mark: mark, Why: "exec looks after it"})
		return
	}
	defer l.release(p)
	if l.risk() {
		return
	}
	l.sync()
	if l.risk() {
		return
	}
	l.look(ctx, p)
	now, err := l.engine.Session(ctx, s.Key)
	if err != nil || now.Run == nil || now.Run.Mark != mark {
		return
	}
	if l.owned(p) {
		_, _ = l.engine.Tell(ctx, s.Key, Held{Mark: mark, Why: "a person's process holds it"})
		return
	}
	now, err = l.engine.Tell(ctx, s.Key, Sending{Mark: mark})
	if err != nil || now.Run == nil || now.Run.Mark != mark || !l.run(p, mark) {
		return
	}
	if l.risk() {
		return
	}
	_, _ = l.engine.Tell(ctx, s.Key, Started{Mark: mark, Process: Process{PID: 7}})
	l.follow(ctx, s)
}

func (l *life) lease(p *place) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.exec || l.dead {
		return false
	}
	p.leased = l
	return true
}

func (l *life) release(p *place) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.leased == l {
		p.leased = nil
	}
}

func (l *life) owned(p *place) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return p.owned
}

// run is the moment that matters: a command acts on the session. No person and
// no exec can have come since the look, for the world moves between turns only.
func (l *life) run(p *place, mark string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead {
		return false
	}
	stop := p.lastStop()
	switch {
	case p.process != "":
		l.never("%s: a second command while the first one runs", p.key.ID)
	case p.owned:
		l.never("%s: a command while an owner lives", p.key.ID)
	case p.exec:
		l.never("%s: a command while exec looks after it", p.key.ID)
	case stop < 0:
		l.never("%s: a command for a session that is not interrupted", p.key.ID)
	}
	l.log("SENT %s %s", p.key.ID, mark)
	l.sent++
	p.sends[stop]++
	p.process, p.began = mark, time.Now()
	return true
}

// follow waits for the command and tells how it ended.
func (l *life) follow(ctx context.Context, s Session) {
	p := l.machine.place(s.Key)
	for {
		l.mu.Lock()
		over := p.process != s.Run.Mark
		l.mu.Unlock()
		if over {
			break
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(5 * time.Second):
		}
	}
	if l.risk() {
		return
	}
	_, _ = l.engine.Tell(ctx, s.Key, Ended{Mark: s.Run.Mark, Outcome: Failed, Err: "exit status 1"})
}

// lastStop returns the line of the refusal that the transcript ends with, or -1.
func (p *place) lastStop() int {
	for i := len(p.transcript) - 1; i >= 0; i-- {
		switch p.transcript[i].(type) {
		case Limited:
			return i
		case Progressed, Cancelled:
			return -1
		}
	}
	return -1
}

func (m *machine) write(p *place, ev Event) {
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
	switch m.dice.IntN(9) {
	case 0, 1:
		if free {
			m.refuse(p)
		}
	case 2:
		if free {
			m.write(p, Prompted{At: time.Now()})
			m.write(p, Progressed{At: time.Now()})
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
			m.write(p, Prompted{At: time.Now()})
			m.refuse(p)
		}
	case 6:
		if free {
			m.write(p, Cancelled{At: time.Now()})
		}
	}
	for _, p := range m.places {
		m.work(p)
	}
}

// work lets the command that runs do something.
func (m *machine) work(p *place) {
	if p.process == "" || m.dice.IntN(3) == 0 {
		return
	}
	m.write(p, Prompted{At: p.began})
	switch m.dice.IntN(3) {
	case 0:
		m.write(p, Progressed{At: time.Now()})
	case 1:
		m.refuse(p)
		if m.dice.IntN(2) == 0 {
			return // it runs on and does nothing more
		}
	}
	m.log("%s command %s ends", p.key.ID, p.process)
	p.process = ""
}

// order lets a person or the configuration change what is wanted.
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
		_, err = l.engine.Tell(ctx, key, Pause{})
	case 2, 3:
		_, err = l.engine.Tell(ctx, key, Unpause{})
	case 4:
		_, err = l.engine.Tell(ctx, key, Retry{})
	case 5:
		_, err = l.engine.Tell(ctx, key, Forget{})
	case 6:
		m.rules = m.wishes(margin)
		err = l.engine.SetRules(ctx, m.rules)
	}
	if err == nil {
		l.sync() // an order that was answered is on disk
	}
}

// wishes are rules of some kind.
func (m *machine) wishes(margin time.Duration) Rules {
	rules := DefaultRules()
	rules.Margin, rules.Stagger = margin, margin/8
	rules.MaxConcurrent = 1 + int(margin%3)
	if margin%4 == 0 {
		rules.Exclude = []string{"/src/s1"}
	}
	if margin%5 == 0 {
		rules.Open = func(at time.Time) time.Time { // the first half of each hour
			if at.Minute() < 30 {
				return at
			}
			return at.Truncate(time.Hour).Add(time.Hour)
		}
	}
	return rules
}

// turn lets time pass and something happen.
func (m *machine) turn() {
	time.Sleep(time.Duration(m.dice.Int64N(int64(2 * time.Minute))))
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

// revive starts the next daemon where the last one died.
func (m *machine) revive(mortal bool) {
	l := m.life
	synctest.Wait()
	if l.ctx.Err() == nil {
		return
	}
	<-l.done
	l.others.Wait()
	m.start(mortal)
}

func (m *machine) stop() {
	m.life.die()
	<-m.life.done
	m.life.others.Wait()
}

// settle lets people leave and the agents recover: then every interruption must
// end.
func (m *machine) settle() {
	m.stop()
	m.mu.Lock()
	m.rules, m.paused = DefaultRules(), false
	for _, p := range m.places {
		p.owned, p.exec = false, false
	}
	m.mu.Unlock()
	m.start(false)
	for range 30 {
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		m.mu.Lock()
		for _, p := range m.places {
			if p.process != "" {
				m.write(p, Progressed{At: time.Now()})
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
		if s.State == GaveUp || s.State == Parked || s.Paused {
			continue
		}
		if stop := m.place(s.Key).lastStop(); s.State != Watching {
			m.never("%s: an interruption (line %d) was forgotten in state %s: %s", s.Key.ID, stop, s.State, s.Reason)
		}
	}
}

// Whatever happens: never two commands for one interruption, never one over a
// person or exec, never against the rules in force, and nobody is forgotten.
func TestRandomHistoriesOfAMachine(t *testing.T) {
	t.Parallel()
	sent, deaths := 0, 0
	for seed := range uint64(histories) {
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
					require.LessOrEqual(t, n, DefaultRules().Backoff.MaxRetries*(1+m.lives), "line %d", line)
				}
			}
			sent, deaths = sent+m.sent, deaths+m.lives
		})
		if t.Failed() {
			return
		}
	}
	t.Logf("%d histories, %d commands, %d daemons", histories, sent, deaths)
	require.Greater(t, sent, histories, "the histories are worth something")
}
