package engine

import (
	"iter"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"resumed/internal/resume"
)

// book is all sessions, indexed by what the engine asks for at every step. An answer costs what it is
// long, however many sessions there are.
type book struct {
	sessions map[resume.Key]*resume.Session // replaced, never changed
	byID     *tree[resume.Key]
	active   map[resume.Key]struct{} // the sessions that isActive names
	dirs     map[dirKey]*dirSessions
	tally    map[string]*resume.Tally // by agent
	looks    int                      // at sessions: tests count them
}

func newBook() book {
	return book{
		sessions: make(map[resume.Key]*resume.Session),
		byID:     newTree(compareKeys),
		active:   make(map[resume.Key]struct{}),
		dirs:     make(map[dirKey]*dirSessions),
		tally:    make(map[string]*resume.Tally),
	}
}

// isActive reports whether the session is stopped, running, or worth storing. Most sessions are not.
func isActive(s *resume.Session) bool { return s.Interrupted() || s.Run != nil || s.WorthKeeping() }

// get returns a session, and whether it is known.
func (b *book) get(key resume.Key) (resume.Session, bool) {
	if s := b.shared(key); s != nil {
		return *s, true
	}
	return resume.Session{}, false
}

// shared returns a session that must not be changed; nil: it is not known.
func (b *book) shared(key resume.Key) *resume.Session {
	b.looks++
	return b.sessions[key]
}

// put stores a session and returns the one it replaces.
func (b *book) put(s resume.Session) (before resume.Session, known bool) {
	if old := b.shared(s.Key); old != nil {
		before, known = *old, true
		b.unindex(old)
		s.Key = old.Key
	} else {
		s.Key.ID = strings.Clone(s.Key.ID) // it may be cut from something longer
		b.byID.ReplaceOrInsert(s.Key)
	}
	b.sessions[s.Key] = &s
	b.index(&s)
	return before, known
}

// drop forgets a session.
func (b *book) drop(key resume.Key) {
	if s := b.shared(key); s != nil {
		b.unindex(s)
		b.byID.Delete(key)
		delete(b.sessions, key)
	}
}

func (b *book) index(s *resume.Session) {
	if isActive(s) {
		b.active[s.Key] = struct{}{}
	}
	tally := b.tally[s.Key.Agent]
	if tally == nil {
		tally = new(resume.Tally)
		b.tally[s.Key.Agent] = tally
	}
	if !s.IsPlaceholder() { // else there is no such session
		tally[s.State]++
	}
	b.indexDir(s)
}

func (b *book) unindex(s *resume.Session) {
	delete(b.active, s.Key)
	if !s.IsPlaceholder() {
		b.tally[s.Key.Agent][s.State]--
	}
	b.unindexDir(s)
}

// all returns every session in the order of their ids, each as it is when its turn comes.
func (b *book) all() iter.Seq[resume.Session] {
	keys := make([]resume.Key, 0, len(b.sessions))
	b.byID.Ascend(func(key resume.Key) bool {
		keys = append(keys, key)
		return true
	})
	return b.read(keys)
}

// activeSessions returns the active sessions, each as it is when its turn comes.
func (b *book) activeSessions() iter.Seq[resume.Session] {
	return b.read(slices.SortedFunc(maps.Keys(b.active), compareKeys))
}

func (b *book) read(keys []resume.Key) iter.Seq[resume.Session] {
	return func(yield func(resume.Session) bool) {
		for _, key := range keys {
			if s, known := b.get(key); known && !yield(s) {
				return
			}
		}
	}
}

// readFrom returns the sessions of an agent that are read from a transcript. It goes
// through all sessions: a transcript is seldom renamed.
func (b *book) readFrom(agent, transcript string) iter.Seq[resume.Session] {
	var found []resume.Key
	for key, s := range b.sessions {
		if key.Agent == agent && s.Transcript == transcript {
			found = append(found, key)
		}
	}
	return b.read(found)
}

// name returns a name for a session, known or new.
func (b *book) name(key resume.Key) string {
	var beside []resume.Key
	neighbour := func(other resume.Key) bool {
		b.looks++
		if other == key {
			return true
		}
		beside = append(beside, other)
		return false
	}
	b.byID.DescendLessOrEqual(key, neighbour)
	b.byID.AscendGreaterOrEqual(key, neighbour)
	return nameBeside(key, beside)
}

// fitting returns the sessions that a text may mean, each once: those whose id begins
// so, with or without the agent's name before it, and those of a project of that name.
func (b *book) fitting(text string) iter.Seq[resume.Session] {
	fit := make(map[resume.Key]struct{})
	begins := func(agent, id string) {
		for key := range b.byID.from(resume.Key{ID: id}) {
			if b.looks++; !strings.HasPrefix(key.ID, id) {
				return
			}
			if agent == "" || key.Agent == agent {
				fit[key] = struct{}{}
			}
		}
	}
	if text != "" {
		begins("", text)
	}
	if agent, id, ok := strings.Cut(text, "/"); ok && agent != "" {
		begins(agent, id)
	}
	for at, dir := range b.dirs {
		if filepath.Base(at.dir) == text {
			for _, key := range dir.all() {
				fit[key] = struct{}{}
			}
		}
	}
	return b.read(slices.Collect(maps.Keys(fit)))
}
