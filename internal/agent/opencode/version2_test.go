package opencode

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// schema2 is that of opencode 2, as far as it matters. It is written after its sources: the program was not run.
const schema2 = `
CREATE TABLE session_v2 (id text PRIMARY KEY, project_id text, parent_id text, directory text NOT NULL, agent text, model text, permission text,
  time_created integer NOT NULL, time_updated integer NOT NULL, time_archived integer, time_suspended integer,
  resume_attempts integer DEFAULT 0 NOT NULL, time_idle integer, idle_outcome text);
CREATE TABLE session_message (id text PRIMARY KEY, session_id text NOT NULL, type text NOT NULL, seq integer NOT NULL,
  time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE UNIQUE INDEX session_message_session_seq_idx ON session_message (session_id, seq);
`

// store2 is a database that opencode 2 has taken over from version 1.
type store2 struct {
	*store
	seq int
}

func newStore2(t testing.TB, dir string) *store2 {
	s := &store2{store: newStore(t, dir)}
	s.exec(schema2)
	return s
}

func (s *store2) session2(id, directory string, at time.Time) {
	s.t.Helper()
	s.insert("session_v2", map[string]any{
		"id": id, "directory": directory, "agent": "build", "model": `{"id":"m","providerID":"anthropic","variant":"high"}`,
		"time_created": at.UnixMilli(), "time_updated": at.UnixMilli(),
	})
}

func (s *store2) message2(id, session, kind string, at time.Time, data string) {
	s.t.Helper()
	s.seq++
	s.exec(`INSERT INTO session_message (id, session_id, type, seq, time_created, time_updated, data) VALUES (?1, ?2, ?3, ?4, ?5, ?5, ?6)
		ON CONFLICT (id) DO UPDATE SET data = ?6`, id, session, kind, s.seq, at.UnixMilli(), data)
}

// assistant2 writes an answer, which is completed if more says how.
func (s *store2) assistant2(id, session string, at time.Time, more string) {
	s.t.Helper()
	times := fmt.Sprintf(`"created":%d`, at.UnixMilli())
	if more != "" {
		times += fmt.Sprintf(`,"completed":%d`, at.UnixMilli()+5)
	}
	s.message2(id, session, "assistant", at, fmt.Sprintf(
		`{"agent":"build","model":{"id":"m","providerID":"anthropic"},"content":[],"time":{%s}%s}`, times, more))
}

func (s *store2) works(session string, yes bool) {
	s.t.Helper()
	s.exec("UPDATE session_v2 SET time_suspended = CASE WHEN ? THEN 1794700000000 END WHERE id = ?", yes, session)
}

// failed2 is an answer's error as version 2 writes it.
func failed2(kind, message string, status int) string {
	more := fmt.Sprintf(`,"finish":"error","error":{"type":%q,"message":%q`, kind, message)
	if status != 0 {
		more += fmt.Sprintf(`,"status":%d`, status)
	}
	return more + "}"
}

const declined = `,"content":[{"type":"tool","id":"c","name":"bash","state":{"status":"error","input":{"command":"make"},` +
	`"error":{"type":"aborted","message":"The user declined this tool call"}}}],"error":{"type":"aborted","message":"Step interrupted"}`

func TestWhatARowOfVersion2Means(t *testing.T) {
	t.Parallel()
	at := time.Now().Add(-time.Minute).Truncate(time.Millisecond)
	for rule, c := range map[string]struct {
		kind, data string // of a further row; data is that of an answer if it has no type
		want       any    // the class of a refusal, or an event of that type; nil: no event of its own
		helps      bool
	}{
		"a prompt":                    {"user", fmt.Sprintf(`{"text":"go on","time":{"created":%d}}`, at.UnixMilli()), resume.Prompted{}, false},
		"an answer":                   {"", `,"finish":"stop"`, resume.Progressed{}, false},
		"a step":                      {"", `,"finish":"tool-calls"`, resume.Progressed{}, false},
		"a rate limit":                {"", failed2("provider.rate-limit", "Rate limit reached for requests", 429), limit.RateLimit, true},
		"a rate limit without words":  {"", failed2("provider.rate-limit", "Nope", 0), limit.RateLimit, true},
		"a usage limit":               {"", failed2("provider.quota", "The usage limit has been reached", 429), limit.UsageLimit, true},
		"a quota that must be bought": {"", failed2("provider.quota", "No more of it", 0), limit.Billing, false},
		"an outage":                   {"", failed2("provider.internal", "Hm", 500), limit.ServerError, true},
		"no network":                  {"", failed2("provider.transport", "gone", 0), limit.Network, true},
		"a wrong key":                 {"", failed2("provider.auth", "no", 0), limit.Auth, false},
		"a wrong request":             {"", failed2("provider.invalid-request", "no", 400), limit.BadRequest, false},
		"an unknown error":            {"", failed2("provider.unknown", "hm", 0), limit.Unknown, true},
		"a person stopped it":         {"", failed2("aborted", "Step interrupted", 0), resume.Cancelled{}, false},
		"a permission was declined":   {"", declined, resume.Progressed{}, false},
		"an unfinished answer":        {"", "", resume.Cancelled{}, false},
		"a reminder of opencode":      {"synthetic", `{"text":"plan mode"}`, nil, false},
		"another model":               {"model-switched", `{"model":{"id":"n","providerID":"p"}}`, nil, false},
		"a shell command":             {"shell", `{"command":"ls"}`, nil, false},
		"a compaction":                {"compaction", `{"status":"completed","summary":"…"}`, nil, false},
		"an answer that a restart of the server ended": {"", ` `, nil, false},
		"a kind of a later version":                    {"dream", `{"error":{"type":"provider.rate-limit"}}`, nil, false},
	} {
		t.Run(rule, func(t *testing.T) {
			a := newAgent(t, agent.Options{})
			s := newStore2(t, a.homes.Roots[0])
			s.session2("ses_1", "/src/app", at)
			s.works("ses_1", false)
			s.assistant2("msg_0", "ses_1", at.Add(-time.Second), failed2("provider.rate-limit", "Rate limit reached", 429))
			if c.kind == "" {
				s.assistant2("msg_1", "ses_1", at, c.data)
			} else {
				s.message2("msg_1", "ses_1", c.kind, at, c.data)
			}
			found, err := a.Evidence(s.path)
			require.NoError(t, err)
			require.Len(t, found, 1)
			require.Equal(t, resume.Key{Agent: Name, ID: "ses_1"}, found[0].Key)
			require.Equal(t, "anthropic", found[0].Provider)
			require.Equal(t, "/src/app", found[0].Cwd)
			news := follow(t, a, nil).events("ses_1")
			switch want := c.want.(type) {
			case nil:
				require.Equal(t, at.Add(-time.Second+5*time.Millisecond).UTC(), limited(t, found[0].Event).At, "the row before it counts")
				require.Len(t, news, 1)
			case limit.Class:
				got := limited(t, found[0].Event)
				require.Equal(t, want.String(), got.Class.String())
				require.Equal(t, c.helps, got.WaitHelps)
				require.NotEmpty(t, got.Text)
				require.Equal(t, got.Verdict, limited(t, news[len(news)-1]).Verdict)
			default:
				require.IsType(t, want, found[0].Event)
				if rule != "an unfinished answer" {
					require.IsType(t, want, news[len(news)-1])
				}
			}
		})
	}
}

// The tables of version 1 stay as they were when version 2 was first started.
func TestVersion1sTablesTellNothingBesideVersion2s(t *testing.T) {
	t.Parallel()
	a := newAgent(t, agent.Options{})
	s := newStore2(t, a.homes.Roots[0])
	at := time.Now().Add(-time.Minute)
	for _, id := range []string{"ses_on", "ses_old"} {
		s.session(id, "/src", at)
		s.assistant("msg_"+id, id, at, refused(3600))
	}
	s.session2("ses_on", "/src", at)
	s.assistant2("msg_ses_on", "ses_on", at, failed2("provider.error", "Rate limit reached for requests", 0))
	s.assistant2("msg_2", "ses_on", at.Add(time.Second), finished)

	w := follow(t, a, nil)
	require.IsType(t, resume.Progressed{}, w.last("ses_on"), "it went on in version 2")
	require.Empty(t, w.events("ses_old"), "version 2 does not have it")
	found, err := a.Evidence(s.path)
	require.NoError(t, err)
	require.Len(t, found, 1)
}

// Version 2 takes over what version 1 wrote, without the status and the headers of an error.
func TestTheTimeThatVersion1WasToldIsNotLost(t *testing.T) {
	t.Parallel()
	a := newAgent(t, agent.Options{})
	s := newStore(t, a.homes.Roots[0])
	at := time.Now().Add(-time.Minute)
	s.session("ses_1", "/src", at)
	s.assistant("msg_1", "ses_1", at, refused(3600))
	w := follow(t, a, nil)
	before := limited(t, w.last("ses_1"))
	require.True(t, before.Reset.Stated())
	w.stop()

	two := &store2{store: s}
	two.exec(schema2)
	two.session2("ses_1", "/src", at)
	two.assistant2("msg_1", "ses_1", at.Add(40*time.Millisecond), failed2("provider.error", "Rate limit reached for requests", 0))
	again := follow(t, a, w.cursors)
	after := limited(t, again.last("ses_1"))
	require.NotEmpty(t, after.AtWord, "version 2 is not continued by itself")
	after.First, before.First, after.AtWord = false, false, ""
	require.Equal(t, before, after, "the same refusal, at the same time")
}

// A row of the same number and id in the other version's table is not where reading stopped.
func TestACursorOfVersion1IsNoneOfVersion2(t *testing.T) {
	t.Parallel()
	a := newAgent(t, agent.Options{})
	s := newStore2(t, a.homes.Roots[0])
	at := time.Now().Add(-time.Minute)
	s.session2("ses_1", "/src", at)
	s.session2("ses_2", "/src", at)
	s.assistant2("msg_0", "ses_1", at, failed2("provider.rate-limit", "Rate limit reached", 429))
	s.assistant2("msg_1", "ses_2", at, finished)
	of1 := follow(t, a, map[string]json.RawMessage{s.path: json.RawMessage(`{"row":2,"id":"msg_1","seen_ms":0}`)})
	require.IsType(t, resume.Limited{}, of1.last("ses_1"))
	of1.stop()
	of2 := follow(t, a, of1.cursors)
	require.Empty(t, of2.events("ses_1"), "that is where it stopped")
}

// While opencode has the turn it may try again by itself, and its server continues the turn after a restart.
func TestATurnThatVersion2HasIsLeftToIt(t *testing.T) {
	t.Parallel()
	a := newAgent(t, agent.Options{})
	s := newStore2(t, a.homes.Roots[0])
	at := time.Now().Add(-time.Minute)
	s.session2("ses_1", "/src", at)
	s.works("ses_1", true)
	s.assistant2("msg_1", "ses_1", at, failed2("provider.rate-limit", "Rate limit reached", 429))
	s.message2("msg_2", "ses_1", "system", at, `{"text":"…"}`)
	w := follow(t, a, nil)
	require.Empty(t, w.events("ses_1"))
	found, err := a.Evidence(s.path)
	require.NoError(t, err)
	require.IsType(t, resume.Progressed{}, found[0].Event)
	require.Contains(t, found[0].Leave, "continues it by itself when its server starts")

	s.works("ses_1", false)
	require.Equal(t, limit.RateLimit, until[resume.Limited](w, "ses_1").Class)
}

func TestADenialInVersion2IsFound(t *testing.T) {
	t.Parallel()
	a := newAgent(t, agent.Options{})
	s := newStore2(t, a.homes.Roots[0])
	at := time.Now()
	s.session2("ses_1", "/src", at)
	denied := func() (agent.Denial, bool) {
		d, found, err := a.Denied(t.Context(), resume.Session{Key: resume.Key{Agent: Name, ID: "ses_1"}, Transcript: s.path}, agent.Ran{Since: at})
		require.NoError(t, err)
		return d, found
	}
	s.assistant2("msg_1", "ses_1", at, declined)
	d, found := denied()
	require.True(t, found)
	require.Equal(t, agent.Denial{Tool: "bash", Use: "make"}, d)
	s.assistant2("msg_2", "ses_1", at.Add(time.Second), `,"finish":"stop","content":[{"type":"tool","name":"read","state":{"status":"completed"}}]`)
	_, found = denied()
	require.False(t, found, "it worked around it")
	s.assistant2("msg_3", "ses_1", at.Add(2*time.Second), `,"finish":"stop","content":[{"type":"tool","name":"edit","state":{"status":"error","error":{"type":"permission.rejected","message":"no"}}}]`)
	d, found = denied()
	require.True(t, found)
	require.Equal(t, "edit", d.Tool)
}

// stopped2 is a stopped session of version 2 with its program, and with processes.
type stopped2 struct {
	*stopped
	two *store2
}

func newStopped2(t *testing.T) *stopped2 {
	s := &stopped2{stopped: newStopped(t)}
	s.two = &store2{store: s.store}
	s.exec(schema2)
	s.two.session2("ses_1", s.dir, s.session.LimitedAt)
	s.works(false)
	s.two.assistant2("msg_2", "ses_1", s.session.LimitedAt, failed2("provider.rate-limit", "Rate limit reached", 429))
	return s
}

func (s *stopped2) works(yes bool) { s.two.works("ses_1", yes) }

// registers writes the file of the background server.
func (s *stopped2) registers(pid int) {
	s.t.Helper()
	text := fmt.Sprintf(`{"id":"x","version":"2.1.4","url":"http://127.0.0.1:1","pid":%d}`, pid)
	require.NoError(s.t, os.WriteFile(filepath.Join(s.agent.state, "service.json"), []byte(text), 0o600))
}

// ask returns the owner of the session, and how it is continued.
func (s *stopped2) ask() (*resume.Owner, agent.Plan) {
	s.t.Helper()
	owner, err := s.agent.Owner(s.t.Context(), s.session)
	require.NoError(s.t, err)
	if owner == nil {
		return nil, s.plan("go on")
	}
	plan, err := s.agent.PlanLive(s.t.Context(), s.session, *owner, "go on")
	require.NoError(s.t, err)
	return owner, plan
}

func TestVersion2IsContinuedAtAPersonsWord(t *testing.T) {
	s := newStopped2(t)
	background := procDir{pid: 40, argv: []string{"opencode", "serve", "--service"}, cwd: "/", open: []string{s.path}}
	terminal := procDir{pid: 41, argv: []string{"opencode"}, cwd: s.dir}

	t.Run("nobody asked for it", func(t *testing.T) {
		_, plan := s.ask()
		require.True(t, plan.Skip.Park)
		require.Equal(t, resume.Reason{Kind: resume.WhyUntried, Text: "resumed was not tried with opencode 2"}, plan.Skip.Known)
		s.registers(40)
		s.agent.Processes = fakeProc(s.t, background, terminal)
		owner, plan := s.ask()
		require.Equal(t, 40, owner.PID)
		require.True(t, plan.Skip.Park)
		require.Equal(t, resume.Reason{Kind: resume.WhyUntried, Text: "resumed was not tried with opencode 2"}, plan.Skip.Known)
	})
	s.session.RetryAskedAt = time.Now()
	t.Run("no server", func(t *testing.T) {
		s.agent.Processes = fakeProc(s.t)
		owner, plan := s.ask()
		require.Nil(t, owner)
		require.True(t, plan.Skip.Park)
		require.Contains(t, plan.Skip.Why, "opencode service start")
	})
	t.Run("another server than the registered one", func(t *testing.T) {
		s.registers(39)
		s.agent.Processes = fakeProc(s.t, background)
		owner, plan := s.ask()
		require.Nil(t, owner)
		require.Contains(t, plan.Skip.Why, "does not run")
	})
	s.registers(40)
	s.agent.Processes = fakeProc(s.t, background, terminal)
	t.Run("the server, whatever terminals show", func(t *testing.T) {
		owner, plan := s.ask()
		require.Equal(t, 40, owner.PID)
		require.Equal(t, []string{s.program, "run", "--session", "ses_1", "--format", "json", "--agent", "build", "go", "on"}, plan.Run.Argv)
		require.Equal(t, s.dir, plan.Run.Dir)
		require.False(t, plan.Run.Unverifiable, "the run ends with the turn")
	})
	t.Run("a turn that is not over", func(t *testing.T) {
		s.works(true)
		_, plan := s.ask()
		require.NotNil(t, plan.Skip)
		require.Nil(t, plan.Run)
		s.works(false)
	})
	t.Run("one that works by itself there", func(t *testing.T) {
		for _, p := range []procDir{
			{pid: 42, argv: []string{"opencode", "--standalone"}, cwd: s.dir},
			{pid: 42, argv: []string{"opencode"}, cwd: s.dir, open: []string{s.path}}, // of version 1
		} {
			s.agent.Processes = fakeProc(t, background, terminal, p)
			owner, plan := s.ask()
			require.Equal(t, 42, owner.PID)
			require.Equal(t, agent.Plan{}, plan, "nothing reaches it")
		}
		s.agent.Processes = fakeProc(s.t, background, terminal)
	})
	t.Run("a server of another database", func(t *testing.T) {
		other := background
		other.open = []string{"/elsewhere/opencode.db"}
		s.agent.Processes = fakeProc(t, other)
		owner, plan := s.ask()
		require.Nil(t, owner)
		require.Contains(t, plan.Skip.Why, "does not run")
		s.agent.Processes = fakeProc(s.t, background, terminal)
	})
	t.Run("a person went on", func(t *testing.T) {
		s.two.message2("msg_9", "ses_1", "user", time.Now(), fmt.Sprintf(`{"text":"hi","time":{"created":%d}}`, time.Now().UnixMilli()))
		_, plan := s.ask()
		require.Contains(t, plan.Skip.Why, "a newer prompt")
	})
	t.Run("version 2 does not have it", func(t *testing.T) {
		s.exec("DELETE FROM session_v2")
		_, plan := s.ask()
		require.Contains(t, plan.Skip.Why, "opencode 2 does not have the session")
		require.True(t, plan.Skip.Park)
	})
}
