package resume

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
)

// quietSession is one of which an entry has room for everything.
func quietSession() Session {
	at := time.Now().Round(0)
	return Session{
		Key: Key{"claude-code", "4f2a77aa-0000-4000-8000-000000000000"}, Name: "4f2a", Account: "claude-code:default", Provider: "p", Cwd: "/src/shop",
		Transcript: "/home/me/.claude/projects/-src-shop/4f2a77aa-0000-4000-8000-000000000000.jsonl", Kind: Headless,
		Seen: Position{"1f3a-2", 12345}, State: Watching, Reason: "stopped by a person",
		BornAt: at.Add(-time.Hour), FoundAt: at, MovedAt: at.Add(time.Second), PromptedAt: at.Add(-time.Minute),
	}
}

// fill puts something into a value that is not its zero.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("something")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint8:
		v.SetUint(2)
	case reflect.Float64:
		v.SetFloat(0.5)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(1_790_000_000, 5)))
			return
		}
		for _, field := range v.Fields() {
			if field.CanSet() {
				fill(field)
			}
		}
	default:
		panic("nobody has thought of a " + v.Kind().String())
	}
}

func keptAs(t *testing.T, s Session) *entry {
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
	for field := range reflect.TypeFor[Session]().Fields() {
		for _, s := range []Session{quietSession(), {Key: whole.Key, State: Watching}} {
			fill(reflect.ValueOf(&s).Elem().FieldByIndex(field.Index))
			t.Run(field.Name, func(t *testing.T) { keptAs(t, s) })
		}
	}
}

func TestAnEntryKeepsOddSessions(t *testing.T) {
	for name, change := range map[string]func(*Session){
		"no transcript":                 func(s *Session) { s.Transcript = "" },
		"one transcript of many":        func(s *Session) { s.Transcript = "/home/me/all.db" },
		"a date before the id":          func(s *Session) { s.Transcript = "/h/rollout-2026-11-15T00-00-00-" + s.Key.ID + ".jsonl" },
		"the id twice":                  func(s *Session) { s.Transcript = "/h/" + s.Key.ID + "/" + s.Key.ID + s.Key.ID + ".jsonl" },
		"an id without end":             func(s *Session) { s.Key.ID = string(make([]byte, 300)); s.Name = s.Key.ID },
		"no id":                         func(s *Session) { s.Key.ID, s.Name = "", "" },
		"a name with the agent":         func(s *Session) { s.Name = s.Key.String() },
		"no name":                       func(s *Session) { s.Name = "" },
		"a name of another daemon":      func(s *Session) { s.Name = "aa-0000" },
		"an epoch that is not a file's": func(s *Session) { s.Seen.Epoch = "database" },
		"no epoch":                      func(s *Session) { s.Seen = Position{} },
		"an epoch with noughts":         func(s *Session) { s.Seen.Epoch = "01f-2" },
		"an epoch in capitals":          func(s *Session) { s.Seen.Epoch = "1F-2" },
		"the inode nought":              func(s *Session) { s.Seen.Epoch = "0-2" },
		"a kind of later days":          func(s *Session) { s.Kind = "robot" },
		"a time before all":             func(s *Session) { s.BornAt = time.Date(1066, 10, 14, 0, 0, 0, 0, time.Local) },
		"no times": func(s *Session) {
			s.BornAt, s.FoundAt, s.MovedAt, s.PromptedAt = time.Time{}, time.Time{}, time.Time{}, time.Time{}
		},
		"stopped": func(s *Session) { s.State, s.LimitedAt, s.Limit.Class = Waiting, time.Now(), limit.RateLimit },
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

// A session that works on is told from one of which anything else became known.
func TestWorkingOnIsNothingElseThanMoving(t *testing.T) {
	for field := range reflect.TypeFor[Session]().Fields() {
		for _, before := range []Session{quietSession(), {Key: Key{"bot", "a"}, State: Watching, LimitedAt: time.Now()}} {
			after := before
			after.Seen, after.MovedAt = Position{"77-1", 9}, time.Now().Add(time.Hour)
			require.True(t, Change{Before: before, After: after}.WorksOn())
			if field.Name == "Seen" || field.Name == "MovedAt" {
				continue
			}
			fill(reflect.ValueOf(&after).Elem().FieldByIndex(field.Index))
			require.False(t, Change{Before: before, After: after}.WorksOn(), field.Name)
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
	keys := []Key{
		{"codex", id},
		{"claude-code", id},
		{"claude-code", "4f2a77aa-0000-4000-8000-00000000000a"},
		{"claude-code", "4F2A" + id[4:]},
		{"gemini", "f" + id[1:]},
		{"opencode", "ses_4f2a"},
		{"bot", id[:8]},
		{"bot", id + "0"},
		{"bot", "4f2a77aa:"},
		{"bot", ""},
	}
	kept := make([]*entry, len(keys))
	for i, key := range keys {
		kept[i] = keptAs(t, Session{Key: key, State: Watching, Transcript: "/h/rollout-" + key.ID + ".jsonl"})
		require.Equal(t, key, kept[i].key())
	}
	for i, a := range kept {
		for j, b := range kept {
			require.Equal(t, compareNames(keys[i], keys[j]), compareEntries(a, b), "%v %v", keys[i], keys[j])
		}
	}
}
