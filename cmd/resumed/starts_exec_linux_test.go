package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/execrun"
	"resumed/internal/resume"
	"resumed/internal/starts"
)

// limitedClaude is heldClaude, except that a new session gets a prompt and then meets the limit, after
// exec has seen it: others live for seconds.
var limitedClaude = strings.NewReplacer(
	`*" -p "*)`, `*" --resume "*)`, `"$HOME/fails" ] || exit 1`, `"$HOME/fails" ] || { echo "API Error: 529 Overloaded."; exit 1; }`, `while [ ! -e "$HOME/over"`, `
now() { sed "s/NOW/$(date -u +%%Y-%%m-%%dT%%H:%%M:%%S.%%3NZ)/" "$HOME/$1" >> "$HOME/%[2]s"; }
now prompt
until [ ! -e "$HOME/works" ] && ls "$HOME/runtime/resumed/starts/"*.json > /dev/null; do sleep 0.05; done
now refusal
echo "API Error: 529 Overloaded."
exit 1
while [ ! -e "$HOME/over"`).Replace(heldClaude)

// execs runs exec in a world of its own; through are words before it.
func (b *leashBox) execs(policy string, through ...string) *exec.Cmd {
	b.t.Helper()
	b.inMemory()
	b.install("node20/bin/claude", fmt.Sprintf(limitedClaude, claudeSession, claudeTranscript))
	b.write(configFile, strings.ReplaceAll(quick, `classes = ["overloaded"]`, ``))
	timestamp := regexp.MustCompile(`"timestamp":"[^"]*"`)
	b.write("prompt", timestamp.ReplaceAllString(promptLine(claudeSession, b.path("bot"), "work"), `"timestamp":"NOW"`))
	b.write("refusal", timestamp.ReplaceAllString(refusalLine(claudeSession, b.path("bot")), `"timestamp":"NOW"`))
	line := append([]string{"exec", "--policy", policy, "--agent", "claude-code", "--"}, b.behind...)
	cmd := b.command(append(line, b.claude, "-p", "--session-id", claudeSession, "--disallowedTools", "Bash", "--", "work")...)
	if len(through) > 0 {
		cmd.Args = slices.Concat(through, cmd.Args)
		cmd.Path, _ = exec.LookPath(through[0])
	}
	cmd.Dir = b.path("bot")
	cmd.Env = append(b.env(), "PATH="+b.path("node20/bin")+":"+b.path("bin")+":/usr/bin:/bin", "DATABASE_URL=postgres://dev")
	require.NoError(b.t, cmd.Start())
	b.vars = []string{"DATABASE_URL=postgres://prod", "RESUMED_RESUME_UNSEEN=park"}
	return cmd
}

// continuedAsExecStartedIt checks the resume of the daemon.
func (b *leashBox) continuedAsExecStartedIt() {
	b.t.Helper()
	require.Contains(b.t, strings.Join(b.ran(), " "), "--disallowedTools Bash")
	require.Equal(b.t, "DATABASE_URL=postgres://dev", b.ranWith("DATABASE_URL"))
	require.True(b.t, b.anySession().Started.Seen)
}

// No daemon saw how exec started the session.
func TestASessionThatExecLeavesIsContinuedAsItWasStarted(t *testing.T) {
	t.Parallel()
	t.Run("exec was killed while it waited", func(t *testing.T) {
		b := newLeashBox(t)
		cmd := b.execs("patient")
		b.until("it waits", func() bool { return strings.Contains(b.logged(), "retry 1 of") })
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait()
		b.start()
		b.continuedAsExecStartedIt()
	})
	t.Run("behind another program", func(t *testing.T) {
		b := newLeashBox(t)
		b.behind = []string{"timeout", "1000"}
		cmd := b.execs("patient")
		b.until("it waits", func() bool { return strings.Contains(b.logged(), "retry 1 of") })
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait()
		b.start()
		b.continuedAsExecStartedIt()
	})
	t.Run("exec was killed while the agent worked", func(t *testing.T) {
		b := newLeashBox(t)
		b.write("works", "")
		cmd := b.execs("patient")
		b.until("the agent was seen with its prompt", func() bool {
			var prompt struct{ Timestamp time.Time } // the file is older than what is in it
			err := json.Unmarshal([]byte(b.read(claudeTranscript)), &prompt)
			start, ok := starts.In(b.path("runtime", "resumed")).Get(resume.Key{Agent: "claude-code", ID: claudeSession})
			return err == nil && ok && start.SeenAt.After(prompt.Timestamp)
		})
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait()
		b.sh("rm works; while ! grep -q rate_limit " + b.path(claudeTranscript) + "; do sleep 0.05; done")
		b.until("the agent has ended", func() bool { return b.running() == 0 })
		b.start()
		b.continuedAsExecStartedIt()
	})
	t.Run("exec gave up", func(t *testing.T) {
		b := newLeashBox(t)
		b.write("fails", "")
		cmd := b.execs("default")
		_ = cmd.Wait()
		require.Equal(t, execrun.CodeGaveUp, cmd.ProcessState.ExitCode(), b.logged())
		b.sh("rm fails")
		b.start()
		require.Contains(t, b.untilState(claudeSession, resume.Parked).Reason, "resumed exec gave up on it")
		_, errOut, code := b.run("retry", claudeSession)
		require.Zero(t, code, errOut)
		b.continuedAsExecStartedIt()
	})
	t.Run("a task that is done leaves nothing", func(t *testing.T) {
		b := newLeashBox(t)
		cmd := b.execs("default")
		require.NoError(t, cmd.Wait(), b.logged())
		left, err := os.ReadDir(b.path("runtime", "resumed", "starts"))
		require.NoError(t, err)
		require.Empty(t, left)
	})
}

// What exec does not see of its own sandbox, the daemon sees.
func TestASessionThatExecLeavesInASandboxIsNotContinuedOutside(t *testing.T) {
	if out, err := exec.Command("setpriv", "--no-new-privs", "true").CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: THIS SANDBOX IS NOT TESTED HERE: %v: %s", err, out)
	}
	b := newLeashBox(t)
	cmd := b.execs("patient", "setpriv", "--no-new-privs", "--")
	b.until("it waits", func() bool { return strings.Contains(b.logged(), "retry 1 of") })
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	b.start()
	require.Contains(t, b.untilState(claudeSession, resume.Parked).Reason, "it ran in a sandbox (no_new_privs)")
	require.Empty(t, b.read("ran"))
}
