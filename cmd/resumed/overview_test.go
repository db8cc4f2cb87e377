package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/control"
	"resumed/internal/resume"
)

// The list begins with how things are, and has those with the same cause together.
func TestStatusBeginsWithASummary(t *testing.T) {
	b := newBox(t)
	severalStates(b)
	out, _, code := b.run("status")
	require.Zero(t, code)
	require.True(t, strings.HasPrefix(out, "4 sessions: 2 need you, 1 waiting, 1 watching; next in 1h "), out)
	for _, want := range []string{"Gave up: rate limit (1)\n", "resumed retry lost\n", "Parked: rate limit (1)\n", "Waiting: rate limit (1)\n", "Works again (1)\n"} {
		require.Contains(t, out, want)
	}
	_, _, code = b.run("pause")
	require.Zero(t, code)
	out, _, _ = b.run("status")
	require.True(t, strings.HasPrefix(out, "resumed is paused: it starts nothing until resumed unpause\n4 sessions: "), out)

	out, _, _ = b.run("status", "--state", "needs_you")
	require.Contains(t, out, "2 sessions: 2 need you\n")
	require.NotContains(t, out, "wait-1")
	out, _, _ = b.run("status", "--state", "settling")
	require.Equal(t, "No session has the state settling.\n", out)
	out, _, _ = b.run("status", "--state", "gave_up", "--json")
	var status control.Status
	require.NoError(t, json.Unmarshal([]byte(out), &status))
	require.Len(t, status.Sessions, 1)
	require.Equal(t, "lost-1", status.Sessions[0].ID)
	_, errOut, code := b.run("status", "--state", "well")
	require.Equal(t, 2, code)
	require.Contains(t, errOut, `state "well" is not known; it is one of needs_you, paused,`)
	_, _, code = b.run("status", "lost-1", "--state", "gave_up")
	require.Equal(t, 2, code)

	term := newTerminal(b, 80, 24, nil, "status", "--watch", "--state", "waiting")
	require.NotContains(t, term.shows("wait", "1 of 1"), "lost")
	require.NoError(t, b.daemon.SetPaused(t.Context(), false))
	_, err := b.daemon.Do(t.Context(), "wait-1", control.Retry)
	require.NoError(t, err)
	term.shows("No session is interrupted")
}

// A resume that hangs does not hold back the others of its account for longer than resume.settle.
// Meanwhile they say for which session they wait, and since when.
func TestAHungResumeHoldsTheOthersBackForSettleOnly(t *testing.T) {
	b := newBox(t)
	config := func(settle string) string {
		return bot + "[resume]\nmax_concurrent = 5\nstagger = \"0s\"\nsettle = \"" + settle + "\"\n"
	}
	b.write(configFile, config("1h"))
	b.write("bot/resume.sh", recordCall+"exec sleep 600")
	b.start()
	b.write("bot/logs/aaa-1.log", "step 1\nrate limited, retry in 0s\n")
	b.untilState("aaa-1", resume.Resuming)
	b.write("bot/logs/bbb-1.log", "rate limited, retry in 0s\n") // no progress: that would show that the account is free
	b.until("it says for whom it waits", func() bool { return b.session("bbb-1").WaitsFor != nil })
	require.Equal(t, "aaa-1", b.session("bbb-1").WaitsFor.Session)
	waits := "waits for " + b.session("bbb-1").WaitsFor.Name + ", which tries "
	for _, args := range [][]string{{"status"}, {"status", "bbb-1"}, {"retry", "bbb-1"}} {
		out, errOut, code := b.run(args...)
		require.Zero(t, code, errOut)
		require.Contains(t, out, waits, args)
		require.NotContains(t, out, "due now", args)
	}
	term := newTerminal(b, 120, 24, nil, "status", "--watch")
	term.shows(waits)

	b.reconfigure(config("100ms"))
	b.untilState("bbb-1", resume.Resuming)
	b.until("it is started", func() bool { return len(b.calls()) == 2 })
	require.Equal(t, resume.Resuming, b.session("aaa-1").State, "the first one still runs")
}

func TestARetryOfAPausedSessionSaysThatItIsPaused(t *testing.T) {
	b := newBox(t)
	b.write(configFile, bot)
	b.start()
	b.write("bot/logs/aaa-1.log", "step 1\nrate limited, retry in 107m\n")
	b.untilState("aaa-1", resume.Waiting)
	_, _, code := b.run("pause", "aaa-1")
	require.Zero(t, code)
	out, _, _ := b.run("retry", "aaa-1", "--now")
	require.Equal(t, "aaa-1 (bot): not started: it is paused, until resumed unpause aaa-1\n", out)
	_, _, _ = b.run("pause")
	_, _, _ = b.run("unpause", "aaa-1")
	out, _, _ = b.run("retry", "aaa-1", "--now")
	require.Equal(t, "aaa-1 (bot): due, but resumed is paused\n", out)
}

// A state directory that cannot be written to is an error with a remedy.
func TestAStateDirectoryThatCannotBeWrittenTo(t *testing.T) {
	b := newBox(t)
	b.write("file", "not a directory")
	b.vars = append(b.vars, "XDG_STATE_HOME="+b.path("file"))
	_, errOut, code := b.run("run")
	require.Equal(t, exitFailed, code)
	require.Contains(t, errOut, "state directory: ")
	require.Contains(t, errOut, "Try: set XDG_STATE_HOME to a directory that you can write to\n")
}
