package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

// serveInBackground stands in for the background server of opencode 2.
func serveInBackground(s opencodeServer) int {
	database, err := os.Open(s.Database)
	if err != nil {
		return fail(err)
	}
	defer database.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fail(err)
	}
	text := fmt.Sprintf(`{"id":"x","version":"2.1.4","url":"http://%s","pid":%d}`, listener.Addr(), os.Getpid())
	if err := os.WriteFile(s.Service, []byte(text), 0o600); err != nil {
		return fail(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"healthy":true,"version":"2.1.4","pid":%d}`, os.Getpid())
	})
	return fail(http.Serve(listener, mux))
}

// box2 is a box in which opencode 2 has taken over the database of version 1, with a session that version 1 was
// refused in.
type box2 struct {
	*servedBox
	seq int
}

func newBox2(t *testing.T) *box2 {
	b := &box2{servedBox: newServedBox(t)}
	b.db.refused("msg_1", "ses_1", 3600)
	b.db.exec(`CREATE TABLE session_v2 (id text PRIMARY KEY, parent_id text, directory text, agent text, model text,
			time_created integer, time_updated integer, time_archived integer, time_suspended integer, resume_attempts integer);
		CREATE TABLE session_message (id text PRIMARY KEY, session_id text, type text, seq integer, time_created integer, time_updated integer, data text)`)
	b.write(configFile, "[backoff]\nbase_delay = \"100ms\"\n[resume]\nmargin = \"0s\"\nstagger = \"0s\"\n")
	b.session2("ses_1")
	b.answers("ses_1", `"finish":"stop"`)
	return b
}

func (b *box2) session2(id string) {
	now := time.Now().UnixMilli()
	b.db.exec(`INSERT INTO session_v2 (id, directory, agent, model, time_created) VALUES (?, ?, 'plan', '{"id":"m","providerID":"p"}', ?)`,
		id, b.path("src"), now)
}

// answers writes a turn that ended in that way.
func (b *box2) answers(session, how string) {
	now := time.Now().UnixMilli()
	b.seq++
	b.db.exec("INSERT INTO session_message VALUES (?, ?, 'assistant', ?, ?, ?, ?)", fmt.Sprint("msg_two_", b.seq), session, b.seq, now, now,
		fmt.Sprintf(`{"agent":"plan","model":{"id":"m","providerID":"p"},"content":[],"time":{"created":%d,"completed":%d},%s}`, now, now, how))
}

const refused2 = `"finish":"error","error":{"type":"provider.rate-limit","message":"Rate limit reached for requests","status":429}`

// background runs the server that holds all sessions.
func (b *box2) background() {
	b.t.Helper()
	file := b.path(".local", "state", "opencode", "service.json")
	b.write(".local/state/opencode/service.json", "")
	b.standIn("opencode", opencodeServerEnv, opencodeServer{Service: file, Database: b.db.path}, b.path(".local"), "serve", "--service")
	b.until("it is registered", func() bool { return b.read(".local/state/opencode/service.json") != "" })
}

const run2 = "run --session ses_2 --format json --agent plan continue\n"

func TestOpencode2IsContinuedThroughItsServer(t *testing.T) {
	b := newBox2(t)
	b.session2("ses_2")
	b.start()
	b.answers("ses_2", refused2)

	var s view.Session
	b.until("a person is told what helps", func() bool {
		s = b.session("ses_2")
		return s.State == resume.Waiting && s.Reason != "" && b.read("runs") == "" && strings.Contains(s.Reason, "opencode service start")
	})
	require.Empty(t, s.Attempts)
	require.NotEqual(t, resume.Waiting, b.session("ses_1").State, "it went on in version 2, whatever version 1's tables say")

	b.background()
	b.standIn("opencode", opencodeServerEnv, opencodeServer{}, b.path("src")) // a terminal, which only shows it
	_, errOut, code := b.run("retry", "ses_2")
	require.Zero(t, code, errOut)
	b.until("a run gives the prompt to the server", func() bool { return b.read("runs") != "" })
	b.answers("ses_2", `"finish":"stop"`)
	b.untilState("ses_2", resume.Watching)
	require.Equal(t, run2, b.read("runs"))
	out, _, _ := b.run("doctor")
	require.NotContains(t, out, "server = ", "the server is found without a setting")
}

// A turn that opencode has not given up is never continued beside it, even if its last answer is a refusal.
func TestOpencode2KeepsItsOwnTurns(t *testing.T) {
	b := newBox2(t)
	b.background()
	for _, id := range []string{"ses_2", "ses_3"} {
		b.session2(id)
	}
	b.db.exec("UPDATE session_v2 SET time_suspended = 1794700000000, resume_attempts = 1 WHERE id = 'ses_3'")
	b.start()
	b.answers("ses_3", refused2)
	b.answers("ses_2", refused2)
	b.until("the other one is continued", func() bool { return b.read("runs") != "" })
	require.Equal(t, run2, b.read("runs"))
	require.NotEqual(t, resume.Waiting, b.session("ses_3").State)

	b.db.exec("UPDATE session_v2 SET time_suspended = NULL WHERE id = 'ses_3'") // it gave up
	b.answers("ses_2", `"finish":"stop"`)                                       // else it waits for that one
	b.until("it is continued now", func() bool { return strings.Contains(b.read("runs"), "--session ses_3 ") })
}
