package main

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/notify"
	"resumed/internal/resume"
)

func TestNotifyTestSaysWhatCameBack(t *testing.T) {
	b, hook := newBox(t), newHook(t)
	b.write(configFile, `
[[notify.webhook]]
name = "ops"
url = "`+hook.URL+`/secret-path"
[[notify.command]]
name = "script"
run = ["sh", "-c", "cat > `+b.path("told")+`"]
[[notify.command]]
name = "broken"
run = ["sh", "-c", "echo nobody home >&2; exit 9"]
`)
	out, errOut, code := b.run("notify", "test")
	require.Equal(t, exitFailed, code, "one of them failed")
	require.Empty(t, errOut, "all was said")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	require.Len(t, lines, 3)
	require.Contains(t, out, "ok     ops (")
	require.Contains(t, out, "200")
	require.Contains(t, out, "failed broken")
	require.Contains(t, out, "nobody home")
	require.NotContains(t, out, "secret-path")
	require.Len(t, hook.got(), 1)
	require.Equal(t, notify.Test, hook.got()[0].Event)
	require.Contains(t, b.read("told"), `"event":"test"`)

	out, errOut, code = b.run("notify", "test", "script", "--json")
	require.Zero(t, code, errOut)
	var said struct {
		Version  int
		Channels []trial
	}
	require.NoError(t, json.Unmarshal([]byte(out), &said))
	require.Equal(t, 1, said.Version)
	require.Len(t, said.Channels, 1)
	require.True(t, said.Channels[0].OK)
	require.Nil(t, said.Channels[0].Error)
	require.Len(t, hook.got(), 1, "only the one that was named")

	_, errOut, code = b.run("notify", "test", "pigeon")
	require.Equal(t, exitUsage, code)
	require.Contains(t, errOut, "Try: one of: ops, script, broken")
	b.write(configFile, "[[notify.webhook]]\nname = \"ops\"\n")
	_, _, code = b.run("notify", "test")
	require.Equal(t, exitUsage, code, "a bad configuration")
}

func TestStatusShowsNoticesThatDidNotArrive(t *testing.T) {
	b := newBox(t)
	b.write(configFile, strings.Replace(bot, `"sh", "./resume.sh"`, `"no-such-program"`, 1)+`
[notify]
group_wait = "0s"
[[notify.webhook]]
name = "ops"
url = "http://127.0.0.1:9/"
[[notify.command]]
name = "script"
run = ["no-such-program"]
`)
	b.start()
	require.Zero(t, b.status().Daemon.Notices.Pending)
	b.write("bot/logs/s-1.log", "rate limited, retry in 0s\n")
	b.untilState("s-1", resume.Parked)
	b.until("a delivery waits", func() bool {
		n := b.status().Daemon.Notices
		return n.Pending >= 1 && n.Channels[0].Name == "ops" && n.Channels[0].LastError != ""
	})
	out, _, code := b.run("status")
	require.Zero(t, code)
	require.Contains(t, out, "notices by ops: 1 to be delivered, 0 failed:")
}

// The daemon is killed somewhere between "decided" and "delivered", again and
// again: each give-up reaches the webhook, and reaches it once.
func TestANoticeArrivesOnceWhereverTheDaemonIsKilled(t *testing.T) {
	b, hook := newBox(t), newHook(t)
	b.write(configFile, bot+`
[resume]
stagger = "0s"
[backoff]
base_delay = "1ms"
max_delay = "1ms"
max_retries = 1
[notify]
group_wait = "100ms"
[[notify.webhook]]
name = "ops"
url = "`+hook.URL+`"
`)
	b.write("bot/resume.sh", `exit 1`)
	b.start()
	dice := rand.New(rand.NewPCG(3, 4))
	for round := range 8 {
		id := fmt.Sprintf("s-%d", round)
		b.write("bot/logs/"+id+".log", "rate limited\n")
		time.Sleep(time.Duration(dice.Int64N(int64(250 * time.Millisecond))))
		b.kill(syscall.SIGKILL)
		b.start()
		b.until("the notice of "+id+" arrives", func() bool { return told(hook, id) > 0 })
	}
	time.Sleep(300 * time.Millisecond) // a second one would come by now
	for round := range 8 {
		id := fmt.Sprintf("s-%d", round)
		require.Equal(t, 1, told(hook, id), id)
	}
}

// An earlier version kept a notice in another place while it was gathered: what it
// left undelivered arrives, once, whichever place it was in.
func TestNoticesOfAnEarlierVersionArriveOnce(t *testing.T) {
	b, hook := newBox(t), newHook(t)
	b.write(configFile, bot+`
[notify]
group_wait = "0s"
[[notify.webhook]]
name = "ops"
url = "`+hook.URL+`"
`)
	left, err := os.ReadFile("testdata/older-state.sql")
	require.NoError(t, err)
	at := time.Now().Add(-time.Minute).UTC().Truncate(time.Millisecond)
	rows := strings.NewReplacer("{{.Home}}", b.home, "{{.At}}", at.Format(time.RFC3339Nano), "{{.Due}}", at.Add(time.Hour).Format(time.RFC3339Nano),
		"{{.Millis}}", fmt.Sprint(at.UnixMilli()), "{{.Seconds}}", fmt.Sprint(at.Unix())).Replace(string(left))
	b.write(".local/state/resumed/resumed.db", "")
	db, err := sql.Open("sqlite", "file:"+b.path(".local/state/resumed/resumed.db"))
	require.NoError(t, err)
	_, err = db.Exec(rows)
	require.NoError(t, errors.Join(err, db.Close()))

	for range 2 { // the second daemon finds nothing left
		b.start()
		for _, id := range []string{"s-1", "s-2"} {
			require.Equal(t, resume.GaveUp, b.untilState(id, resume.GaveUp).State)
			b.until("the notice of "+id+" arrives", func() bool { return told(hook, id) > 0 })
		}
		b.until("none is left", func() bool { return b.status().Daemon.Notices.Pending == 0 })
		b.kill(syscall.SIGTERM)
	}
	require.Len(t, hook.got(), 2)
}

// told counts the notices that a session's end was told in. One that the
// daemon died over before it could note the answer comes again under its id.
func told(h *hook, id string) int {
	notices := make(map[string]bool)
	for _, notice := range h.got() {
		for _, s := range notice.Sessions {
			if s.ID == id && notice.Event == notify.GaveUp {
				notices[notice.ID] = true
			}
		}
	}
	return len(notices)
}
