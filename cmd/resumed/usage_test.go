package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/execrun"
	"resumed/internal/notify"
	"resumed/internal/resume"
	"resumed/internal/usage"
)

// usedRollout is a rollout in which an allowance was used evenly for an hour.
func usedRollout(t *testing.T, cwd string, resets time.Time, from, to float64) string {
	head, _, _ := strings.Cut(shiftRollout(t, time.Now(), cwd), "\n")
	var text strings.Builder
	fmt.Fprintln(&text, head)
	const steps = 30
	for i := range steps + 1 {
		at := time.Now().Add(time.Duration(i-steps) * 2 * time.Minute)
		fmt.Fprintf(&text, `{"timestamp":%q,"type":"event_msg","payload":{"type":"token_count","info":null,"rate_limits":{"primary":{"used_percent":%.1f,"window_minutes":300,"resets_at":%d},"secondary":{"used_percent":61.0,"window_minutes":10080,"resets_at":%d}}}}`+"\n",
			at.UTC().Format("2006-01-02T15:04:05.000Z"), from+(to-from)*float64(i)/steps, resets.Unix(), resets.Add(48*time.Hour).Unix())
	}
	fmt.Fprintf(&text, `{"timestamp":%q,"type":"event_msg","payload":{"type":"task_complete","last_agent_message":"done"}}`+"\n", time.Now().UTC().Format("2006-01-02T15:04:05.000Z"))
	return text.String()
}

// The usage is read from the agent's records, and a limit is predicted before it is hit.
func TestUsageAheadOfTheWall(t *testing.T) {
	b, hook := newBox(t), newHook(t)
	b.write(configFile, "[notify]\nevents = [\"usage\"]\ngroup_wait = \"0s\"\n[[notify.webhook]]\nname = \"ops\"\nurl = \""+hook.URL+"\"\n")
	out, _, code := b.run("usage")
	require.NotZero(t, code, out)
	b.start()
	out, _, code = b.run("usage")
	require.Zero(t, code)
	require.Contains(t, out, "Nothing is known yet")

	resets := time.Now().Add(3 * time.Hour).Truncate(time.Second)
	b.write(codexRollout, usedRollout(t, b.path("bot"), resets, 42, 82))
	var said struct {
		Version  int
		Accounts []struct {
			Name    string
			Windows []usage.Window
		}
	}
	b.until("it is known", func() bool {
		out, _, _ := b.run("usage", "--json")
		return json.Unmarshal([]byte(out), &said) == nil && len(said.Accounts) == 1
	})
	require.Equal(t, 1, said.Version)
	require.Equal(t, "codex:default", said.Accounts[0].Name)
	require.Len(t, said.Accounts[0].Windows, 2)
	short := said.Accounts[0].Windows[0]
	require.Equal(t, "five_hour", short.Kind)
	require.InDelta(t, 82, short.Used, 0.01)
	require.InDelta(t, 40, *short.PerHour, 1, "40 percent in an hour")
	require.Equal(t, resets.UTC(), short.ResetsAt)
	require.InDelta(t, 27*60, short.FullAt.Sub(short.At).Seconds(), 120, "the other 18 in 27 minutes")
	require.Equal(t, "reported", short.Source)
	require.Equal(t, "seven_day", said.Accounts[0].Windows[1].Kind)
	require.Nil(t, said.Accounts[0].Windows[1].FullAt)

	out, _, code = b.run("usage")
	require.Zero(t, code)
	require.Regexp(t, `codex:default \(fake\) +5 hours +82 % +40\.\d % +\w`, out)
	out, _, _ = b.run("status")
	require.Contains(t, out, "82 % of 5 hours, 61 % of 7 days")
	require.Equal(t, 82.0, b.status().Accounts[0].Windows[0].Used)

	b.until("it is told", func() bool { return len(hook.got()) == 1 })
	notice := hook.got()[0]
	require.Equal(t, notify.Usage, notice.Event)
	require.Equal(t, "resumed: 82 % of the 5 hours of codex:default (fake) used", notice.Title)
	require.Regexp(t, `^At this pace it is used up at .+\.\nIt resets .+\.$`, notice.Text)
}

// A script waits until its account has room.
func TestAScriptWaitsForRoom(t *testing.T) {
	b := newBox(t)
	b.write(configFile, bot)
	b.write("bot/resume.sh", `echo "step 2" >> logs/$1.log`)
	b.start()
	b.write(codexRollout, usedRollout(t, b.path("bot"), time.Now().Add(3*time.Hour), 42, 82))
	wait := func(args ...string) int {
		out, errOut, code := b.run(append([]string{"usage", "--wait"}, args...)...)
		require.Empty(t, out)
		require.Equal(t, code == 0, errOut == "", errOut)
		return code
	}
	b.until("it is known", func() bool { return wait("codex:default", "--below", "70", "--timeout", "1ms") == execrun.CodeGaveUp })
	require.Zero(t, wait("codex:default", "--below", "90"))
	require.Equal(t, exitFailed, wait("nobody"))
	_, errOut, code := b.run("usage", "nobody")
	require.Equal(t, exitFailed, code)
	require.Contains(t, errOut, `no account is called "nobody"`)

	b.write("bot/logs/s-1.log", "step 1\nrate limited, retry in 1h\n")
	b.untilState("s-1", resume.Waiting)
	require.Equal(t, execrun.CodeGaveUp, wait("mybot:default", "--timeout", "1ms"))
	require.Equal(t, execrun.CodeGaveUp, wait("--timeout", "1ms"), "one of all accounts is limited")
	require.Zero(t, wait("codex:default"))
	b.run("retry", "--now", "s-1")
	require.Zero(t, wait("mybot:default"), "its session works again")
}
