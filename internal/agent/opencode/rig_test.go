package opencode

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/agenttest"
	"resumed/internal/limit"
	"resumed/internal/process"
	"resumed/internal/procfs"
	"resumed/internal/resume"
)

// captured is one session that a real opencode wrote, and what it means.
type captured struct {
	Case       string      `json:"case"`
	File       string      `json:"file"`
	Class      limit.Class `json:"class"`
	WaitHelps  *bool       `json:"wait_helps"`
	Reset      time.Time   `json:"reset"`
	Session    string      `json:"session"`
	Cwd        string      `json:"cwd"`
	Detectable *bool       `json:"detectable_from_file"`
}

func (c captured) shows() bool { return c.Detectable == nil || *c.Detectable }

func captures(t testing.TB) []captured {
	var ofDatabases []captured
	for _, c := range agenttest.Cases[captured](t) {
		if strings.HasPrefix(c.File, "db/") {
			ofDatabases = append(ofDatabases, c)
		}
	}
	require.NotEmpty(t, ofDatabases)
	return ofDatabases
}

// rows are the rows of one captured session.
type rows struct {
	Session map[string]any   `json:"session"`
	Message []map[string]any `json:"message"`
	Part    []map[string]any `json:"part"`
}

func loadRows(t testing.TB, file string) rows {
	data, err := os.ReadFile(filepath.Join("testdata", filepath.FromSlash(file)))
	require.NoError(t, err)
	var r rows
	decoder := json.NewDecoder(strings.NewReader(string(data)))
	decoder.UseNumber()
	require.NoError(t, decoder.Decode(&r))
	return r
}

// schema is that of opencode, as far as it matters.
const schema = `
CREATE TABLE session (id text PRIMARY KEY, project_id text, parent_id text, directory text, title text, version text,
  agent text, model text, time_created integer, time_updated integer, time_compacting integer, time_archived integer);
CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL, time_created integer, time_updated integer, data text NOT NULL);
CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL, time_created integer, time_updated integer, data text NOT NULL);
CREATE INDEX message_session_idx ON message (session_id, time_created, id);
CREATE INDEX part_message_idx ON part (message_id, id);
`

// store is a database with its own writer, like opencode.
type store struct {
	t    testing.TB
	path string
	db   *sql.DB
}

// newStore creates a database in dir.
func newStore(t testing.TB, dir string) *store {
	require.NoError(t, os.MkdirAll(dir, 0o700))
	s := &store{t: t, path: filepath.Join(dir, "opencode.db")}
	s.open()
	s.exec(schema)
	return s
}

func (s *store) open() {
	// Nothing is synced, unlike by opencode: who reads sees the same, and no test cuts the power.
	file := url.URL{Scheme: "file", Path: s.path, RawQuery: "_pragma=synchronous(OFF)&_pragma=journal_mode(WAL)&_pragma=busy_timeout(0)"}
	db, err := sql.Open("sqlite", file.String())
	require.NoError(s.t, err)
	db.SetMaxOpenConns(1)
	s.db = db
	s.t.Cleanup(func() { require.NoError(s.t, db.Close()) })
}

func (s *store) exec(query string, args ...any) {
	s.t.Helper()
	_, err := s.db.Exec(query, args...)
	require.NoError(s.t, err)
}

func (s *store) insert(table string, row map[string]any) {
	s.t.Helper()
	var names, marks []string
	var values []any
	for name, value := range row {
		if n, ok := value.(json.Number); ok {
			value, _ = n.Int64()
		}
		names, marks, values = append(names, name), append(marks, "?"), append(values, value)
	}
	s.exec(fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", table, strings.Join(names, ", "), strings.Join(marks, ", ")), values...)
}

func (s *store) add(r rows) {
	s.t.Helper()
	s.insert("session", r.Session)
	for _, m := range r.Message {
		s.insert("message", m)
	}
	for _, p := range r.Part {
		s.insert("part", p)
	}
}

func (s *store) session(id, directory string, at time.Time) {
	s.t.Helper()
	s.insert("session", map[string]any{"id": id, "directory": directory, "time_created": at.UnixMilli(), "time_updated": at.UnixMilli()})
}

// message writes a message, or changes the one of that id.
func (s *store) message(id, session string, at time.Time, data string) {
	s.t.Helper()
	s.exec(`INSERT INTO message (id, session_id, time_created, time_updated, data) VALUES (?1, ?2, ?3, ?4, ?5)
		ON CONFLICT (id) DO UPDATE SET time_updated = ?4, data = ?5`, id, session, at.UnixMilli(), time.Now().UnixMilli(), data)
}

func (s *store) user(id, session string, at time.Time) {
	s.t.Helper()
	s.message(id, session, at, fmt.Sprintf(`{"role":"user","time":{"created":%d}}`, at.UnixMilli()))
}

// assistant writes a message, which is finished if more says how.
func (s *store) assistant(id, session string, at time.Time, more string) {
	s.t.Helper()
	ms := at.UnixMilli()
	times := fmt.Sprintf(`"created":%d`, ms)
	if more != "" {
		times += fmt.Sprintf(`,"completed":%d`, ms+5)
	}
	s.message(id, session, at, fmt.Sprintf(`{"role":"assistant","time":{%s}%s}`, times, more))
}

const (
	finished = `,"finish":"stop"`
	cutOff   = ` ` // completed, and nothing else
)

// refused is a message's error with a Retry-After.
func refused(seconds int) string {
	return fmt.Sprintf(`,"error":{"name":"APIError","data":{"message":"Rate limit reached for requests","statusCode":429,`+
		`"isRetryable":true,"responseHeaders":{"retry-after":"%d"}}}`, seconds)
}

func newAgent(t testing.TB, o agent.Options) *Agent {
	if o.Zone == nil {
		o.Zone = time.UTC
	}
	if o.Roots == nil {
		o.Roots = []string{t.TempDir()}
	}
	o.Grace = cmp.Or(o.Grace, 2*time.Hour)
	a, err := openCode.make(o)
	require.NoError(t, err)
	a.state = t.TempDir()
	a.Processes = process.At(procfs.FS(t.TempDir())) // no processes
	return a
}

// limited returns the refusal that an event is.
func limited(t testing.TB, event resume.Event) resume.Limited {
	t.Helper()
	require.IsType(t, resume.Limited{}, event)
	return event.(resume.Limited)
}

// leavings returns the names of the files in a directory with their sizes.
func leavings(t testing.TB, dir string) map[string]int64 {
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	all := make(map[string]int64)
	for _, entry := range entries {
		info, err := entry.Info()
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		require.NoError(t, err)
		all[entry.Name()] = info.Size()
	}
	return all
}
