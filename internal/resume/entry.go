package resume

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"resumed/internal/limit"
)

// entry is a session as it is kept. Most were never stopped: of these there may be
// a hundred thousand. So they are kept small, and what they have in common is kept
// once.
type entry struct {
	key   Key
	whole *Session // never changed; nil: it is quiet, and what follows is all there is of it

	form                       *commonForm
	before                     string // what stands in its transcript's name before the id
	inode                      uint64 // Seen.Epoch, where form has none
	gen                        uint32
	kind                       uint8 // of kinds
	name                       uint8 // how much of the id it is
	offset                     int64
	born, found, moved, prompt int64 // UnixNano
}

// form is what quiet sessions have in common.
type form struct {
	account, provider, cwd, reason string

	dir   string // where the transcript lies, with the last slash
	after string // what stands in its name after the id
	named bool   // the id stands in its name

	epoch string // one that is not of a file
}

// forms are those that are in use, and by how many.
type forms map[form]*commonForm

type commonForm struct {
	form
	users int
}

var kinds = []string{"", Interactive, Headless}

const (
	noTime = math.MinInt64 // the zero time

	longName = math.MaxUint8 // the agent's name stands before the id
)

// quiet reports whether nothing is known of the session but that it works: it was
// never stopped, or that is forgotten.
func (s *Session) quiet() bool {
	return s.State == Watching && !s.Paused && s.Task == nil && s.Owner == nil && !s.Told && s.Unreached == "" && s.Call == "" && s.Calls == 0 &&
		s.CwdBorn.IsZero() && s.Program == (Program{}) && s.Origin == nil && s.LeftOut == nil &&
		s.Limit == (limit.Verdict{}) && s.LimitText == "" && s.LimitedAt.IsZero() && s.StoppedAt.IsZero() && s.Context == (Context{}) && s.Usage == (Usage{}) &&
		s.RecoveredAt.IsZero() && s.Windows == 0 && s.NextAt.IsZero() && s.WaitFrom.IsZero() && s.Jitter == 0 &&
		s.RetryAskedAt.IsZero() && s.Hold.IsZero() && s.Held == nil && s.GivesUpAt.IsZero() && s.MissedAt.IsZero() && s.ClosedAt.IsZero() && s.Newcomer == nil &&
		s.Run == nil && s.Attempts == nil && s.Past == nil && s.Cut == nil && s.Runs == 0
}

// put keeps a session in the entry, as small as it goes.
func (e *entry) put(s Session, known forms) {
	old := e.form
	if own, common, ok := pack(s); ok {
		*e = own
		e.form = known.take(common)
	} else {
		whole := s
		*e = entry{key: s.Key, whole: &whole}
	}
	known.release(old)
}

// session returns the session that is kept in the entry.
func (e *entry) session() Session {
	if e.whole != nil {
		return *e.whole
	}
	f := e.form
	s := Session{
		Key: e.key, Account: f.account, Provider: f.provider, Cwd: f.cwd, Reason: f.reason,
		Kind: kinds[e.kind], Seen: Position{Epoch: f.epoch, Offset: e.offset}, State: Watching,
		BornAt: unpackTime(e.born), FoundAt: unpackTime(e.found), MovedAt: unpackTime(e.moved), PromptedAt: unpackTime(e.prompt),
	}
	if f.epoch == "" && e.inode > 0 {
		s.Seen.Epoch = unpackEpoch(e.inode, e.gen)
	}
	if e.name == longName {
		s.Name = e.key.String()
	} else {
		s.Name = e.key.ID[:e.name]
	}
	if s.Transcript = f.dir + e.before; f.named {
		s.Transcript = f.dir + e.before + e.key.ID + f.after
	}
	return s
}

// readFrom reports whether that is the session's transcript.
func (e *entry) readFrom(transcript string) bool {
	if e.whole != nil {
		return e.whole.Transcript == transcript
	}
	return strings.HasPrefix(transcript, e.form.dir) && e.session().Transcript == transcript
}

// pack returns what a quiet session has for itself, and what it has in common with
// others; false where there is more to it.
func pack(s Session) (own entry, common form, ok bool) {
	kind := slices.Index(kinds, s.Kind)
	if kind < 0 || !s.quiet() {
		return own, common, false
	}
	own = entry{key: s.Key, kind: uint8(kind), offset: s.Seen.Offset}
	var fits [5]bool
	own.name, fits[0] = packName(s.Name, s.Key)
	own.born, fits[1] = packTime(s.BornAt)
	own.found, fits[2] = packTime(s.FoundAt)
	own.moved, fits[3] = packTime(s.MovedAt)
	own.prompt, fits[4] = packTime(s.PromptedAt)
	if slices.Contains(fits[:], false) {
		return own, common, false
	}
	common = form{account: s.Account, provider: s.Provider, cwd: s.Cwd, reason: s.Reason}
	if own.inode, own.gen, ok = packEpoch(s.Seen.Epoch); !ok {
		common.epoch = s.Seen.Epoch
	}
	name := strings.LastIndexByte(s.Transcript, '/') + 1
	common.dir, own.before = s.Transcript[:name], s.Transcript[name:]
	if i := strings.Index(own.before, s.Key.ID); i >= 0 {
		common.named, common.after, own.before = true, own.before[i+len(s.Key.ID):], own.before[:i]
	}
	own.before = strings.Clone(own.before) // it must not keep the whole path in memory
	return own, common, true
}

func packName(name string, key Key) (uint8, bool) {
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
	return t.UnixNano(), Possible(t)
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
	s := f[want]
	if s == nil {
		for _, text := range []*string{&want.account, &want.provider, &want.cwd, &want.reason, &want.dir, &want.after, &want.epoch} {
			*text = strings.Clone(*text) // what it was cut from must not stay
		}
		s = &commonForm{form: want}
		f[want] = s
	}
	s.users++
	return s
}

func (f forms) release(s *commonForm) {
	if s == nil {
		return
	}
	if s.users--; s.users == 0 {
		delete(f, s.form)
	}
}
