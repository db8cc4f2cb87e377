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
	b.write(configFile, bot+"program = [\"bot.sh\"]\n")
	b.start()
	b.write("bot/bot.sh", `exec 3>>logs/s-1.log; echo "step 2" >&3; echo "rate limited, retry in 1s" >&3; while :; do sleep 1; done`)
	cmd := exec.Command(sandbox[0], append(sandbox[1:], "sh", "./bot.sh")...)
	cmd.Dir, cmd.Env = b.path("bot"), b.env()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); _ = cmd.Wait() })
	parked := b.untilState("s-1", resume.Parked)
	require.Contains(t, parked.Reason, "it ran in a sandbox")
	require.Empty(t, b.calls())

	b.write("bot/way-in", "#!/bin/sh\nexec "+strings.Join(sandbox, " ")+` sh "$@"`+"\n")
	require.NoError(t, exec.Command("chmod", "+x", b.path("bot/way-in")).Run())
	b.reconfigure(strings.Replace(b.read(configFile), `resume = ["sh", "./resume.sh"`, `resume = ["`+b.path("bot/way-in")+`", "./resume.sh"`, 1))
	b.until("it is continued", func() bool { // a session that is due while the configuration changes is delayed
		_, _, _ = b.run("retry", "s-1")
		return len(b.calls()) > 0
	})
	b.untilState("s-1", resume.Watching)
	require.Len(t, b.calls(), 1)
}

// Any program may have the log of a custom agent open for a moment. How that one was started says nothing about the session:
// only the agent's own program does.
func TestAProgramThatOnlyWritesTheLogIsNotTheAgent(t *testing.T) {
	b := newBox(t)
	b.runtimeOnDisk()
	b.vars = []string{"RESUMED_RESUME_CHANGED_ENV=auto"}
	const script = `exec 3>>logs/$0.log; echo "rate limited, retry in 0s" >&3; while [ ! -e ../over ]; do sleep 0.05; done`
	b.write("bot/bot.sh", strings.ReplaceAll(script, "$0", "s-2"))
	b.write("bot/logs/s-1.log", "step 1\n")
	b.write("bot/resume.sh", recordCall+`echo "step 2" >> logs/$1.log`)
	b.write(configFile, "[resume]\nstagger = \"0s\"\n"+bot+"program = [\"bot.sh\"]\n")
	b.start()
	b.steer("pause")
	for session, argv := range map[string][]string{"s-1": {"sh", "-c", script, "s-1"}, "s-2": {"sh", "./bot.sh"}} {
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Dir, cmd.Env = b.path("bot"), append(b.env(), "DATABASE_URL=postgres://elsewhere")
		require.NoError(t, cmd.Start())
		t.Cleanup(func() { _ = cmd.Wait() })
		b.untilState(session, resume.Waiting)
	}
	b.until("the agent was seen", func() bool { return len(b.session("s-2").Started.Env) > 0 })
	require.Empty(t, b.session("s-1").Started.Env)
	b.write("over", "")
	b.restart() // values are only in memory
	b.steer("unpause")
	require.Contains(t, b.untilState("s-2", resume.Parked).Reason, "DATABASE_URL: the values that the session had are lost")
	b.untilState("s-1", resume.Watching)
	require.Len(t, b.calls(), 1)
}
