package engine

import (
	"bytes"
	"cmp"
	"hash/maphash"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"resumed/internal/resume"
	"resumed/internal/uuidtext"
)

// entry is a session as it is kept. Most were never stopped: of these there may be
// a hundred thousand. So they are kept small, and what they have in common is kept
// once.
type entry struct {
	text   string // what stands in its transcript's name before the id, and the id
	common *commonForm

	inode                      uint64 // Seen.Epoch, where form has none
	gen                        uint32
	kind                       uint8 // of kinds
	name                       uint8 // how much of the id it is
	idAt                       uint8 // where the id begins in text,
	packed                     bool  // of which it takes half its length
	offset                     int64
	born, found, moved, prompt int64 // UnixNano
}

// form is what quiet sessions have in common.
type form struct {
	agent, account, provider, cwd, reason string

	dir   string // where the transcript lies, with the last slash
	after string // what stands in its name after the id
	named bool   // the id stands in its name

	epoch string // one that is not of a file
}

// forms are those that are in use, by a hash of theirs: as the key of a map, each would be kept twice.
type forms map[uint64]*commonForm

var formSeed = maphash.MakeSeed()

type commonForm struct {
	form
	users int
	next  *commonForm     // of the same hash
	whole *resume.Session // never changed; nil: it is quiet. One that is not has nothing in common with others
}

var kinds = []string{"", resume.Interactive, resume.Headless}

const (
	noTime = math.MinInt64 // the zero time

	longName = math.MaxUint8 // the agent's name stands before the id
)

// put keeps a session in the entry, as small as it goes.
func (e *entry) put(s resume.Session, known forms) {
	old := e.common
	if own, common, ok := pack(s); ok {
		*e = own
		e.common = known.take(common)
	} else {
		*e = entry{text: e.text, idAt: e.idAt, packed: e.packed}
		if old == nil {
			e.identify("", s.Key.ID)
		}
		own := &struct { // at once, as there may be thousands within a second
			form    commonForm
			session resume.Session
		}{session: s}
		own.form.agent, own.form.whole = s.Key.Agent, &own.session
		e.common = &own.form
	}
	known.release(old)
}

// identify keeps an id, with what stands before it. It returns false where that is too long.
func (e *entry) identify(before, id string) bool {
	if len(before) > math.MaxUint8 {
		return false
	}
	e.idAt = uint8(len(before))
	var raw [uuidtext.PackedLen]byte
	if raw, e.packed = uuidtext.Pack(id); e.packed {
		var room [64]byte
		e.text = string(append(append(room[:0], before...), raw[:]...))
	} else if e.text = before + id; before == "" || id == "" {
		e.text = strings.Clone(e.text) // it must not keep what it was cut from in memory
	}
	return true
}

// whole returns the session where more is known of it than that it works; else nil.
func (e *entry) whole() *resume.Session { return e.common.whole }

// appendID appends the session's id.
func (e *entry) appendID(to []byte) []byte {
	if !e.packed {
		return append(to, e.text[e.idAt:]...)
	}
	return uuidtext.Append(to, e.text[e.idAt:])
}

// key returns the session's key.
func (e *entry) key() resume.Key {
	if whole := e.whole(); whole != nil {
		return whole.Key
	}
	return resume.Key{Agent: e.common.agent, ID: string(e.appendID(make([]byte, 0, uuidtext.Len)))}
}

// compareEntries is compareNames.
func compareEntries(a, b *entry) int {
	if a.packed && b.packed {
		return cmp.Or(strings.Compare(a.text[a.idAt:], b.text[b.idAt:]), strings.Compare(a.common.agent, b.common.agent))
	}
	var roomA, roomB [64]byte
	return cmp.Or(bytes.Compare(a.appendID(roomA[:0]), b.appendID(roomB[:0])), strings.Compare(a.common.agent, b.common.agent))
}

// session returns the session that is kept in the entry.
func (e *entry) session() resume.Session {
	if whole := e.whole(); whole != nil {
		return *whole
	}
	f := e.common
	s := resume.Session{
		Account: f.account, Provider: f.provider, Cwd: f.cwd, Reason: f.reason,
		Kind: kinds[e.kind], Seen: resume.Position{Epoch: f.epoch, Offset: e.offset}, State: resume.Watching,
		BornAt: unpackTime(e.born), FoundAt: unpackTime(e.found), MovedAt: unpackTime(e.moved), PromptedAt: unpackTime(e.prompt),
	}
	if f.epoch == "" && e.inode > 0 {
		s.Seen.Epoch = unpackEpoch(e.inode, e.gen)
	}
	s.Key, s.Transcript = e.named()
	if e.name == longName {
		s.Name = s.Key.String()
	} else {
		s.Name = s.Key.ID[:e.name]
	}
	return s
}

// named returns the session's key and its transcript, of which the id is mostly a part.
func (e *entry) named() (resume.Key, string) {
	f := e.common
	if !f.named {
		return e.key(), f.dir + e.text[:e.idAt]
	}
	var room [256]byte
	path := append(append(room[:0], f.dir...), e.text[:e.idAt]...)
	begin := len(path)
	path = e.appendID(path)
	end := len(path)
	transcript := string(append(path, f.after...))
	return resume.Key{Agent: f.agent, ID: transcript[begin:end]}, transcript
}

// readFrom reports whether that is the session's transcript.
func (e *entry) readFrom(transcript string) bool {
	if whole := e.whole(); whole != nil {
		return whole.Transcript == transcript
	}
	_, path := e.named()
	return path == transcript
}

// pack returns what a quiet session has for itself, and what it has in common with
// others; false where there is more to it.
func pack(s resume.Session) (own entry, common form, ok bool) {
	kind := slices.Index(kinds, s.Kind)
	if kind < 0 || !s.Quiet() {
		return own, common, false
	}
	own = entry{kind: uint8(kind), offset: s.Seen.Offset}
	common = form{agent: s.Key.Agent, account: s.Account, provider: s.Provider, cwd: s.Cwd, reason: s.Reason}
	at := strings.LastIndexByte(s.Transcript, '/') + 1
	before := s.Transcript[at:]
	common.dir = s.Transcript[:at]
	if i := strings.Index(before, s.Key.ID); i >= 0 {
		common.named, common.after, before = true, before[i+len(s.Key.ID):], before[:i]
	}
	var fits [6]bool
	own.name, fits[0] = packName(s.Name, s.Key)
	own.born, fits[1] = packTime(s.BornAt)
	own.found, fits[2] = packTime(s.FoundAt)
	own.moved, fits[3] = packTime(s.MovedAt)
	own.prompt, fits[4] = packTime(s.PromptedAt)
	fits[5] = own.identify(before, s.Key.ID)
	if slices.Contains(fits[:], false) {
		return own, common, false
	}
	if own.inode, own.gen, ok = packEpoch(s.Seen.Epoch); !ok {
		common.epoch = s.Seen.Epoch
	}
	return own, common, true
}

func packName(name string, key resume.Key) (uint8, bool) {
	switch {
	case len(name) > len(key.ID) && name == key.String():
		return longName, true
	case len(name) < longName && strings.HasPrefix(key.ID, name):
		return uint8(len(name)), true
	default:
		return 0, false
	}
}

func packTime(t time.Time) (int64, bool) {
	if t.IsZero() {
		return noTime, true
	}
	return t.UnixNano(), resume.Possible(t)
}

func unpackTime(at int64) time.Time {
	if at == noTime {
		return time.Time{}
	}
	return time.Unix(0, at)
}

// packEpoch returns the numbers that name an incarnation of a file; false where
// something else does.
func packEpoch(text string) (inode uint64, gen uint32, ok bool) {
	first, second, _ := strings.Cut(text, "-")
	inode, err1 := strconv.ParseUint(first, 16, 64)
	wide, err2 := strconv.ParseUint(second, 10, 32)
	if err1 != nil || err2 != nil || inode == 0 || unpackEpoch(inode, uint32(wide)) != text {
		return 0, 0, false
	}
	return inode, uint32(wide), true
}

func unpackEpoch(inode uint64, gen uint32) string {
	var room [40]byte
	text := append(strconv.AppendUint(room[:0], inode, 16), '-')
	return string(strconv.AppendUint(text, uint64(gen), 10))
}

// take returns the form that is shared by all who have it.
func (f forms) take(want form) *commonForm {
	hash := maphash.Comparable(formSeed, want)
	s := f[hash]
	for s != nil && s.form != want {
		s = s.next
	}
	if s == nil {
		for _, text := range []*string{&want.agent, &want.account, &want.provider, &want.cwd, &want.reason, &want.dir, &want.after, &want.epoch} {
			*text = strings.Clone(*text) // what it was cut from must not stay
		}
		s = &commonForm{form: want, next: f[hash]}
		f[hash] = s
	}
	s.users++
	return s
}

func (f forms) release(s *commonForm) {
	if s == nil || s.whole != nil {
		return
	}
	if s.users--; s.users > 0 {
		return
	}
	hash := maphash.Comparable(formSeed, s.form)
	first := f[hash]
	for at := &first; *at != nil; at = &(*at).next {
		if *at == s {
			*at = s.next
			break
		}
	}
	if f[hash] = first; first == nil {
		delete(f, hash)
	}
}
