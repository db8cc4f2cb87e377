package engine

import (
	"iter"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"resumed/internal/resume"
)

// book is all sessions, indexed for the questions of every step. The cost of an answer depends on its
// size, not on the number of sessions.
type book struct {
	sessions map[resume.Key]*resume.Session // replaced, never changed
	byID     tree[resume.Key]
	dirs     map[dirKey]*dirSessions
}

func newBook() book {
	return book{
		sessions: make(map[resume.Key]*resume.Session),
		byID:     newTree(compareKeys),
		dirs:     make(map[dirKey]*dirSessions),
	}
}

func (b *book) get(key resume.Key) (resume.Session, bool) {
	if s := b.sessions[key]; s != nil {
		return *s, true
	}
	return resume.Session{}, false
}

func (b *book) put(s resume.Session) (before resume.Session, known bool) {
	if old := b.sessions[s.Key]; old != nil {
		before, known = *old, true
		b.unindexDir(old)
		s.Key = old.Key
	} else {
		s.Key.ID = strings.Clone(s.Key.ID) // it may be part of a longer string, which would stay in memory
		b.byID.ReplaceOrInsert(s.Key)
	}
	b.sessions[s.Key] = &s
	b.indexDir(&s)
	return before, known
}

func (b *book) drop(key resume.Key) {
	if s := b.sessions[key]; s != nil {
		b.unindexDir(s)
		b.byID.Delete(key)
		delete(b.sessions, key)
	}
}

// all returns every session in the order of their ids, each in its current state when it is yielded.
func (b *book) all() iter.Seq[resume.Session] {
	return b.where(func(*resume.Session) bool { return true })
}

// active returns the sessions that are stopped, run, or are worth storing. Most are none of that.
func (b *book) active() iter.Seq[resume.Session] {
	return b.where(func(s *resume.Session) bool { return s.Interrupted() || s.Run != nil || s.WorthKeeping() })
}

// where returns the sessions that fit now, in the order of their ids, each in its current state when it
// is yielded.
func (b *book) where(fits func(*resume.Session) bool) iter.Seq[resume.Session] {
	var keys []resume.Key
	for key := range b.byID.from(resume.Key{}) {
		if fits(b.sessions[key]) {
			keys = append(keys, key)
		}
	}
	return b.read(keys)
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

func (b *book) name(key resume.Key) string {
	var beside []resume.Key
	neighbour := func(other resume.Key) bool {
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

// fitting returns the sessions that a text may mean: those with an id that begins with it, with or
// without the agent's name before it, and those of a project of that name.
func (b *book) fitting(text string) iter.Seq[resume.Session] {
	agent, id, named := strings.Cut(text, "/")
	return b.where(func(s *resume.Session) bool {
		return strings.HasPrefix(s.Key.ID, text) || named && s.Key.Agent == agent && strings.HasPrefix(s.Key.ID, id) || filepath.Base(s.Cwd) == text
	})
}

// A session's name is the short form of its id that people see and type: a prefix that no other session
// had when the name was given. It never changes, because it may already be in a notice, on a screen or
// in a person's memory: a later session with the same prefix gets a longer name.

// nameBeside returns the shortest prefix of a session's id that is not shared with its neighbours in
// the order of all ids. The agent's name is put before an id that two agents use, and before one that a
// command would take for an option.
func nameBeside(key resume.Key, beside []resume.Key) string {
	length := shortest(key.ID)
	for _, other := range beside {
		if other.ID == key.ID {
			return key.String()
		}
		length = max(length, common(key.ID, other.ID)+1)
	}
	if strings.HasPrefix(key.ID, "-") {
		return key.String()
	}
	for length < len(key.ID) && (!utf8.RuneStart(key.ID[length]) || key.ID[length-1] == '-') {
		length++
	}
	return key.ID[:min(length, len(key.ID))]
}

func common(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// shortest returns the minimum length of a name, in bytes: four, after a prefix that all ids of an
// agent share, such as "ses_". An id that begins with the time (a UUID of version 7) has the same first
// bytes as all others for weeks: its name has the whole time, so that no id of a later day has the same
// prefix.
func shortest(id string) int {
	const uuid, time = len("01990000-0000-7000-8000-000000000000"), len("01990000-0000")
	if len(id) == uuid && id[8] == '-' && id[time:time+2] == "-7" {
		return time
	}
	prefix := strings.IndexByte(id[:min(8, len(id))], '_') + 1
	return min(prefix+4, len(id))
}

type dirKey struct{ agent, dir string }

func dirOf(s *resume.Session) dirKey { return dirKey{s.Key.Agent, s.Cwd} }

type dirSessions struct {
	working tree[instant] // by when they began
	stopped map[resume.Key]struct{}
}

func (b *book) indexDir(s *resume.Session) {
	if s.Cwd == "" || s.IsPlaceholder() {
		return
	}
	dir := b.dirs[dirOf(s)]
	if dir == nil {
		dir = &dirSessions{working: newTree(instant.compare), stopped: make(map[resume.Key]struct{})}
		b.dirs[dirOf(s)] = dir
	}
	if s.Interrupted() {
		dir.stopped[s.Key] = struct{}{}
	} else {
		dir.working.ReplaceOrInsert(instant{s.BornAt, s.Key})
	}
}

func (b *book) unindexDir(s *resume.Session) {
	dir := b.dirs[dirOf(s)]
	if dir == nil {
		return
	}
	delete(dir.stopped, s.Key)
	dir.working.Delete(instant{s.BornAt, s.Key})
	if dir.working.Len() == 0 && len(dir.stopped) == 0 {
		delete(b.dirs, dirOf(s))
	}
}

func (b *book) stoppedIn(at dirKey) iter.Seq[resume.Session] {
	dir := b.dirs[at]
	if dir == nil {
		return b.read(nil)
	}
	return b.read(slices.SortedFunc(maps.Keys(dir.stopped), compareKeys))
}

// begunSince returns the sessions of a directory that began after a time and are not stopped.
func (b *book) begunSince(at dirKey, since time.Time) iter.Seq[resume.Session] {
	return func(yield func(resume.Session) bool) {
		dir := b.dirs[at]
		if dir == nil {
			return
		}
		for one := range dir.working.from(instant{at: since.Add(1)}) {
			if s, _ := b.get(one.key); !yield(s) {
				return
			}
		}
	}
}
