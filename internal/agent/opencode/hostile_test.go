package opencode

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// askEverything asks for all that is read from a database. Nothing may panic, and nothing that cannot be read may
// be continued.
func (s *stopped2) askEverything() (plan agent.Plan, err error) {
	ctx, cancel := context.WithTimeout(s.t.Context(), patient)
	defer cancel()
	_, _ = s.agent.Evidence(s.path)
	_, _, _ = s.agent.ContextSize(ctx, s.session)
	_, _, _ = s.agent.Denied(ctx, s.session, agent.Ran{})
	_ = begun(ctx, s.path, "", s.dir, time.Time{}, "go on")
	plan, err = s.agent.PlanLive(ctx, s.session, resume.Owner{PID: 40}, "go on")
	if err != nil {
		require.Nil(s.t, plan.Run)
	}
	return plan, err
}

// served is a stopped session whose background server lives, and that a person wants to be continued.
func served(t *testing.T) *stopped2 {
	s := newStopped2(t)
	s.agent.Processes = fakeProc(t, procDir{pid: 40, argv: []string{"opencode", "serve", "--service"}, cwd: "/", open: []string{s.path}})
	s.registers(40)
	s.session.RetryAskedAt = time.Now()
	return s
}

func TestADatabaseThatCannotBeReadLosesNothing(t *testing.T) {
	for name, spoil := range map[string]func(*stopped2) (repair func()){
		"a column is missing": func(s *stopped2) func() {
			s.exec("ALTER TABLE session_message RENAME COLUMN type TO kind")
			return func() { s.exec("ALTER TABLE session_message RENAME COLUMN kind TO type") }
		},
		"a table is missing": func(s *stopped2) func() {
			s.exec("ALTER TABLE session_message RENAME TO gone")
			return func() { s.exec("ALTER TABLE gone RENAME TO session_message") }
		},
		"it is locked": func(s *stopped2) func() {
			s.exec("PRAGMA wal_checkpoint(TRUNCATE)")
			s.exec("PRAGMA journal_mode = DELETE")
			s.exec("BEGIN EXCLUSIVE")
			s.exec("UPDATE session_v2 SET agent = agent")
			return func() { s.exec("ROLLBACK") }
		},
		"it is a directory": func(s *stopped2) func() {
			require.NoError(s.t, os.Rename(s.path, s.path+".aside"))
			require.NoError(s.t, os.Mkdir(s.path, 0o700))
			return func() {
				require.NoError(s.t, os.Remove(s.path))
				require.NoError(s.t, os.Rename(s.path+".aside", s.path))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := served(t)
			w := follow(t, s.agent, nil)
			require.IsType(t, resume.Limited{}, w.last("ses_1"))
			told := len(w.events("ses_1"))
			repair := spoil(s)
			plan, err := s.askEverything()
			if name != "it is locked" { // without a log, what was written before can be read
				require.Error(t, err)
				require.Equal(t, agent.Plan{}, plan)
			}
			repair()
			plan, err = s.askEverything()
			require.NoError(t, err)
			require.NotNil(t, plan.Run, "it is continued once it can be read")
			w.look(s.store)
			require.Len(t, w.events("ses_1"), told, "nothing is told twice")
		})
	}
}

// Whatever is in the file, reading it ends without a panic.
func TestACorruptDatabase(t *testing.T) {
	s := served(t)
	s.exec("PRAGMA wal_checkpoint(TRUNCATE)")
	whole, err := os.ReadFile(s.path)
	require.NoError(t, err)
	old := newStore(t, t.TempDir())
	old.session("ses_1", s.dir, time.Now())
	old.assistant("msg_1", "ses_1", time.Now(), refused(1))
	wal, err := os.ReadFile(old.path + "-wal")
	require.NoError(t, err)
	dice := rand.New(rand.NewPCG(1, 2))
	copies := t.TempDir()
	s.agent.homes.Roots = append(s.agent.homes.Roots, copies)
	s.path = filepath.Join(copies, "opencode.db")
	s.session.Transcript = s.path
	for i := range 60 {
		data := bytes.Clone(whole)
		switch i % 3 {
		case 0:
			data = data[:dice.IntN(len(data))]
		case 1:
			for range 1 + dice.IntN(200) {
				data[dice.IntN(len(data))] = byte(dice.Uint32())
			}
		case 2: // the log of another database
			require.NoError(t, os.WriteFile(s.path+"-wal", wal[:len(wal)-dice.IntN(len(wal)/2)], 0o600))
		}
		require.NoError(t, os.WriteFile(s.path, data, 0o600))
		_, _ = s.askEverything()
		for _, more := range []string{"-wal", "-shm"} {
			_ = os.Remove(s.path + more)
		}
	}
}

func TestRecordsOfVersion2ThatAreNone(t *testing.T) {
	deep := strings.Repeat(`{"error":`, 20_000)
	for name, data := range map[string]string{
		"nothing": "", "null": "null", "no object": "[1]", "half": `{"error":{"type":"provider.rate-limit"`, "deep": deep,
		"wrong types": `{"error":7,"time":"now","content":{},"model":[],"finish":{}}`,
		"odd times":   `{"error":{"type":"provider.rate-limit"},"time":{"created":-1,"completed":1e300}}`,
	} {
		t.Run(name, func(t *testing.T) {
			s := served(t)
			s.two.message2("msg_3", "ses_1", "assistant", time.Now(), data)
			s.two.message2("msg_4", "ses_1", "user", time.Now().Add(-time.Hour), data)
			s.exec("UPDATE session_v2 SET model = ?, time_created = 'soon', agent = x'00'", data)
			_, err := s.askEverything()
			require.NoError(t, err)
		})
	}
}

// A record of version 2 contains what tools answered, and may be long. How the turn ended is still known: a session
// that went on must not be continued again.
func TestALongRecordOfVersion2(t *testing.T) {
	content := `,"content":[{"type":"tool","name":"read","state":{"status":"completed","content":"` + strings.Repeat("x", 5<<20) + `"}}]`
	s := served(t)
	plan, err := s.askEverything()
	require.NoError(t, err)
	require.NotNil(t, plan.Run)
	s.two.assistant2("msg_3", "ses_1", time.Now(), content+`,"finish":"stop"`)
	plan, err = s.askEverything()
	require.NoError(t, err)
	require.NotNil(t, plan.Skip, "it went on")
	s.two.assistant2("msg_4", "ses_1", time.Now(), content+failed2("provider.rate-limit", "Rate limit reached", 429))
	found, err := s.agent.Evidence(s.path)
	require.NoError(t, err)
	require.Equal(t, limit.RateLimit, limited(t, found[0].Event).Class)
	s.two.message2("msg_5", "ses_1", "assistant", time.Now().Add(time.Second), `{"error":{"type":"provider.rate-limit"},"content":"`+strings.Repeat("x", 65<<20)+`"}`)
	found, err = s.agent.Evidence(s.path)
	require.NoError(t, err)
	require.IsType(t, resume.Progressed{}, found[0].Event, "a record that cannot be read is an answer")
	w := follow(t, s.agent, map[string]json.RawMessage{})
	require.Contains(t, w.logged(), "too long")
}

// What registers itself as a server may be anything.
func TestARegistrationThatIsNone(t *testing.T) {
	s := served(t)
	file := filepath.Join(s.agent.state, "service.json")
	for name, write := range map[string]func() error{
		"a pipe":       func() error { return syscall.Mkfifo(file, 0o600) },
		"a directory":  func() error { return os.Mkdir(file, 0o700) },
		"half of it":   func() error { return os.WriteFile(file, []byte(`{"pid":40,`), 0o600) },
		"no number":    func() error { return os.WriteFile(file, []byte(`{"pid":"40"}`), 0o600) },
		"another's":    func() error { return os.WriteFile(file, fmt.Appendf(nil, `{"pid":%d}`, os.Getpid()), 0o600) },
		"a huge one":   func() error { return os.WriteFile(file, bytes.Repeat([]byte(" "), 64<<20), 0o600) },
		"no regular":   func() error { return os.Symlink("/dev/zero", file) },
		"none at all":  func() error { return nil },
		"a strange id": func() error { return os.WriteFile(file, []byte(`{"pid":-40}`), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, os.RemoveAll(file))
			require.NoError(t, write())
			plan, err := s.agent.PlanLive(t.Context(), s.session, resume.Owner{PID: 40}, "go on")
			require.NoError(t, err)
			require.Nil(t, plan.Run)
		})
	}
}
