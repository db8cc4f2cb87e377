package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

// idleEnv makes the test binary a program of that name that does nothing.
const idleEnv = "RESUMED_TEST_IDLE"

// idle configures it.
type idle struct {
	Until    string // the file whose creation ends it; empty: nothing does
	Database string // that it has open
	Service  string // the file in which it registers itself as a background server of opencode 2
}

func runIdle(settings string) int {
	var s idle
	if err := json.Unmarshal([]byte(settings), &s); err != nil {
		return fail(err)
	}
	if s.Database != "" {
		database, err := os.Open(s.Database)
		if err != nil {
			return fail(err)
		}
		defer database.Close()
	}
	if s.Service != "" {
		if err := os.WriteFile(s.Service, fmt.Appendf(nil, `{"id":"x","version":"2.1.4","pid":%d}`, os.Getpid()), 0o600); err != nil {
			return fail(err)
		}
	}
	for {
		if _, err := os.Stat(s.Until); err == nil {
			return 0
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// opencodeBox is a box with a program of opencode that only records its calls, and with one session.
type opencodeBox struct {
	*box
	db  *opencodeDB
	seq int
}

func newOpencodeBox(t *testing.T) *opencodeBox {
	b := &opencodeBox{box: newBox(t)}
	b.write("src/main.go", "package main\n")
	b.write("bin/opencode", "#!/bin/sh\necho \"$*\" >> \"$HOME/runs\"\n")
	b.write(configFile, "[backoff]\nbase_delay = \"100ms\"\n[resume]\nmargin = \"0s\"\nstagger = \"0s\"\n")
	b.db = b.opencodeDB()
	b.db.session("ses_1", "", b.path("src"))
	return b
}

// A server may hold sessions of any directory, and its user may not know that: it is named.
func TestASessionOfAnOpencodeServerIsContinuedAfterItsEnd(t *testing.T) {
	b := newOpencodeBox(t)
	b.standIn("opencode", idleEnv, idle{Until: b.path("ended"), Database: b.db.path}, b.path("src"), "serve", "--port", "4096")
	b.start()
	b.db.refused("msg_1", "ses_1", 0)
	b.until("its server is named", func() bool {
		s := b.session("ses_1")
		return s.State == resume.Waiting && strings.Contains(s.Reason, "opencode serve (process") && strings.Contains(s.Reason, "end that")
	})
	require.Empty(t, b.read("runs"))
	b.write("ended", "")
	_, errOut, code := b.run("retry", "ses_1") // not after a minute
	require.Zero(t, code, errOut)
	b.until("it is continued", func() bool { return b.read("runs") != "" })
	require.Equal(t, "run --session ses_1 --format json continue\n", b.read("runs"))
}

// newOpencode2Box is a box in which opencode 2 has taken over the database of version 1, with a session that version 1
// was refused in.
func newOpencode2Box(t *testing.T) *opencodeBox {
	b := newOpencodeBox(t)
	b.db.refused("msg_1", "ses_1", 3600)
	b.db.exec(`CREATE TABLE session_v2 (id text PRIMARY KEY, parent_id text, directory text, agent text, model text,
			time_created integer, time_updated integer, time_archived integer, time_suspended integer, resume_attempts integer);
		CREATE TABLE session_message (id text PRIMARY KEY, session_id text, type text, seq integer, time_created integer, time_updated integer, data text)`)
	b.session2("ses_1")
	b.answers("ses_1", `"finish":"stop"`)
	return b
}

func (b *opencodeBox) session2(id string) {
	b.db.exec(`INSERT INTO session_v2 (id, directory, agent, model, time_created) VALUES (?, ?, 'plan', '{"id":"m","providerID":"p"}', ?)`,
		id, b.path("src"), time.Now().UnixMilli())
}

// answers writes a turn that ended in that way.
func (b *opencodeBox) answers(session, how string) {
	now := time.Now().UnixMilli()
	b.seq++
	b.db.exec("INSERT INTO session_message VALUES (?, ?, 'assistant', ?, ?, ?, ?)", fmt.Sprint("msg_two_", b.seq), session, b.seq, now, now,
		fmt.Sprintf(`{"agent":"plan","model":{"id":"m","providerID":"p"},"content":[],"time":{"created":%d,"completed":%d},%s}`, now, now, how))
}

const refused2 = `"finish":"error","error":{"type":"provider.rate-limit","message":"Rate limit reached for requests","status":429}`

// background runs the server that holds all sessions.
func (b *opencodeBox) background() {
	b.t.Helper()
	b.write(".local/state/opencode/service.json", "")
	b.standIn("opencode", idleEnv, idle{Service: b.path(".local", "state", "opencode", "service.json"), Database: b.db.path}, b.path(".local"), "serve", "--service")
	b.until("it is registered", func() bool { return b.read(".local/state/opencode/service.json") != "" })
}

func TestOpencode2IsContinuedOnlyAtAPersonsWord(t *testing.T) {
	b := newOpencode2Box(t)
	b.session2("ses_2")
	b.start()
	b.answers("ses_2", strings.Replace(refused2, "for requests", "for requests. Please try again in 1 hour.", 1)) // it is told before
	parked := func(why string) view.Session {
		var s view.Session
		b.until("it is parked because "+why, func() bool {
			s = b.session("ses_2")
			return s.State == resume.Parked && strings.Contains(s.Reason, why)
		})
		require.Empty(t, s.Attempts)
		require.Empty(t, b.read("runs"))
		return s
	}
	parked("resumed was not tried with opencode 2; `resumed retry ")
	require.NotEqual(t, resume.Waiting, b.session("ses_1").State, "it went on in version 2, whatever version 1's tables say")
	retry := func() {
		_, errOut, code := b.run("retry", "ses_2", "--now")
		require.Zero(t, code, errOut)
	}
	retry()
	parked("opencode service start")

	b.background()
	b.standIn("opencode", idleEnv, idle{}, b.path("src")) // a terminal, which only shows it
	retry()
	b.until("a run gives the prompt to the server", func() bool { return b.read("runs") != "" })
	b.answers("ses_2", `"finish":"stop"`)
	b.untilState("ses_2", resume.Watching)
	require.Equal(t, "run --session ses_2 --format json --agent plan continue\n", b.read("runs"))

	b.answers("ses_2", refused2)
	b.until("the next stop needs a word of its own", func() bool { return b.session("ses_2").State == resume.Parked })
	require.Equal(t, 1, strings.Count(b.read("runs"), "\n"))
}

// A turn that opencode has not given up is never continued beside it, even if its last answer is a refusal.
func TestOpencode2KeepsItsOwnTurns(t *testing.T) {
	b := newOpencode2Box(t)
	b.session2("ses_2")
	b.session2("ses_3")
	b.db.exec("UPDATE session_v2 SET time_suspended = 1794700000000, resume_attempts = 1 WHERE id = 'ses_3'")
	b.start()
	b.answers("ses_3", refused2)
	b.answers("ses_2", refused2)
	b.untilState("ses_2", resume.Parked)
	require.NotContains(t, []resume.State{resume.Waiting, resume.Parked}, b.session("ses_3").State)

	b.db.exec("UPDATE session_v2 SET time_suspended = NULL WHERE id = 'ses_3'") // it gave up
	b.answers("ses_2", `"finish":"stop"`)                                       // else the account's limit counts for both
	b.untilState("ses_3", resume.Parked)
	require.Empty(t, b.read("runs"))
}
