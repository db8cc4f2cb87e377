package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// life is one run of a daemon, until it is killed.
type life struct {
	*machine
	engine  *Engine
	dead    bool
	ctx     context.Context // done when it was killed
	cancel  context.CancelFunc
	done    chan struct{}
	pending map[resume.Key][]byte // not on disk yet
	read    map[resume.Key]int
	known   map[resume.Key]bool // an earlier daemon has read something of it
	dice    *rand.Rand          // decides when it is killed
	mortal  bool
	others  sync.WaitGroup
}

// start starts a daemon with what is on disk.
func (m *machine) start(mortal bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lives++
	ctx, cancel := context.WithCancel(m.t.Context())
	l := &life{
		machine: m, ctx: ctx, cancel: cancel, done: make(chan struct{}), pending: make(map[resume.Key][]byte), read: make(map[resume.Key]int), known: make(map[resume.Key]bool),
		dice: rand.New(rand.NewPCG(m.dice.Uint64(), 3)), mortal: mortal,
	}
	var known []resume.Session
	for _, p := range m.places {
		l.read[p.key], l.known[p.key] = p.cursor, p.cursor > 0
		if data, ok := m.disk[p.key]; ok {
			var s resume.Session
			require.NoError(m.t, json.Unmarshal(data, &s))
			known = append(known, s)
		}
	}
	chance := rand.New(rand.NewPCG(m.dice.Uint64(), 5))
	l.engine = New(Options{
		Rules: m.rules, Sessions: known, Paused: m.paused, AliveAt: m.alive, Act: l.act, Changed: l.changed, Rand: chance.Float64,
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

// die kills the daemon: nothing that it does from here on has an effect.
func (l *life) die() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead {
		return
	}
	l.dead, l.died = true, time.Now()
	l.log("CRASH")
	for _, p := range l.places {
		if p.leased == l {
			p.leased = nil
		}
	}
	l.cancel()
}

// risk kills the daemon here, now and then.
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

// changed is called with every step, in the engine's goroutine.
func (l *life) changed(c resume.Change) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead {
		return
	}
	data, err := json.Marshal(c.After)
	require.NoError(l.t, err)
	if l.pending[c.After.Key] = data; c.Dropped || !c.After.WorthKeeping() {
		l.pending[c.After.Key] = nil
	}
	_, expired := c.Event.(resume.Expired)
	if c.Dropped || expired {
		l.forgets++
		p := l.machine.place(c.After.Key)
		p.forgotten[p.lastStop(l.read[p.key])] = true
	}
	l.log("%s %T %s -> %s", c.After.Key.ID, c.Event, c.Before.State, c.After.State)
	if c.ClaimedRun() != nil {
		l.judgeBegin(c)
	}
	if queued, ok := c.Event.(resume.HeldBack); ok {
		l.judgeQueue(c.After, queued.Why.By)
	}
}

// judgeQueue checks that a session does not wait for a limit of another provider.
func (l *life) judgeQueue(s resume.Session, behind string) {
	for other := range l.engine.book.all() {
		key := other.Key
		if other.Provider != s.Provider && strings.Contains(behind, "session "+key.ID) {
			l.never("%s waits for a session of another provider", s.Key.ID)
		}
	}
}

// judgeBegin checks a resume that begins against the current rules.
func (l *life) judgeBegin(c resume.Change) {
	s, rules := c.After, l.engine.opts.Rules
	switch {
	case l.engine.opts.Paused:
		l.never("a resume began while all is paused")
	case c.Before.Paused:
		l.never("a resume of a paused session began")
	case rules.NextAllowed != nil && rules.NextAllowed(c.At).After(c.At):
		l.never("a resume began outside of the hours")
	case rules.Excludes(s.Cwd):
		l.never("a resume began in an excluded directory")
	case l.engine.running > max(1, rules.MaxConcurrent):
		l.never("%d resumes at a time, where %d are allowed", l.engine.running, rules.MaxConcurrent)
	case c.Before.RetryAskedAt.IsZero() && c.Before.LiftedAt.IsZero() && c.At.Before(c.Before.Limit.Reset.At):
		l.never("a resume began before the stated reset")
	}
	for other := range l.engine.book.all() {
		if other.Key == s.Key || other.AccountKey() != s.AccountKey() || len(other.Attempts) == 0 {
			continue
		}
		last := other.Attempts[len(other.Attempts)-1].StartedAt
		if limited := l.engine.account(s.AccountKey()).limitedAt; !limited.IsZero() && other.State == resume.Resuming && last.After(limited) && c.At.Sub(last) < probeTime(rules) {
			l.never("two sessions of one account try at a time")
		}
		if other.State == resume.Resuming && c.At.Sub(last) < rules.Stagger {
			l.never("two sessions of one account begin within the stagger")
		}
	}
}

// sync writes what is known to disk.
func (l *life) sync() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead {
		return
	}
	l.alive = time.Now()
	for _, p := range l.places {
		data, changed := l.pending[p.key]
		dropped := changed && data == nil
		if dropped {
			delete(l.disk, p.key)
		} else if changed {
			l.disk[p.key] = data
		}
		if dropped || l.dice.IntN(2) == 0 { // a dropped session was read long ago
			p.cursor = l.read[p.key]
		}
	}
	clear(l.pending)
}

// look reads the new lines of all sessions, or of one.
func (l *life) look(ctx context.Context, only *place) {
	l.mu.Lock()
	var observations []resume.Observation
	for _, p := range l.places {
		if only != nil && only != p {
			continue
		}
		for i := l.read[p.key]; i < len(p.transcript); i++ {
			observations = append(observations, resume.Observation{
				Key: p.key, Account: "bot:default", Provider: p.provider, Cwd: p.dir, Kind: p.kind,
				Made: p.born, Late: l.known[p.key] && i > 0, Pos: resume.Position{Epoch: "1", Offset: int64(i + 1)}, Event: p.transcript[i],
			})
		}
	}
	l.mu.Unlock()
	if l.engine.Observe(ctx, observations) != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, sight := range observations {
		l.read[sight.Key] = max(l.read[sight.Key], int(sight.Pos.Offset))
	}
}

// recover does what a daemon does at its start.
func (l *life) recover(ctx context.Context, known []resume.Session) {
	var gone []resume.Session
	for _, s := range known {
		l.mu.Lock()
		lives := s.Run != nil && l.machine.place(s.Key).process == s.Run.Mark
		l.mu.Unlock()
		switch {
		case s.Run == nil:
		case lives:
			_, _ = l.engine.Apply(ctx, s.Key, resume.Started{Mark: s.Run.Mark, Process: resume.Process{PID: 7}})
			l.others.Go(func() { l.follow(ctx, s) })
		default:
			gone = append(gone, s)
		}
	}
	l.look(ctx, nil)
	for _, s := range gone {
		l.mu.Lock()
		begun := l.machine.place(s.Key).begun[s.Run.Mark]
		l.mu.Unlock()
		if begun { // the command has left traces
			_, _ = l.engine.Apply(ctx, s.Key, resume.Ended{Mark: s.Run.Mark, Outcome: resume.Failed, Err: "exit status 1"})
		} else {
			_, _ = l.engine.Apply(ctx, s.Key, resume.Lost{Mark: s.Run.Mark})
		}
	}
}

// act does what a daemon does when a session enters Resuming. It may be killed at every point of it.
func (l *life) act(ctx context.Context, s resume.Session) {
	mark := s.Run.Mark
	p := l.machine.place(s.Key)
	if !l.lease(p) {
		_, _ = l.engine.Apply(ctx, s.Key, resume.NotSent{Mark: mark, Why: "exec looks after it"})
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
	l.look(ctx, nil)
	now, err := l.engine.Session(ctx, s.Key)
	if err != nil || now.Run == nil || now.Run.Mark != mark {
		return
	}
	if why, err := l.engine.Superseded(ctx, s.Key); err != nil || why.Kind != "" {
		_, _ = l.engine.Apply(ctx, s.Key, resume.NotSent{Mark: mark, Known: why, Then: resume.Park})
		return
	}
	if why := now.Overdue(); why.Kind != "" {
		l.ask(now)
		_, _ = l.engine.Apply(ctx, s.Key, resume.NotSent{Mark: mark, Known: why, Then: resume.Park})
		return
	}
	if l.owned(p) {
		_, _ = l.engine.Apply(ctx, s.Key, resume.NotSent{Mark: mark, Why: "a person's process holds it"})
		return
	}
	now, err = l.engine.Apply(ctx, s.Key, resume.Sending{Mark: mark})
	if err != nil || now.Run == nil || now.Run.Mark != mark || !l.run(p, mark) {
		return
	}
	if l.risk() {
		return
	}
	_, _ = l.engine.Apply(ctx, s.Key, resume.Started{Mark: mark, Process: resume.Process{PID: 7}})
	l.follow(ctx, s)
}

// ask checks that a person is asked about a session only after an absence.
func (l *life) ask(s resume.Session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asks++
	if l.away.Before(s.LimitedAt) {
		l.never("%s: somebody is asked about it, although nobody was away", s.Key.ID)
	}
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

// run is the critical point: a command acts on the session. No person and no exec can have come since
// look, because the world changes only between turns.
func (l *life) run(p *place, mark string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead {
		return false
	}
	stop := p.lastStop(len(p.transcript))
	switch {
	case p.process != "":
		l.never("%s: a second command while the first one runs", p.key.ID)
	case p.owned:
		l.never("%s: a command while an owner lives", p.key.ID)
	case p.exec:
		l.never("%s: a command while exec looks after it", p.key.ID)
	case p.forgotten[stop]:
		l.never("%s: a command for an interruption that was forgotten", p.key.ID)
	case stop < 0:
		l.never("%s: a command for a session that is not interrupted", p.key.ID)
	case l.machine.replaced(p, stop, l.machine.rules) != nil:
		l.never("%s: a command although a person went on in its directory", p.key.ID)
	case p.missed == stop:
		l.never("%s: a command although its time passed long ago, while nobody was there", p.key.ID)
	}
	l.log("SENT %s %s", p.key.ID, mark)
	l.sent++
	p.sends[stop]++
	if p.ordered {
		p.wanted = stop
	}
	p.process, p.began, p.begun[mark], p.ordered = mark, time.Now(), true, false
	return true
}

// follow waits for the command and reports how it ended.
func (l *life) follow(ctx context.Context, s resume.Session) {
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
	_, _ = l.engine.Apply(ctx, s.Key, resume.Ended{Mark: s.Run.Mark, Outcome: resume.Failed, Err: "exit status 1"})
}
