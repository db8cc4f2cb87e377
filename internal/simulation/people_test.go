package simulation

import (
	"context"
	"errors"
	"time"

	"resumed/internal/notify"
	"resumed/internal/resume"
)

// phone is one way to reach people, and what they heard there.
type phone struct {
	*world
	name string
	down bool

	times    map[string]int             // how often each notice came
	allowed  map[string]int             // and how often it may come besides the first time
	open     map[string]bool            // came, and that it did is not on disk
	calls    map[string]map[string]bool // the notices that told of each call, by session and call
	lastTold map[resume.Key]time.Time
}

func newPhone(w *world, name string) *phone {
	return &phone{
		world: w, name: name, times: make(map[string]int), allowed: make(map[string]int), open: make(map[string]bool),
		calls: make(map[string]map[string]bool), lastTold: make(map[resume.Key]time.Time),
	}
}

// receive is a notice that reaches a person. The caller holds mu.
func (p *phone) receive(n notify.Notice) {
	p.counts.told++
	p.times[n.ID]++
	p.open[n.ID] = true
	if p.times[n.ID] > 1+p.allowed[n.ID] {
		p.never("%s got one notice %d times", p.name, p.times[n.ID])
	}
	for _, v := range n.Sessions {
		call := v.Program
		told := p.calls[v.ID+" "+call]
		if told == nil {
			told = make(map[string]bool)
			p.calls[v.ID+" "+call] = told
		}
		told[n.ID] = true
		p.lastTold[v.Key()] = time.Now()
		p.log("%s hears %s of %s: %s", p.name, n.Event, v.ID, call)
		if len(told) > 1 {
			p.never("%s was told of %s by two notices: %s", p.name, v.ID, call)
		}
	}
}

// recorded notes that it is on disk that a notice came.
func (w *world) recorded(id, channel string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.phones {
		if p.name == channel {
			delete(p.open, id)
		}
	}
}

// unrecorded lets come once more what the daemon that ended could not write down.
func (w *world) unrecorded() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.phones {
		for id := range p.open {
			p.allowed[id]++
		}
		clear(p.open)
	}
}

// heardAll holds what people heard against what they should have.
func (w *world) heardAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.places {
		for call, at := range p.calls {
			for _, phone := range w.phones {
				// Of two calls that are gathered into one notice the later one is told.
				if len(phone.calls[p.key.ID+" "+call]) == 0 && phone.lastTold[p.key].Before(at) {
					w.never("%s was not told of %s: %s", phone.name, p.key.ID, call)
				}
			}
		}
	}
}

// line is a phone as one daemon has it.
type line struct {
	life  *life
	phone *phone
}

func (l *line) Send(_ context.Context, n notify.Notice) (string, error) {
	dice, alive := l.life.pass("ring the %s", l.phone.name)
	if !alive {
		return "", errDead
	}
	l.life.mu.Lock()
	lost := !l.life.calm && dice%10 == 0
	if l.phone.down {
		l.life.mu.Unlock()
		return "", errors.New("nobody answers")
	}
	l.phone.receive(n)
	if lost {
		l.phone.allowed[n.ID]++
		delete(l.phone.open, n.ID)
	}
	l.life.mu.Unlock()
	if _, alive := l.life.pass("answer of the %s", l.phone.name); !alive {
		return "", errDead
	}
	if lost {
		return "", errors.New("the answer was lost")
	}
	return "", nil
}
