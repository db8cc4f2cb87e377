package main

import (
	"encoding/json"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

// Without a daemon the last state is shown, and that no daemon runs.
func TestStatusWithoutADaemonShowsWhatIsOnDisk(t *testing.T) {
	b := newBox(t)
	out, errOut, code := b.run("status")
	require.Equal(t, exitNoDaemon, code)
	require.Empty(t, out, "nothing was left")
	require.Contains(t, errOut, "no daemon is running")

	b.write(configFile, bot+"[backoff]\nbase_delay = \"100ms\"\njitter = false\nmax_retries = 2\n[notify]\nevents=[]\n")
	b.write("bot/resume.sh", `echo "no luck"; exit 7`)
	b.start()
	b.write("bot/logs/s-1.log", "step 1\nrate limited\n")
	b.untilState("s-1", resume.GaveUp)
	require.Zero(t, b.kill(syscall.SIGTERM))

	out, errOut, code = b.run("status")
	require.Equal(t, exitNoDaemon, code)
	require.Regexp(t, `^This is what the last daemon saved at \S+:\n\n1 session: 1 needs you\n\n  SESSION .*\nGave up: rate limit \(1\)\n  to do: .*\n  s-1 .*gave up .*2/2`, out)
	require.Equal(t, "resumed: no daemon is running\nTry: resumed install (as a service), or resumed run (in this terminal)\n", errOut)

	out, _, code = b.run("status", "bot")
	require.Equal(t, exitNoDaemon, code)
	require.Contains(t, out, "gave up after 2 resumes")
	out, _, code = b.run("status", "nobody")
	require.Equal(t, exitNoDaemon, code)
	require.Empty(t, out)

	out, _, code = b.run("status", "--json")
	require.Equal(t, exitNoDaemon, code)
	var document struct {
		Version  int
		Daemon   any
		Accounts []any
		Sessions []view.Session
	}
	require.NoError(t, json.Unmarshal([]byte(out), &document))
	require.Equal(t, 1, document.Version)
	require.Nil(t, document.Daemon)
	require.Equal(t, resume.GaveUp, document.Sessions[0].State)

	out, _, code = b.run("logs", "bot")
	require.Zero(t, code)
	runs := regexp.MustCompile(`(?m)^--- resume \d ---( \S+, took \S+)?, exit status 7\nno luck$`).FindAllString(out, -1)
	require.Len(t, runs, 2, out)

	out, _, code = b.run("history")
	require.Zero(t, code)
	require.Equal(t, 5, strings.Count(out, "  s-1 bot "), out)
}
