package main

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/control"
	"resumed/internal/resume"
)

// steps returns the history as JSON; none for an unknown session.
func (b *box) steps(args ...string) []control.Step {
	b.t.Helper()
	out, errOut, code := b.run(append([]string{"history", "--json"}, args...)...)
	if code == exitNoSession {
		return nil
	}
	require.Zero(b.t, code, errOut)
	var all []control.Step
	for line := range strings.Lines(out) {
		var step control.Step
		require.NoError(b.t, json.Unmarshal([]byte(line), &step), line)
		require.Equal(b.t, 1, step.Version)
		all = append(all, step)
	}
	return all
}

func kinds(steps []control.Step) []string {
	var all []string
	for _, s := range steps {
		all = append(all, s.Kind)
	}
	return all
}

func TestHistoryTellsTheWholeStoryWithAndWithoutADaemon(t *testing.T) {
	b := newBox(t)
	require.Empty(t, b.steps(), "before the first run")
	_, errOut, code := b.run("history", "s-1")
	require.Equal(t, exitNoSession, code, errOut)

	b.write(configFile, bot+"[backoff]\nbase_delay = \"100ms\"\njitter = false\nmax_retries = 2\n[notify]\nevents=[]\n")
	b.write("bot/resume.sh", `echo "no luck"; exit 7`)
	b.start()
	b.write("bot/logs/s-1.log", "step 1\nrate limited\n")
	b.untilState("s-1", resume.GaveUp)

	live := b.steps("s-1")
	require.Equal(t, []string{"waiting", "resuming", "waiting", "resuming", "gave_up"}, kinds(live))
	require.Contains(t, live[0].Reason, "rate limit")
	require.Equal(t, "rate_limit", live[0].Class)
	require.False(t, live[0].NextAt.IsZero())
	require.Contains(t, live[1].Reason, "process")
	require.Equal(t, resume.Failed, live[2].Outcome, "why it waits again")
	require.Contains(t, live[2].Error, "no luck")
	require.Equal(t, 2, live[4].Attempt)
	require.Contains(t, live[4].Reason, "gave up after 2 resumes")

	_, errOut, code = b.run("history", "nobody")
	require.Equal(t, exitNoSession, code, errOut)
	_, errOut, code = b.run("history", "--since", "soon")
	require.Equal(t, exitUsage, code, errOut)
	require.Empty(t, b.steps("--since", "2200-01-01"))
	require.NotEmpty(t, b.steps("--since", "1h"))

	b.kill(syscall.SIGKILL)
	require.Equal(t, live, b.steps("s-1"), "a killed daemon left it readable")
	require.Equal(t, live, b.steps("mybot/s-"), "by a beginning of its name")
	_, errOut, code = b.run("history", "nobody")
	require.Equal(t, exitNoSession, code, errOut)
	all := b.steps()
	require.Equal(t, "started", all[0].Kind)
	require.Empty(t, all[0].Session)

	out, _, code := b.run("history", "s-1")
	require.Zero(t, code)
	require.Contains(t, out, "gave up    exit status 7: no luck; gave up after 2 resumes")
	require.Equal(t, 5, strings.Count(out, "\n"))
	b.start()
	require.Zero(t, b.kill(syscall.SIGTERM))
	require.Equal(t, []string{"started", "stopped"}, kinds(b.steps())[len(all):])
	require.Zero(t, all[0].AliveAt, "none ran before the first one")
	b.start()
	again := b.steps()[len(all)+2]
	require.False(t, again.AliveAt.IsZero() || again.AliveAt.After(again.At), "it knows when one was last there")
}

// A decision to do nothing is in the history too, with its reason, once.
func TestHistoryKeepsDecisionsToDoNothing(t *testing.T) {
	b := newBox(t)
	old := time.Now().Add(-30 * 24 * time.Hour)
	b.write("bot/logs/old.log", "rate limited\n")
	require.NoError(t, os.Chtimes(b.path("bot/logs/old.log"), old, old))
	b.write(configFile, bot)
	b.write("bot/resume.sh", `while [ ! -e go ]; do sleep 0.05; done; echo "step 2" >> logs/$1.log`)
	b.start()

	b.until("the old one is passed over", func() bool { return len(b.steps("old")) > 0 })
	passed := b.steps("old")
	require.Equal(t, []string{"left"}, kinds(passed))
	require.Contains(t, passed[0].Reason, "resume.lookback")

	b.write("bot/logs/s-1.log", "rate limited, retry in 0s\n")
	b.until("its command runs, and that is in the history", func() bool { return slices.Contains(kinds(b.steps("s-1")), "resuming") })
	b.write("bot/logs/s-2.log", "rate limited, retry in 0s\n")
	b.until("the second is held back", func() bool { return strings.Contains(b.session("s-2").Reason, "tries alone") })
	for range 3 { // each one makes the engine's loop run once more
		b.run("pause", "s-3")
	}
	held := b.steps("s-2")
	require.Equal(t, []string{"waiting", "waiting"}, kinds(held))
	require.Contains(t, held[1].Reason, "the first one tries alone")

	_, _, code := b.run("pause", "s-2")
	require.Zero(t, code)
	_, _, code = b.run("pause")
	require.Zero(t, code)
	require.Equal(t, []string{"waiting", "waiting", "paused"}, kinds(b.steps("s-2")))
	all := b.steps()
	require.Equal(t, "paused", all[len(all)-1].Kind)
	require.Empty(t, all[len(all)-1].Session, "the daemon as a whole")

	b.write(configFile, bot+"[resume]\nnonsense = 1\n")
	b.until("the refusal is kept", func() bool {
		steps := b.steps()
		last := steps[len(steps)-1]
		return last.Kind == "config" && strings.Contains(last.Reason, "nonsense")
	})
	b.write("bot/go", "")
	b.write(configFile, bot+"[resume]\nexclude = [\"~/bot\"]\n")
	b.untilState("s-1", resume.Watching)
	b.until("the new rules are in force", func() bool { return b.status().Daemon.Config.OK })
	b.write("bot/logs/s-4.log", "rate limited\n")
	b.until("the excluded one is passed over", func() bool { return len(b.steps("s-4")) == 1 })
	require.Equal(t, "left", b.steps("s-4")[0].Kind)
	require.Contains(t, b.steps("s-4")[0].Reason, "resume.exclude")
	b.appendTo("bot/logs/s-4.log", "step 9\nrate limited\n")
	b.until("another interruption is another decision", func() bool { return len(b.steps("s-4")) == 2 })
}
