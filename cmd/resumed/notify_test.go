package main

import (
	"encoding/json"
	"strings"
	"testing"

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
