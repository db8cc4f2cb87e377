package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/control"
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
	require.Equal(t, "Try: in "+b.path(configFile)+" correct the channel, or add a channel that works here, such as [[notify.service]] for your phone\n", errOut)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	require.Len(t, lines, 3)
	require.Contains(t, out, "ok      ops (")
	require.Contains(t, out, "200")
	require.Contains(t, out, "failed  broken")
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

// The daemon is killed at many points between the decision and the delivery: each notice of a give-up
// reaches the webhook exactly once.
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
	for round := range 8 {
		id := fmt.Sprintf("s-%d", round)
		b.write("bot/logs/"+id+".log", "rate limited\n")
		switch round % 4 {
		case 1:
			b.untilState(id, resume.GaveUp)
		case 2:
			b.until("a notice waits, or has arrived", func() bool { return b.status().Daemon.Notices.Pending > 0 || told(hook, id) > 0 })
		case 3:
			b.until("the notice has just arrived", func() bool { return told(hook, id) > 0 })
		}
		b.kill(syscall.SIGKILL)
		b.start()
		b.until("the notice of "+id+" arrives", func() bool { return told(hook, id) > 0 })
	}
	b.write("bot/logs/later.log", "rate limited\n")
	b.until("a later notice arrives", func() bool { return told(hook, "later") > 0 })
	for round := range 8 {
		id := fmt.Sprintf("s-%d", round)
		require.Equal(t, 1, told(hook, id), id)
	}
}

// told counts the notices about a session's end. If the daemon died before it stored the answer, the
// notice comes again with the same id.
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

// failing is a bot with failing resumes, and a webhook that is notified.
func failing(url string) string {
	return bot + `
[resume]
stagger = "0s"
[backoff]
base_delay = "1ms"
max_delay = "1ms"
max_retries = 1
[notify]
group_wait = "0s"
[[notify.webhook]]
name = "ops"
url = "` + url + `"
`
}

// A limit line that is read after the give-up changes nothing, however often the daemon is restarted.
func TestAGiveUpIsToldOnceWhateverIsReadAfterIt(t *testing.T) {
	b, hook := newBox(t), newHook(t)
	b.write(configFile, failing(hook.URL))
	b.write("bot/resume.sh", `exit 1`)
	b.start()
	b.write("bot/logs/s-0.log", "rate limited\n")
	b.until("it is told", func() bool { return told(hook, "s-0") == 1 })
	for round := range 3 {
		before := *b.session("s-0").LimitedAt
		b.appendTo("bot/logs/s-0.log", "rate limited\n")
		b.until("the line is read", func() bool { return b.session("s-0").LimitedAt.After(before) })
		require.Zero(t, b.kill(syscall.SIGTERM))
		b.start()
		other := fmt.Sprintf("s-%d", round+1) // notices of the start are sent before this one
		b.write("bot/logs/"+other+".log", "rate limited\n")
		b.until("the notice of "+other+" arrives", func() bool { return told(hook, other) == 1 })
		require.Equal(t, 1, told(hook, "s-0"))
	}
}

// moody is a webhook that answers depending on the session in the notice.
func moody(t *testing.T, answer func(w http.ResponseWriter, session string)) *hook {
	h := &hook{}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var n notify.Notice
		if err := json.NewDecoder(r.Body).Decode(&n); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		answer(w, n.Sessions[0].ID)
		h.mu.Lock()
		defer h.mu.Unlock()
		h.notices = append(h.notices, n)
	}))
	t.Cleanup(h.Close)
	return h
}

// outbox queries a number in each row from the database of a stopped daemon.
func (b *box) outbox(statement string, args ...any) (next []int64) {
	db, err := sql.Open("sqlite", "file:"+b.path(".local/state/resumed/resumed.db"))
	require.NoError(b.t, err)
	defer db.Close()
	rows, err := db.Query(statement, args...)
	require.NoError(b.t, err)
	defer rows.Close()
	for rows.Next() {
		var n int64
		require.NoError(b.t, rows.Scan(&n))
		next = append(next, n)
	}
	require.NoError(b.t, rows.Err())
	return next
}

// A gateway with a Retry-After of 68 years costs no notice, neither its own nor another.
func TestAnAbsurdRetryAfterDropsNoNoticeAndHoldsUpNoOther(t *testing.T) {
	b := newBox(t)
	hook := moody(t, func(w http.ResponseWriter, session string) {
		if session == "s-0" {
			w.Header().Set("Retry-After", "2147483647")
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	b.write(configFile, failing(hook.URL))
	b.write("bot/resume.sh", `exit 1`)
	b.start()
	b.write("bot/logs/s-0.log", "rate limited\n")
	b.until("it is refused", func() bool { return b.channel().LastError != "" })
	b.write("bot/logs/s-1.log", "rate limited\n")
	b.until("the other one arrives", func() bool { return told(hook, "s-1") == 1 })
	b.until("that is noted", func() bool { return b.channel().Delivered == 1 })
	figures := b.channel()
	require.Equal(t, 1, figures.Pending)
	require.Zero(t, figures.Failed, "it is not dropped")
	require.Zero(t, b.kill(syscall.SIGTERM))
	next := b.outbox("SELECT next_at FROM delivery WHERE done_at = 0")
	require.Len(t, next, 1)
	require.WithinDuration(t, time.Now().Add(time.Hour), time.UnixMilli(next[0]), 5*time.Minute)
}

// Notices with times of a clock that was years ahead arrive soon after the clock is correct again, and
// so do those of a clock that was years behind.
func TestNoticesOfAClockThatWasWrongArrive(t *testing.T) {
	t.Parallel()
	for name, by := range map[string]int{"ahead": 20, "behind": -20} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t)
			var up atomic.Bool
			hook := moody(t, func(w http.ResponseWriter, _ string) {
				if !up.Load() {
					w.WriteHeader(http.StatusServiceUnavailable)
				}
			})
			b.write(configFile, failing(hook.URL))
			b.write("bot/resume.sh", `exit 1`)
			b.start()
			b.write("bot/logs/s-0.log", "rate limited\n")
			b.until("it is refused", func() bool { return b.channel().LastError != "" })
			require.Zero(t, b.kill(syscall.SIGTERM))
			then := time.Now().AddDate(by, 0, 0).UnixMilli()
			require.Len(t, b.outbox("UPDATE delivery SET created_at = ?, next_at = ? WHERE done_at = 0 RETURNING tries", then, then), 1)

			refused := len(hook.got())
			b.start()
			b.until("it is tried, and refused once more", func() bool { return len(hook.got()) > refused })
			up.Store(true)
			b.until("it arrives", func() bool { return b.channel().Delivered == 1 })
			require.Zero(t, b.channel().Failed)
		})
	}
}

// A notifier program that is being replaced is run a little later.
func TestACommandThatIsBeingWrittenIsRunLater(t *testing.T) {
	b := newBox(t)
	shell, err := os.ReadFile("/bin/sh")
	require.NoError(t, err)
	b.write("notifier", string(shell))
	require.NoError(t, os.Chmod(b.path("notifier"), 0o755))
	held, err := os.OpenFile(b.path("notifier"), os.O_WRONLY, 0)
	require.NoError(t, err)
	b.write(configFile, strings.Replace(failing("http://127.0.0.1:9/"), "[[notify.webhook]]", `[[notify.command]]
name = "script"
run = ["`+b.path("notifier")+`", "-c", "cat >> told"]
[[notify.webhook]]`, 1))
	b.write("bot/resume.sh", `exit 1`)
	b.start()
	b.write("bot/logs/s-0.log", "rate limited\n")
	script := func() control.Channel {
		for _, f := range b.status().Daemon.Notices.Channels {
			if f.Name == "script" {
				return f
			}
		}
		return control.Channel{}
	}
	b.until("it cannot be run", func() bool { return strings.Contains(script().LastError, "text file busy") })
	require.NoError(t, held.Close())
	b.until("it is run", func() bool { return script().Delivered == 1 })
}

// Telegram behind a network that refuses connections got nothing, and the test says so.
func TestNotifyTestDoesNotTakeSilenceForAnAnswer(t *testing.T) {
	b := newBox(t)
	b.write(configFile, `
[[notify.service]]
name = "phone"
url = "telegram://123456789:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa@telegram?chats=@channel"
`)
	cmd := b.command("notify", "test")
	cmd.Env = append(cmd.Env, "HTTPS_PROXY=http://127.0.0.1:1", "NO_PROXY=")
	out, err := cmd.Output()
	require.Error(t, err)
	require.Contains(t, string(out), "failed  phone (telegram): ")
	require.Contains(t, string(out), "connection refused")
	require.NotContains(t, string(out), "aaaa")
}
