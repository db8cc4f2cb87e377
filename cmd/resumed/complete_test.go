package main

import (
	"io"
	"os/exec"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// offered returns the completions after these words.
func (b *box) offered(args ...string) []string {
	b.t.Helper()
	out, errOut, code := b.run(append([]string{"__complete"}, args...)...)
	require.Zero(b.t, code, errOut)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	require.Equal(b.t, ":4", lines[len(lines)-1], "and no files")
	return lines[:len(lines)-1]
}

func TestCompletionKnowsTheDaemonsSessions(t *testing.T) {
	b := newBox(t)
	require.Empty(t, b.offered("retry", ""), "no daemon, nothing to offer")
	severalStates(b)
	b.write("mybot/logs/$(touch pwned).log", "rate limited, retry in 1h\n")
	b.until("it is seen", func() bool { return len(b.status().Sessions) == 5 })

	require.Equal(t, []string{"lost-1\tloser, gave up"}, b.offered("retry", "l"))
	retry := strings.Join(b.offered("retry", ""), "\n")
	require.Contains(t, retry, "wait-1\tmybot, waiting, in 1h 4")
	require.NotContains(t, retry, "good-1", "there is nothing to retry")
	require.NotContains(t, retry, "pwned", "a name that a shell would run is not offered")
	require.NotContains(t, retry, "-bad", "nor one that looks like an option")
	require.Equal(t, []string{"winner/good-1\twinner, watching"}, b.offered("status", "winner/"))
	more := strings.Join(b.offered("retry", "lost-1", ""), "\n")
	require.Contains(t, more, "wait-1")
	require.NotContains(t, more, "lost-1", "it is there already")
	require.Empty(t, b.offered("logs", "lost-1", ""), "it takes one")
	require.Empty(t, b.offered("unpause", ""))
	b.run("pause", "good-1")
	require.Equal(t, []string{"good-1\twinner, paused"}, b.offered("unpause", ""))
	require.Equal(t, []string{"good-1", "lost-1"}, b.offered("logs", ""))
	require.Subset(t, b.offered("explain", "--agent", ""), []string{"claude-code", "mybot", "loser"})
	require.Equal(t, []string{"debug", "info", "warn", "error"}, b.offered("--log-level", ""))
}

func TestCompletionInARealShell(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("SKIPPED: bash is not installed, so completion in a shell is NOT tested")
	}
	b := newBox(t)
	b.write(configFile, bot)
	b.start()
	b.write("bot/logs/wait-1.log", "rate limited, retry in 1h\n")
	b.untilState("wait-1", resume.Waiting)
	cmd := exec.Command(bash, "--norc", "-c", `
source <("$1" completion bash)
COMP_WORDS=("$1" retry w) COMP_CWORD=2 COMP_LINE="$1 retry w" COMP_POINT=${#COMP_LINE}
__start_resumed; printf '%s\n' "${COMPREPLY[@]}"`, "bash", program)
	cmd.Env, cmd.Dir = b.env(), b.home
	out, err := cmd.Output() // a shell without completion writes an error to stderr
	require.NoError(t, err)
	require.Equal(t, "wait-1", strings.TrimSpace(string(out)))
}

func TestPolicyFlagsAreCompleted(t *testing.T) {
	c := &cli{out: io.Discard, err: io.Discard}
	b := newBox(t)
	b.write("policies.toml", "[[backoff.policy]]\nname = \"gentle\"\nbase_delay = \"1m\"\n")
	c.configArg = b.path("policies.toml")
	offers := c.offerPolicies(t.Context(), "")
	require.Contains(t, offers, "default\tbuilt in")
	require.Contains(t, offers, "gentle\tfrom the configuration")
}

func TestEveryCommandShowsAnExampleFirst(t *testing.T) {
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		if cmd.Hidden && cmd.Example == "" {
			return
		}
		var help strings.Builder
		cmd.SetOut(&help)
		require.NoError(t, cmd.Help())
		before, _, found := strings.Cut(help.String(), "Usage:")
		require.True(t, found, cmd.CommandPath())
		require.Contains(t, before, "Examples:\n"+cmd.Example, cmd.CommandPath())
		require.NotEmpty(t, cmd.Example, cmd.CommandPath())
		for line := range strings.SplitSeq(help.String(), "\n") {
			require.LessOrEqual(t, utf8.RuneCountInString(line), 80, "%s: %s", cmd.CommandPath(), line)
			require.NotContains(t, line, "[=", cmd.CommandPath())
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk((&cli{out: io.Discard, err: io.Discard}).root())
}
