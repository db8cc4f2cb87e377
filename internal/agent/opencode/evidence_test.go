package opencode

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/agent/opencode/database"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// Other versions have other columns: a missing column is an unknown value.
func TestADatabaseWithFewColumnsIsUnderstood(t *testing.T) {
	t.Parallel()
	a := newAgent(t, agent.Options{})
	s := &store{t: t, path: filepath.Join(t.TempDir(), "old copy?#.sqlite")}
	s.open()
	s.exec(`CREATE TABLE session (id text); CREATE TABLE message (id text, session_id text, data text); CREATE TABLE part (id text)`)
	s.exec(`INSERT INTO session VALUES ('ses_1'), ('ses_2')`)
	s.exec(`INSERT INTO message VALUES ('msg_1', 'ses_1', ?)`, `{"role":"assistant","time":{"created":1794700878837,"completed":1794700893297}`+refused(5)+`}`)
	s.exec(`INSERT INTO message VALUES ('msg_0', 'ses_1', ?)`, `{"role":"user","time":{"created":1794700878000}}`)
	s.exec(`INSERT INTO message VALUES ('msg_2', 'ses_2', 'no JSON'), ('msg_3', 'ses_2', '{"role":5,"time":"soon"}'), ('msg_4', 'ses_2', '[]')`)

	found, err := a.Evidence(s.path)
	require.NoError(t, err)
	require.Len(t, found, 2, "one for each session")
	got := limited(t, found[0].Event)
	require.Equal(t, limit.RateLimit, got.Class)
	require.Equal(t, time.UnixMilli(1794700893297+5000).UTC(), got.Reset.At)
	require.Empty(t, found[0].Cwd)
	require.IsType(t, resume.Progressed{}, found[1].Event, "nothing that can be read says that it stopped")
}

func TestAFileThatIsNoDatabaseOfOpencodeIsRefused(t *testing.T) {
	t.Parallel()
	a := newAgent(t, agent.Options{})
	dir := t.TempDir()
	_, err := a.Evidence(filepath.Join(dir, "none.db"))
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = a.Evidence(dir)
	require.ErrorContains(t, err, "not a regular file")

	text := filepath.Join(dir, "text.db")
	require.NoError(t, os.WriteFile(text, []byte("SQLite format 3\x00 and then nothing of the kind, whatever its beginning says"), 0o600))
	_, err = a.Evidence(text)
	require.Error(t, err)

	s := &store{t: t, path: filepath.Join(dir, "other.db")}
	s.open()
	s.exec(`CREATE TABLE places (id)`)
	_, err = a.Evidence(s.path)
	require.ErrorContains(t, err, "not one of opencode")
	require.NoFileExists(t, filepath.Join(dir, "none.db"), "nothing is created")
}

func TestWhatEachFailureMeans(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC)
	for data, want := range map[string]struct {
		class limit.Class
		wait  time.Duration
	}{
		`{"name":"UnknownError","data":{"message":"{\"message\":\"Rate limit reached mid stream\",\"type\":\"requests\",\"code\":\"rate_limit_exceeded\"}"}}`:                                                                                {limit.RateLimit, 0},
		`{"name":"UnknownError","data":{"message":"{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}"}}`:                                                                                                                            {limit.Overloaded, 0},
		`{"name":"UnknownError","data":{"message":"TypeError: undefined is not a function"}}`:                                                                                                                                                {limit.Unknown, 0},
		`{"name":"ContextOverflowError","data":{"message":"Session too large to compact - context exceeds model limit even after stripping media"}}`:                                                                                         {limit.ContextOverflow, 0},
		`{"name":"ProviderAuthError","data":{"providerID":"x","message":"no key"}}`:                                                                                                                                                          {limit.Auth, 0},
		`{"name":"APIError","data":{"message":"Connection reset by server","isRetryable":true,"metadata":{"code":"ECONNRESET"}}}`:                                                                                                            {limit.Network, 0},
		`{"name":"APIError","data":{"message":"it broke","isRetryable":true}}`:                                                                                                                                                               {limit.Network, 0},
		`{"name":"APIError","data":{"message":"Overloaded","statusCode":529,"isRetryable":true}}`:                                                                                                                                            {limit.Overloaded, 0},
		`{"name":"APIError","data":{"message":"slow down","statusCode":429,"responseHeaders":{"Retry-After":"7"}}}`:                                                                                                                          {limit.RateLimit, 7 * time.Second},
		`{"name":"APIError","data":{"message":"slow down","statusCode":429,"responseHeaders":{"retry-after":"7","date":"Sat, 14 Nov 2026 23:59:00 GMT"}}}`:                                                                                   {limit.RateLimit, -53 * time.Second},
		`{"name":"APIError","data":{"message":"This request would exceed your account's rate limit","statusCode":429,"responseHeaders":{"anthropic-ratelimit-unified-status":"rejected","anthropic-ratelimit-unified-reset":"1794711600"}}}`: {limit.UsageLimit, 3 * time.Hour},
		`{"name":"APIError","data":{"message":"You exceeded your current quota, please check your plan and billing details.","statusCode":429,"responseBody":"{\"error\":{\"code\":\"insufficient_quota\"}}"}}`:                              {limit.Billing, 0},
		`{"name":"Brand new","data":"what"}`: {limit.Unknown, 0},
		`{}`:                                 {limit.Unknown, 0},
	} {
		said := database.ReadMessage(fmt.Appendf(nil, `{"role":"assistant","time":{"completed":%d},"error":%s}`, at.UnixMilli(), data), 0, 0)
		got := limited(t, said.Event(limit.Reader{Zone: time.UTC}))
		require.Equal(t, want.class.String(), got.Class.String(), data)
		require.Equal(t, want.class.Transient(), got.WaitHelps, data)
		require.Equal(t, want.wait != 0, got.Reset.Stated(), data)
		if want.wait != 0 {
			require.Equal(t, at.Add(want.wait), got.Reset.At.UTC(), data)
		}
	}
}

// A large database: the cost of the first reading, and of one while opencode works.
func BenchmarkLook(b *testing.B) {
	s := newStore(b, b.TempDir())
	s.exec("BEGIN")
	began := time.Now().Add(-time.Hour)
	for session := range 1000 {
		id := fmt.Sprintf("ses_%04d", session)
		s.session(id, "/src/app", began)
		for m := range 50 {
			s.assistant(fmt.Sprintf("msg_%04d_%02d", session, m), id, began.Add(time.Duration(m)*time.Second), finished)
		}
	}
	s.exec("COMMIT")
	for name, begun := range map[string]bool{"first sight": false, "while it works": true} {
		b.Run(name, func(b *testing.B) {
			reader := database.Reader{Path: s.path}
			var cursor *database.Cursor
			if begun {
				news, err := reader.Since(b.Context(), nil, false, time.Now())
				require.NoError(b, err)
				require.Len(b, news.Observations, 1000)
				cursor = &news.Cursor
			}
			for b.Loop() {
				_, err := reader.Since(b.Context(), cursor, begun, time.Now())
				require.NoError(b, err)
			}
		})
	}
}
