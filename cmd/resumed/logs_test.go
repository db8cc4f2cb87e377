package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// Two bots may use the same session names; each one has its own output.
func TestOutputsOfSessionsWithOneName(t *testing.T) {
	b := newBox(t)
	other := strings.NewReplacer("mybot", "other", "~/bot", "~/other").Replace(bot)
	b.write(configFile, bot+other+"[resume]\nsettle = \"0s\"\n[backoff]\nbase_delay = \"50ms\"\nmax_retries = 2\n")
	b.write("bot/resume.sh", "echo words of mybot; exit 3")
	b.write("other/resume.sh", "echo words of other; exit 4")
	b.write("bot/logs/main.log", "rate limited\n")
	b.write("other/logs/main.log", "rate limited\n")
	out, errOut, code := b.run("logs")
	require.Zero(t, code, errOut)
	require.Equal(t, "No session has output yet: no command has resumed one.\n", out)
	b.start()
	b.until("both are given up", func() bool {
		sessions := b.status().Sessions
		return len(sessions) == 2 && sessions[0].State == resume.GaveUp && sessions[1].State == resume.GaveUp
	})
	for name, foreign := range map[string]string{"mybot": "other", "other": "mybot"} {
		out, errOut, code := b.run("logs", name+"/main")
		require.Zero(t, code, errOut)
		require.Equal(t, 2, strings.Count(out, "words of "+name), out)
		require.NotContains(t, out, "words of "+foreign)
	}
	_, errOut, code = b.run("logs", "main")
	require.Equal(t, exitFailed, code)
	require.Contains(t, errOut, `"main" fits 2 sessions: mybot/main, other/main`)

	// Without a name it lists both, and the last line is a command that shows the newest.
	out, errOut, code = b.run("logs")
	require.Zero(t, code, errOut)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	require.Regexp(t, `^SESSION +DIRECTORY +RUNS +LAST +HOW IT ENDED$`, lines[0])
	for name, status := range map[string]string{"mybot": "3", "other": "4"} {
		require.Regexp(t, `(?m)^`+name+`/main +\S+ +2 +\d\d:\d\d +exit status `+status+`$`, out)
	}
	show, found := strings.CutPrefix(lines[len(lines)-1], "One of them: resumed ")
	require.True(t, found, out)
	require.Equal(t, strings.Fields(lines[1])[0], strings.Fields(show)[1], "the newest")
	_, errOut, code = b.run(strings.Fields(show)...)
	require.Zero(t, code, errOut)
	for _, args := range [][]string{{"logs", "-f"}, {"logs", "-n", "5"}} {
		_, errOut, code = b.run(args...)
		require.Equal(t, exitUsage, code)
		require.Contains(t, errOut, "SESSION is missing")
	}
}

// For a session that waits, logs says that there is no output yet, not that there is no such session.
func TestASessionThatWaitsHasNoOutputYet(t *testing.T) {
	b := newBox(t)
	b.write(claudeTranscript, promptLine(claudeSession, b.path("bot"), "work")+usageLimitLine(claudeSession, b.path("bot"), time.Now(), time.Now().Add(3*time.Hour)))
	b.start()
	b.untilState(claudeSession, resume.Waiting)
	b.until("it is stored, which logs reads", func() bool {
		_, errOut, code := b.run("logs", claudeSession)
		return code == exitNoSession && strings.Contains(errOut, claudeSession+" has no output yet: no command has resumed it\n") &&
			strings.Contains(errOut, "Try: resumed status "+claudeSession)
	})
}
