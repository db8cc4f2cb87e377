package opencode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/agent/opencode/database"
	"resumed/internal/resume"
)

// audience is the Feed that Follow reports to.
type audience struct {
	t       *testing.T
	agent   *Agent
	stop    func()
	ready   chan struct{}
	mu      sync.Mutex
	told    []resume.Observation
	refuse  error // what Observe returns
	cursors map[string]json.RawMessage
	log     strings.Builder
}

// follow starts Follow and returns when everything that existed was reported.
func follow(t *testing.T, a *Agent, kept map[string]json.RawMessage) *audience {
	t.Helper()
	w := &audience{t: t, agent: a, ready: make(chan struct{}), cursors: maps.Clone(kept)}
	if w.cursors == nil {
		w.cursors = make(map[string]json.RawMessage)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	w.stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(t, <-done)
	})
	t.Cleanup(w.stop)
	go func() { done <- a.Follow(ctx, w.feed()) }()
	select {
	case <-w.ready:
	case <-time.After(patient):
		require.FailNow(t, "never ready")
	}
	return w
}

const patient = time.Minute

func (w *audience) feed() agent.Feed {
	return agent.Feed{
		Observe: func(_ context.Context, observations []resume.Observation) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			if w.refuse != nil {
				return w.refuse
			}
			w.told = append(w.told, observations...)
			return nil
		},
		LoadCursor: func(name string) (json.RawMessage, bool) {
			w.mu.Lock()
			defer w.mu.Unlock()
			cursor, ok := w.cursors[name]
			return cursor, ok
		},
		StoreCursor: func(name string, cursor json.RawMessage) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.cursors[name] = cursor
		},
		Ready: func() { close(w.ready) },
		Log:   slog.New(slog.NewTextHandler(w, nil)),
	}
}

func (w *audience) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.Write(p)
}

func (w *audience) logged() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.String()
}

// events returns the reported events of a session.
func (w *audience) events(session string) []resume.Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []resume.Event
	for _, s := range w.told {
		if s.Key.ID == session {
			all = append(all, s.Event)
		}
	}
	return all
}

func (w *audience) last(session string) resume.Event {
	all := w.events(session)
	if len(all) == 0 {
		return nil
	}
	return all[len(all)-1]
}

// until waits until the session's last event is of one kind.
func until[E resume.Event](w *audience, session string) E {
	w.t.Helper()
	deadline := time.Now().Add(patient)
	for {
		if e, ok := w.last(session).(E); ok {
			return e
		}
		if time.Now().After(deadline) {
			require.FailNow(w.t, "waited in vain", "want %T of %s, told %#v\n%s", *new(E), session, w.events(session), w.logged())
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// look makes the follower read now.
func (w *audience) look(s *store) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patient)
	defer cancel()
	require.NoError(w.t, w.agent.ReadNew(ctx, resume.Session{Transcript: s.path}))
}

func TestWhatIsThereIsToldAtFirstSight(t *testing.T) {
	t.Parallel()
	a := newAgent(t, agent.Options{})
	s := newStore(t, a.homes.Roots[0])
	for _, c := range captures(t) {
		if c.Case != "serve_killed_in_retry_wait" { // the same session as in another case
			s.add(loadRows(t, c.File))
		}
	}
	w := follow(t, a, nil)
	for _, c := range captures(t) {
		told := w.events(c.Session)
		require.Len(t, told, 1, c.Case)
		if strings.Contains(c.Case, "killed") || !c.shows() {
			require.IsType(t, resume.Prompted{}, told[0], "an open message says nothing: the prompt before it is the last word")
			continue
		}
		requireMeaning(t, c, told[0])
		if l, ok := told[0].(resume.Limited); ok {
			require.True(t, l.First, "it may be old news")
		}
	}
	require.Len(t, w.told, len(captures(t))-1)
}

func TestNewsIsTold(t *testing.T) {
	t.Parallel()
	a := newAgent(t, agent.Options{})
	s := newStore(t, a.homes.Roots[0])
	now := time.Now()
	s.session("ses_1", "/src/app", now)
	w := follow(t, a, nil)
	require.Empty(t, w.events("ses_1"))

	s.user("msg_1", "ses_1", now)
	until[resume.Prompted](w, "ses_1")
	s.assistant("msg_2", "ses_1", now.Add(1*time.Second), "")
	w.look(s)
	require.Len(t, w.events("ses_1"), 1, "an open message says nothing")

	s.assistant("msg_2", "ses_1", now.Add(1*time.Second), refused(30))
	got := until[resume.Limited](w, "ses_1")
	require.False(t, got.First)
	require.WithinDuration(t, now.Add(31*time.Second), got.Reset.At, 10*time.Millisecond)

	s.user("msg_1", "ses_1", now) // opencode updates prompts when their turn is over
	w.look(s)
	require.Len(t, w.events("ses_1"), 2, "a prompt that is touched again is no new one")

	s.user("msg_3", "ses_1", now.Add(2*time.Second))
	until[resume.Prompted](w, "ses_1")
	s.assistant("msg_4", "ses_1", now.Add(3*time.Second), finished)
	until[resume.Progressed](w, "ses_1")

	for _, sight := range w.told {
		require.Equal(t, "/src/app", sight.Cwd)
		require.Equal(t, s.path, sight.Transcript)
		require.Equal(t, a.Home(), sight.Account)
	}
	for i := range w.told[1:] {
		require.Less(t, w.told[i].Pos.Offset, w.told[i+1].Pos.Offset)
	}
}

// A cursor says what need not be read again, so it waits until what was read is taken.
func TestWhatWasRefusedIsReadAgain(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	s := newStore(t, root)
	now := time.Now()
	s.session("ses_1", "/src/app", now)
	s.assistant("msg_1", "ses_1", now, finished)
	a := newAgent(t, agent.Options{Roots: []string{root}})
	w := follow(t, a, nil)
	require.Len(t, w.told, 1)

	full := errors.New("the disk is full")
	w.mu.Lock()
	w.refuse = full
	w.mu.Unlock()
	s.assistant("msg_2", "ses_1", now.Add(time.Second), refused(1))
	require.ErrorIs(t, a.ReadNew(t.Context(), resume.Session{Transcript: s.path}), full)
	w.stop()
	require.Len(t, w.told, 1)

	again := follow(t, newAgent(t, agent.Options{Roots: []string{root}}), w.cursors)
	require.IsType(t, resume.Limited{}, again.last("ses_1"), "nothing is lost")
}

func TestAChildSessionIsNeverTold(t *testing.T) {
	t.Parallel()
	a := newAgent(t, agent.Options{})
	s := newStore(t, a.homes.Roots[0])
	now := time.Now()
	s.session("ses_parent", "/src/app", now)
	s.session("ses_child", "/src/app", now)
	s.exec("UPDATE session SET parent_id = 'ses_parent' WHERE id = 'ses_child'")
	s.assistant("msg_1", "ses_child", now, refused(1))
	w := follow(t, a, nil)
	s.assistant("msg_2", "ses_child", now.Add(time.Second), refused(1))
	until[resume.SubagentEnded](w, "ses_parent")
	s.assistant("msg_3", "ses_parent", now.Add(2*time.Second), finished)
	until[resume.Progressed](w, "ses_parent")
	require.Empty(t, w.events("ses_child"))

	found, err := a.Evidence(s.path)
	require.NoError(t, err)
	require.Len(t, found, 2, "one for each session")
	for _, e := range found {
		require.Equal(t, e.Key.ID == "ses_child", e.Leave != "", "a child is never to be acted on")
	}
}

func TestReadingOnTellsWhatIsNewAlone(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	s := newStore(t, root)
	now := time.Now()
	s.session("ses_1", "/src/app", now.Add(-time.Hour))
	s.assistant("msg_1", "ses_1", now.Add(-time.Hour), finished)
	s.user("msg_2", "ses_1", now.Add(-time.Minute))
	s.assistant("msg_3", "ses_1", now.Add(-time.Minute), "")
	w := follow(t, newAgent(t, agent.Options{Roots: []string{root}}), nil)
	w.stop()
	require.Len(t, w.told, 1)

	again := follow(t, newAgent(t, agent.Options{Roots: []string{root}}), w.cursors)
	again.stop()
	require.Empty(t, again.told)

	s.assistant("msg_3", "ses_1", now.Add(-time.Minute), refused(1)) // was open at the last reading
	s.session("ses_2", "/src/app", now.Add(-time.Second))
	s.assistant("msg_4", "ses_2", now.Add(-time.Second), refused(1))
	again = follow(t, newAgent(t, agent.Options{Roots: []string{root}}), w.cursors)
	require.False(t, until[resume.Limited](again, "ses_1").First, "the session was known")
	require.True(t, until[resume.Limited](again, "ses_2").First, "the session was not")
	require.Len(t, again.told, 2)
}

func TestEachProviderIsToldBesideTheAccount(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	s := newStore(t, root)
	now := time.Now()
	for id, more := range map[string]string{
		"ses_answer": refused(1) + `,"providerID":"anthropic"`,
		"ses_prompt": "",
		"ses_odd":    refused(1) + `,"providerID":7`,
	} {
		s.session(id, "/src/"+id, now)
		if id == "ses_prompt" {
			s.message("msg_"+id, id, now, fmt.Sprintf(`{"role":"user","time":{"created":%d},"model":{"providerID":"openai"}}`, now.UnixMilli()))
			continue
		}
		s.assistant("msg_"+id, id, now, more)
	}
	w := follow(t, newAgent(t, agent.Options{Roots: []string{root}}), nil)
	w.stop()
	got := make(map[string]string)
	for _, sight := range w.told {
		require.Equal(t, Name+":"+root, sight.Account)
		got[sight.Key.ID] = sight.Provider
	}
	require.Equal(t, map[string]string{"ses_answer": "anthropic", "ses_prompt": "openai", "ses_odd": ""}, got)
}

func TestRowsThatAreNumberedAnewAreReadAgain(t *testing.T) {
	t.Parallel()
	a := newAgent(t, agent.Options{})
	s := newStore(t, a.homes.Roots[0])
	now := time.Now()
	s.session("ses_1", "/src/app", now)
	s.session("ses_2", "/src/app", now)
	for i := range 5 {
		s.assistant(fmt.Sprint("msg_", i), "ses_1", now.Add(time.Duration(i)*time.Second), finished)
	}
	w := follow(t, a, nil)
	s.exec("DELETE FROM message WHERE id IN ('msg_0', 'msg_3', 'msg_4')") // undone by the user
	s.assistant("msg_9", "ses_2", now.Add(time.Minute), refused(1))
	until[resume.Limited](w, "ses_2")
}

func TestAPromptThatOpencodeGaveItselfIsNoPersons(t *testing.T) {
	t.Parallel()
	old := time.Now().Add(-time.Minute)
	const text, synthetic = `{"type":"text","text":"go on"}`, `{"type":"text","synthetic":true,"text":"Continue if you have next steps"}`
	for rule, c := range map[string]struct {
		parts []string
		by    string
	}{
		"a compaction that nobody asked for":      {[]string{`{"type":"compaction","auto":true}`}, "opencode itself"},
		"the prompt to go on after it":            {[]string{synthetic}, "opencode itself"},
		"a compaction that somebody asked for":    {[]string{`{"type":"compaction","auto":false}`}, ""},
		"what a person wrote":                     {[]string{text}, ""},
		"what a person wrote, with what it names": {[]string{text, synthetic}, ""},
		"what is not written yet":                 {nil, ""},
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			a := newAgent(t, agent.Options{})
			s := newStore(t, a.homes.Roots[0])
			s.session("ses_1", "/src/app", old)
			for i, data := range c.parts {
				s.insert("part", map[string]any{"id": fmt.Sprint("prt_", i), "message_id": "msg_1", "session_id": "ses_1", "data": data})
			}
			s.user("msg_1", "ses_1", old)
			w := follow(t, a, nil)
			require.Equal(t, c.by, until[resume.Prompted](w, "ses_1").By)
		})
	}
}

func TestATurnThatWasCutOff(t *testing.T) {
	t.Parallel()
	old := time.Now().Add(-time.Minute)
	t.Run("in a retry was cancelled by a person", func(t *testing.T) {
		t.Parallel()
		a := newAgent(t, agent.Options{})
		s := newStore(t, a.homes.Roots[0])
		s.session("ses_1", "/src/app", old)
		s.assistant("msg_1", "ses_1", old, cutOff)
		w := follow(t, a, nil)
		until[resume.Cancelled](w, "ses_1")
	})
	t.Run("for a compaction was not", func(t *testing.T) {
		t.Parallel()
		a := newAgent(t, agent.Options{})
		s := newStore(t, a.homes.Roots[0])
		s.session("ses_1", "/src/app", old)
		s.user("msg_0", "ses_1", old)
		s.assistant("msg_1", "ses_1", old.Add(time.Second), cutOff)
		s.user("msg_2", "ses_1", old.Add(1010*time.Millisecond))
		s.insert("part", map[string]any{"id": "prt_1", "message_id": "msg_2", "session_id": "ses_1", "data": `{"type":"compaction","auto":true,"overflow":true}`})
		s.assistant("msg_3", "ses_1", old.Add(2*time.Second), `,"finish":"error","error":{"name":"ContextOverflowError","data":{"message":"Session too large to compact"}}`)
		w := follow(t, a, map[string]json.RawMessage{s.path: []byte(`{}`)})
		until[resume.Limited](w, "ses_1")
		for _, e := range w.events("ses_1") {
			_, stopped := e.(resume.Cancelled)
			require.False(t, stopped, "no person stopped it")
		}
	})
	t.Run("just now is left alone until it is known why", func(t *testing.T) {
		t.Parallel()
		a := newAgent(t, agent.Options{})
		s := newStore(t, a.homes.Roots[0])
		now := time.Now()
		s.session("ses_1", "/src/app", now)
		s.assistant("msg_1", "ses_1", now, "")
		w := follow(t, a, nil)
		s.assistant("msg_1", "ses_1", now, cutOff)
		w.look(s)
		require.Empty(t, w.events("ses_1"))
		until[resume.Cancelled](w, "ses_1")
	})
}

func TestADatabaseMayAppearLater(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "share", "opencode")
	a := newAgent(t, agent.Options{Roots: []string{root}})
	w := follow(t, a, nil)
	require.NoError(t, a.ReadNew(t.Context(), resume.Session{Transcript: filepath.Join(root, "opencode.db")}))
	s := newStore(t, root)
	s.session("ses_1", "/src/app", time.Now())
	s.assistant("msg_1", "ses_1", time.Now(), refused(1))
	until[resume.Limited](w, "ses_1")
}

func TestWithoutEventsTheClockHasToDo(t *testing.T) {
	t.Parallel()
	a := newAgent(t, agent.Options{})
	a.deaf, a.rescan = true, 50*time.Millisecond
	w := follow(t, a, nil)
	s := newStore(t, a.homes.Roots[0])
	s.session("ses_1", "/src/app", time.Now())
	s.assistant("msg_1", "ses_1", time.Now(), refused(1))
	until[resume.Limited](w, "ses_1")
	s.assistant("msg_2", "ses_1", time.Now().Add(time.Second), finished)
	until[resume.Progressed](w, "ses_1")
}

// Rows that become visible after a reading cause no event, whether that reading found something or not.
func TestWhatIsShownAfterALookIsTold(t *testing.T) {
	t.Parallel()
	for look, before := range map[string]func(*store){
		"that brought nothing":   func(*store) {},
		"that brought something": func(s *store) { s.assistant("msg_0", "ses_1", time.Now(), finished) },
	} {
		t.Run(look, func(t *testing.T) {
			t.Parallel()
			a := newAgent(t, agent.Options{})
			a.deaf, a.rescan = true, time.Hour
			s := newStore(t, a.homes.Roots[0])
			s.session("ses_1", "/src/app", time.Now())
			before(s)
			w := follow(t, a, nil)
			s.assistant("msg_1", "ses_1", time.Now(), refused(1))
			until[resume.Limited](w, "ses_1")
		})
	}
}

func TestADatabaseMayBeReplaced(t *testing.T) {
	t.Parallel()
	a := newAgent(t, agent.Options{})
	s := newStore(t, a.homes.Roots[0])
	now := time.Now()
	s.session("ses_1", "/src/app", now)
	s.assistant("msg_1", "ses_1", now, finished)
	w := follow(t, a, nil)
	require.NoError(t, s.db.Close())

	other := newStore(t, t.TempDir())
	other.session("ses_2", "/src/app", now)
	other.assistant("msg_7", "ses_2", now, refused(1))
	require.NoError(t, other.db.Close())
	require.NoError(t, os.Rename(other.path, s.path))
	until[resume.Limited](w, "ses_2")
}

func TestADatabaseThatCannotBeReadIsReadWhenItCan(t *testing.T) {
	t.Parallel()
	for trouble, spoil := range map[string]func(t *testing.T, path string) (mend func()){
		"not a database": func(t *testing.T, path string) func() {
			require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("no database ", 500)), 0o600))
			return func() { require.NoError(t, os.Remove(path)) }
		},
		"empty": func(t *testing.T, path string) func() {
			require.NoError(t, os.WriteFile(path, nil, 0o600))
			return func() { require.NoError(t, os.Remove(path)) }
		},
		"a directory": func(t *testing.T, path string) func() {
			require.NoError(t, os.Mkdir(path, 0o700))
			return func() { require.NoError(t, os.Remove(path)) }
		},
	} {
		t.Run(trouble, func(t *testing.T) {
			t.Parallel()
			a := newAgent(t, agent.Options{})
			path := filepath.Join(a.homes.Roots[0], "opencode.db")
			mend := spoil(t, path)
			w := follow(t, a, nil)
			mend()
			s := newStore(t, a.homes.Roots[0])
			s.session("ses_1", "/src/app", time.Now())
			s.assistant("msg_1", "ses_1", time.Now(), refused(1))
			until[resume.Limited](w, "ses_1")
		})
	}
}

// A writer that locks the whole database, as in another journal mode.
func TestALockedDatabaseIsReadWhenItIsFree(t *testing.T) {
	t.Parallel()
	a := newAgent(t, agent.Options{})
	s := newStore(t, a.homes.Roots[0])
	s.session("ses_1", "/src/app", time.Now())
	w := follow(t, a, nil)
	s.exec("PRAGMA locking_mode = EXCLUSIVE")
	s.exec("BEGIN EXCLUSIVE")
	s.assistant("msg_1", "ses_1", time.Now(), refused(1))
	require.Empty(t, w.events("ses_1"))
	s.exec("COMMIT")
	s.exec("PRAGMA locking_mode = NORMAL")
	s.exec("PRAGMA user_version = 0") // releases the lock
	until[resume.Limited](w, "ses_1")
}

func TestWhetherAPersonSitsBeforeASession(t *testing.T) {
	t.Parallel()
	const asksNobody = `[{"permission":"question","action":"deny","pattern":"*"},{"permission":"plan_enter","action":"deny","pattern":"*"}]`
	for rule, c := range map[string]struct {
		rules any
		want  string
	}{
		"run asks nobody anything":      {asksNobody, resume.Headless},
		"a terminal has no rules":       {nil, resume.Interactive},
		"another rule tells nothing":    {`[{"permission":"bash","action":"deny","pattern":"rm *"}]`, resume.Interactive},
		"what is no rule tells nothing": {"x", ""},
	} {
		t.Run(rule, func(t *testing.T) {
			s := newStore(t, t.TempDir())
			s.exec("ALTER TABLE session ADD COLUMN permission text")
			s.insert("session", map[string]any{"id": "ses_1", "directory": "/src", "permission": c.rules})
			require.NoError(t, database.Read(t.Context(), s.path, func(db *database.DB) error {
				got, err := db.Sessions(t.Context(), "WHERE id = ? ", "ses_1")
				require.Len(t, got, 1)
				require.Equal(t, c.want, got[0].Kind())
				return err
			}))
		})
	}
	require.Empty(t, database.Session{}.Kind(), "a version without such rules")
}
