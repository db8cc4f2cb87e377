package engine

import (
	"iter"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"resumed/internal/resume"
)

// book is all sessions, and what is asked of them all the time: who has a name like
// this, who is stopped, how many there are. Each answer costs what it is long, and
// not how many sessions there are.
type book struct {
	sessions sorted[*entry]      // by id
	whole    map[*entry]struct{} // those that are not quiet
	forms    forms
	places   map[workplace]*meeting
	tally    map[string]*resume.Tally // by agent

	probe  entry      // what is looked for,
	probed resume.Key // by this key
	looks  int        // at sessions: tests count them
}

func newBook() book {
	return book{
		sessions: sorted[*entry]{compare: compareEntries},
		whole:    make(map[*entry]struct{}),
		forms:    make(forms),
		places:   make(map[workplace]*meeting),
		tally:    make(map[string]*resume.Tally),
		probe:    entry{common: new(commonForm)},
	}
}

// like returns an entry that finds those of a session, until the next call.
func (b *book) like(key resume.Key) *entry {
	if key != b.probed {
		b.probed, b.probe.common.agent = key, key.Agent
		b.probe.identify("", key.ID)
	}
	return &b.probe
}

func (b *book) entry(key resume.Key) *entry {
	b.looks++
	e, _ := b.sessions.get(b.like(key))
	return e
}

// get returns a session, and whether it is known.
func (b *book) get(key resume.Key) (resume.Session, bool) {
	e := b.entry(key)
	if e == nil {
		return resume.Session{}, false
	}
	return e.session(), true
}

// standing returns a session that must not be changed; nil: it is not known.
func (b *book) standing(key resume.Key) *resume.Session {
	e := b.entry(key)
	switch {
	case e == nil:
		return nil
	case e.whole() != nil:
		return e.whole()
	}
	return new(e.session())
}

// put keeps a session and returns what was known of it.
func (b *book) put(s resume.Session) (before resume.Session, known bool) {
	e := b.entry(s.Key)
	if known = e != nil; known {
		before = e.session()
		b.uncount(e, before)
	} else {
		s.Key.ID = strings.Clone(s.Key.ID) // it may be cut from something longer
		e = new(entry)
	}
	e.put(s, b.forms)
	if !known {
		b.sessions.add(e)
	}
	b.count(e, s)
	return before, known
}

// drop forgets a session.
func (b *book) drop(s resume.Session) {
	e := b.entry(s.Key)
	if e == nil {
		return
	}
	b.uncount(e, e.session())
	b.sessions.remove(e)
	b.forms.release(e.common)
}

func (b *book) count(e *entry, s resume.Session) {
	if e.whole() != nil {
		b.whole[e] = struct{}{}
	}
	tally := b.tally[s.Key.Agent]
	if tally == nil {
		tally = new(resume.Tally)
		b.tally[s.Key.Agent] = tally
	}
	if !s.StandsIn() { // else it is no session
		tally[s.State]++
	}
	b.settle(e, s)
}

func (b *book) uncount(e *entry, s resume.Session) {
	delete(b.whole, e)
	if !s.StandsIn() {
		b.tally[s.Key.Agent][s.State]--
	}
	b.unsettle(e, s)
}

// all returns every session in the order of their ids, each as it is when its turn
// comes.
func (b *book) all() iter.Seq[resume.Session] { return b.read(b.sessions.all()) }

// stirring returns the sessions that are not quiet: all that were stopped are among
// them.
func (b *book) stirring() iter.Seq[resume.Session] { return b.read(slices.Collect(maps.Keys(b.whole))) }

// awake returns the same ones as they stand now, which must not be changed.
func (b *book) awake() []*resume.Session {
	b.looks += len(b.whole)
	awake := make([]*resume.Session, 0, len(b.whole))
	for e := range b.whole {
		awake = append(awake, e.whole())
	}
	return awake
}

func (b *book) read(entries []*entry) iter.Seq[resume.Session] {
	return func(yield func(resume.Session) bool) {
		for _, e := range entries {
			b.looks++
			if !yield(e.session()) {
				return
			}
		}
	}
}

// readFrom returns the sessions of an agent that are read from a transcript. It
// looks at all: a transcript is seldom renamed.
func (b *book) readFrom(agent, transcript string) iter.Seq[resume.Session] {
	var found []*entry
	for _, e := range b.sessions.all() {
		if e.common.agent == agent && e.readFrom(transcript) {
			found = append(found, e)
		}
	}
	return b.read(found)
}

// name returns a name for a session, known or new.
func (b *book) name(key resume.Key) string {
	beside := make([]resume.Key, 0, 2)
	probe := b.like(key)
	if e, ok := b.sessions.before(probe); ok {
		beside = append(beside, e.key())
	}
	for e := range b.sessions.from(probe) {
		if compareEntries(e, probe) != 0 {
			beside = append(beside, e.key())
			break
		}
	}
	b.looks += len(beside)
	return nameBeside(key, beside)
}

// fitting returns the sessions that a text may mean, each once: those whose id begins
// so, with or without the agent's name before it, and those of a project of that name.
func (b *book) fitting(text string) iter.Seq[resume.Session] {
	fit := make(map[*entry]struct{})
	begins := func(agent, id string) {
		for e := range b.sessions.from(b.like(resume.Key{ID: id})) {
			if b.looks++; !strings.HasPrefix(e.key().ID, id) {
				return
			}
			if agent == "" || e.common.agent == agent {
				fit[e] = struct{}{}
			}
		}
	}
	if text != "" {
		begins("", text)
	}
	if agent, id, ok := strings.Cut(text, "/"); ok && agent != "" {
		begins(agent, id)
	}
	for at, met := range b.places {
		if filepath.Base(at.dir) == text {
			for _, e := range met.all() {
				fit[e] = struct{}{}
			}
		}
	}
	return b.read(slices.Collect(maps.Keys(fit)))
}
