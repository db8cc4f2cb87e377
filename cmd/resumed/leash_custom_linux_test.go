package main

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// The process of a custom agent ran in its own namespaces: the same program outside of them must not
// continue the session, but another command may.
func TestASandboxedSessionOfOnesOwnAgentIsNotContinuedOutside(t *testing.T) {
	sandbox := namespaces(t)
	b := newBox(t)
	b.write("bot/logs/s-1.log", "step 1\n")
	b.write("bot/resume.sh", recordCall+`echo "step 2" >> logs/$1.log`)
	b.write(configFile, bot)
	b.start()
	const script = `exec 3>>logs/s-1.log; echo "step 2" >&3; echo "rate limited, retry in 1s" >&3; while :; do sleep 1; done`
	cmd := exec.Command(sandbox[0], append(sandbox[1:], "sh", "-c", script)...)
	cmd.Dir, cmd.Env = b.path("bot"), b.env()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); _ = cmd.Wait() })
	parked := b.untilState("s-1", resume.Parked)
	require.Contains(t, parked.Reason, "it ran in a sandbox")
	require.Empty(t, b.calls())

	b.write("bot/way-in", "#!/bin/sh\nexec "+strings.Join(sandbox, " ")+` sh "$@"`+"\n")
	require.NoError(t, exec.Command("chmod", "+x", b.path("bot/way-in")).Run())
	b.reconfigure(strings.Replace(bot, `resume = ["sh", "./resume.sh"`, `resume = ["`+b.path("bot/way-in")+`", "./resume.sh"`, 1))
	b.until("it is continued", func() bool { // a session that is due while the configuration changes is delayed
		_, _, _ = b.run("retry", "s-1")
		return len(b.calls()) > 0
	})
	b.untilState("s-1", resume.Watching)
	require.Len(t, b.calls(), 1)
}
