package engine

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
	"resumed/internal/resume"
)

func keptAs(t *testing.T, s resume.Session) *entry {
	t.Helper()
	known := make(forms)
	e := new(entry)
	e.put(s, known)
	require.Equal(t, s, e.session())
	known.release(e.common)
	require.Empty(t, known)
	return e
}

// Whatever is known of a session is kept, also what is thought of later.
func TestNothingOfASessionIsLostInItsEntry(t *testing.T) {
	whole := quietSession()
	require.Nil(t, keptAs(t, whole).whole())
	for field := range reflect.TypeFor[resume.Session]().Fields() {
		for _, s := range []resume.Session{quietSession(), {Key: whole.Key, State: resume.Watching}} {
			fill(reflect.ValueOf(&s).Elem().FieldByIndex(field.Index))
			t.Run(field.Name, func(t *testing.T) { keptAs(t, s) })
		}
	}
}

func TestAnEntryKeepsOddSessions(t *testing.T) {
	for name, change := range map[string]func(*resume.Session){
		"no transcript":                 func(s *resume.Session) { s.Transcript = "" },
		"one transcript of many":        func(s *resume.Session) { s.Transcript = "/home/me/all.db" },
		"a date before the id":          func(s *resume.Session) { s.Transcript = "/h/rollout-2026-11-15T00-00-00-" + s.Key.ID + ".jsonl" },
		"the id twice":                  func(s *resume.Session) { s.Transcript = "/h/" + s.Key.ID + "/" + s.Key.ID + s.Key.ID + ".jsonl" },
		"an id without end":             func(s *resume.Session) { s.Key.ID = string(make([]byte, 300)); s.Name = s.Key.ID },
		"no id":                         func(s *resume.Session) { s.Key.ID, s.Name = "", "" },
		"a name with the agent":         func(s *resume.Session) { s.Name = s.Key.String() },
		"no name":                       func(s *resume.Session) { s.Name = "" },
		"a name of another daemon":      func(s *resume.Session) { s.Name = "aa-0000" },
		"an epoch that is not a file's": func(s *resume.Session) { s.Seen.Epoch = "database" },
		"no epoch":                      func(s *resume.Session) { s.Seen = resume.Position{} },
		"an epoch with noughts":         func(s *resume.Session) { s.Seen.Epoch = "01f-2" },
		"an epoch in capitals":          func(s *resume.Session) { s.Seen.Epoch = "1F-2" },
		"the inode nought":              func(s *resume.Session) { s.Seen.Epoch = "0-2" },
		"a kind of later days":          func(s *resume.Session) { s.Kind = "robot" },
		"a time before all":             func(s *resume.Session) { s.BornAt = time.Date(1066, 10, 14, 0, 0, 0, 0, time.Local) },
		"no times": func(s *resume.Session) {
			s.BornAt, s.FoundAt, s.MovedAt, s.PromptedAt = time.Time{}, time.Time{}, time.Time{}, time.Time{}
		},
		"stopped": func(s *resume.Session) {
			s.State, s.LimitedAt, s.Limit.Class = resume.Waiting, time.Now(), limit.RateLimit
		},
	} {
		s := quietSession()
		change(&s)
		t.Run(name, func(t *testing.T) { keptAs(t, s) })
	}
}

func TestSortedIsInOrderWhateverComesAndGoes(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 2))
	s := sorted[int]{compare: func(a, b int) int { return a - b }}
	there := make(map[int]bool)
	for step := range 20_000 {
		v := dice.IntN(3000)
		if step < 3000 {
			v = step // in order, at first
		}
		if dice.IntN(3) > 0 {
			s.add(v)
			there[v] = true
		} else {
			s.remove(v)
			delete(there, v)
		}
		if step%97 > 0 {
			continue
		}
		require.Equal(t, len(there), s.size)
		all := s.all()
		require.Len(t, all, len(there))
		for i, one := range all {
			require.True(t, there[one] && (i == 0 || all[i-1] < one))
		}
		wanted := dice.IntN(3000)
		_, ok := s.get(wanted)
		require.Equal(t, there[wanted], ok)
		below, hasBelow := s.before(wanted)
		first, hasFirst := 0, false
		for one := range s.from(wanted) {
			first, hasFirst = one, true
			break
		}
		for _, one := range all {
			require.False(t, one < wanted && (!hasBelow || one > below))
			require.False(t, one >= wanted && (!hasFirst || one < first))
		}
	}
}

// Two forms may have one hash.
func TestFormsThatAreFoundByOneHashAreToldApart(t *testing.T) {
	known := make(forms)
	mine := known.take(form{cwd: "/mine"})
	for hash := range known {
		known[hash] = &commonForm{form: form{cwd: "/other"}, users: 1, next: mine}
	}
	require.Same(t, mine, known.take(form{cwd: "/mine"}))
	for range 2 {
		require.Same(t, mine, known.take(form{cwd: "/mine"}))
		known.release(mine)
		known.release(mine)
	}
	for _, other := range known {
		require.Equal(t, "/other", other.cwd)
		require.Nil(t, other.next)
	}
	require.Len(t, known, 1)
}

// However an id is kept, sessions stand in the order of what people type.
func TestEntriesStandInTheOrderOfTheirIDs(t *testing.T) {
	const id = "4f2a77aa-0000-4000-8000-000000000000"
	keys := []resume.Key{
		{Agent: "codex", ID: id},
		{Agent: "claude-code", ID: id},
		{Agent: "claude-code", ID: "4f2a77aa-0000-4000-8000-00000000000a"},
		{Agent: "claude-code", ID: "4F2A" + id[4:]},
		{Agent: "gemini", ID: "f" + id[1:]},
		{Agent: "opencode", ID: "ses_4f2a"},
		{Agent: "bot", ID: id[:8]},
		{Agent: "bot", ID: id + "0"},
		{Agent: "bot", ID: "4f2a77aa:"},
		{Agent: "bot", ID: ""},
	}
	kept := make([]*entry, len(keys))
	for i, key := range keys {
		kept[i] = keptAs(t, resume.Session{Key: key, State: resume.Watching, Transcript: "/h/rollout-" + key.ID + ".jsonl"})
		require.Equal(t, key, kept[i].key())
	}
	for i, a := range kept {
		for j, b := range kept {
			require.Equal(t, compareNames(keys[i], keys[j]), compareEntries(a, b), "%v %v", keys[i], keys[j])
		}
	}
}
