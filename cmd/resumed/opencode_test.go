package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"resumed/internal/explain"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// opencodeDB is a database like opencode's.
type opencodeDB struct {
	b    *box
	path string
	db   *sql.DB
}

func (b *box) opencodeDB() *opencodeDB {
	b.t.Helper()
	o := &opencodeDB{b: b, path: b.path(".local", "share", "opencode", "opencode.db")}
	require.NoError(b.t, os.MkdirAll(filepath.Dir(o.path), 0o755))
	db, err := sql.Open("sqlite", "file:"+o.path+"?_pragma=journal_mode(WAL)&_pragma=busy_timeout(2000)")
	require.NoError(b.t, err)
	b.t.Cleanup(func() { db.Close() })
	o.db = db
	o.exec(`CREATE TABLE session (id text PRIMARY KEY, parent_id text, directory text, time_created integer, time_updated integer, time_archived integer);
		CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer, time_updated integer, data text);
		CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, time_created integer, time_updated integer, data text)`)
	return o
}

func (o *opencodeDB) exec(query string, args ...any) {
	o.b.t.Helper()
	_, err := o.db.Exec(query, args...)
	require.NoError(o.b.t, err)
}

func (o *opencodeDB) session(id, parent, directory string) {
	o.b.t.Helper()
	now := time.Now().UnixMilli()
	o.exec("INSERT INTO session VALUES (?, nullif(?, ''), ?, ?, ?, NULL)", id, parent, directory, now, now)
}

// refused writes a turn that the provider refused.
func (o *opencodeDB) refused(id, session string, retryAfter int) {
	o.b.t.Helper()
	now := time.Now().UnixMilli()
	o.exec("INSERT INTO message VALUES (?, ?, ?, ?, ?)", id, session, now, now, fmt.Sprintf(
		`{"role":"assistant","time":{"created":%d,"completed":%d},"error":{"name":"APIError","data":{"message":"Rate limit reached for requests",
		"statusCode":429,"isRetryable":true,"responseHeaders":{"retry-after":"%d"}}}}`, now, now, retryAfter))
}

// opencodeScript stands in for opencode: it records its call, and the test writes its turn.
const opencodeScript = `#!/bin/sh
echo "args=$* cwd=$(pwd -P) PWD=$PWD mark=${RESUMED_MARK:+set}" >> "$HOME/opencode-calls"
while [ ! -e "$HOME/answered" ]; do sleep 0.05; done
`

func TestOpencodeIsResumedWhereItWorked(t *testing.T) {
	b := newBox(t)
	b.write("tools/opencode", opencodeScript)
	b.write("src/app/main.go", "package main\n")
	b.write(configFile, fmt.Sprintf("[resume]\nprompt = \"please go on\"\n[[agent]]\nname = \"opencode\"\ncommand = %q\n", b.path("tools", "opencode")))
	b.start()

	db := b.opencodeDB() // appears while the daemon runs
	db.session("ses_parent", "", b.path("src", "app"))
	db.session("ses_child", "ses_parent", b.path("src", "app"))
	db.refused("msg_0", "ses_child", 1)
	limited := time.Now()
	db.refused("msg_1", "ses_parent", 2)
	waiting := b.untilState("ses_parent", resume.Waiting)
	require.Equal(t, limit.RateLimit, waiting.Class)
	require.NotNil(t, waiting.ResetAt)
	require.Equal(t, "opencode:default", waiting.Account)
	require.Equal(t, b.path("src", "app"), waiting.Cwd)

	b.until("opencode is called", func() bool { return b.read("opencode-calls") != "" })
	require.GreaterOrEqual(t, time.Since(limited), 2*time.Second)
	require.Equal(t, fmt.Sprintf("args=run --session ses_parent --format json please go on cwd=%[1]s PWD=%[1]s mark=set\n",
		b.path("src", "app")), b.read("opencode-calls"))

	now := time.Now().UnixMilli()
	db.exec("INSERT INTO message VALUES ('msg_2', 'ses_parent', ?, ?, ?)", now, now, fmt.Sprintf(`{"role":"user","time":{"created":%d}}`, now))
	db.exec("INSERT INTO message VALUES ('msg_3', 'ses_parent', ?, ?, ?)", now+1, now+9,
		fmt.Sprintf(`{"role":"assistant","time":{"created":%d,"completed":%d},"finish":"stop"}`, now+1, now+9))
	after := b.untilState("ses_parent", resume.Watching)
	require.Empty(t, after.Attempts, "movement forgives")
	b.write("answered", "")
	b.untilOver("ses_parent")
	require.Equal(t, 1, strings.Count(b.read("opencode-calls"), "\n"))
	require.Empty(t, b.session("ses_child").ID, "a child is its parent's business")
}

func TestExplainOfADatabase(t *testing.T) {
	b := newBox(t)
	db := b.opencodeDB()
	db.session("ses_a", "", "/src/a")
	db.session("ses_b", "ses_a", "/src/a")
	db.session("ses_c", "", "/src/c")
	db.refused("msg_1", "ses_a", 3600)
	db.refused("msg_2", "ses_b", 3600)
	require.NoError(t, db.db.Close())
	elsewhere := b.path("copy.sqlite")
	require.NoError(t, os.Rename(db.path, elsewhere))

	out, errOut, code := b.run("explain", elsewhere, "--json")
	require.Zero(t, code, errOut)
	found := make(map[string]explain.Explanation)
	for line := range strings.Lines(out) {
		var e explain.Explanation
		require.NoError(t, json.Unmarshal([]byte(line), &e))
		require.Equal(t, "opencode", e.Agent)
		require.Equal(t, elsewhere, e.File)
		found[e.Session] = e
	}
	require.Len(t, found, 3)
	require.Equal(t, explain.Wait, found["ses_a"].Action)
	require.Equal(t, limit.RateLimit, found["ses_a"].Class)
	require.Equal(t, "/src/a", found["ses_a"].Cwd)
	require.WithinDuration(t, time.Now().Add(time.Hour), *found["ses_a"].ResetAt, time.Minute)
	require.Equal(t, explain.Leave, found["ses_b"].Action, "a child is never to be acted on")
	require.Contains(t, found["ses_b"].Why, "child")
	require.Equal(t, explain.Leave, found["ses_c"].Action)
	require.Equal(t, limit.None, found["ses_c"].Class)
	require.Equal(t, []string{"copy.sqlite"}, names(t, b.home, "copy.sqlite"), "it is only read")
}

// names returns the files of a directory that begin with prefix.
func names(t *testing.T, dir, prefix string) []string {
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var all []string
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), prefix) {
			all = append(all, entry.Name())
		}
	}
	return all
}
