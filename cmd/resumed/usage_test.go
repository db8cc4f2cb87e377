package main

import (
	"bufio"
	"io"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestExitCodes(t *testing.T) {
	b := newBox(t)
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"status"}, exitNoDaemon, "no daemon is running"},
		{[]string{"retry", "x"}, exitNoDaemon, "Try:"},
		{[]string{"nonsense"}, exitUsage, "unknown command \"nonsense\"\nTry: resumed --help"},
		{[]string{"statsu"}, exitUsage, "Try: resumed status, or resumed --help"},
		{[]string{"config", "chek"}, exitUsage, "unknown command \"config chek\"\nTry: resumed config check, or"},
		{[]string{"help", "nonsense"}, exitUsage, "unknown command"},
		{[]string{"completion", "tcsh"}, exitUsage, "unknown command"},
		{[]string{"status", "--nonsense"}, exitUsage, "unknown flag: --nonsense\nTry: resumed status --help"},
		{[]string{"retry"}, exitUsage, "SESSION is missing\nTry: resumed retry --help"},
		{[]string{"retry", "one", "two"}, exitUsage, `unexpected argument "two"`},
		{[]string{"run", "fast"}, exitUsage, `unexpected argument "fast"`},
		{[]string{"exec", "--"}, exitUsage, "COMMAND is missing"},
		{[]string{"logs", "-n", "few", "x"}, exitUsage, `--lines "few": want a number`},
		{[]string{"--log-level", "loud", "status"}, exitUsage, "--log-level"},
		{[]string{"--config", "/nowhere.toml", "run"}, exitUsage, "/nowhere.toml"},
		{[]string{"--config", b.home, "run"}, exitUsage, "Try: mend " + b.home},
		{[]string{"explain", "/nowhere.jsonl"}, exitFailed, "/nowhere.jsonl"},
		{[]string{"explain", b.home}, exitFailed, "not a regular file"},
		{[]string{"logs", "x"}, exitNoSession, "no such session"},
		{[]string{"version"}, exitDone, ""},
		{[]string{"--version"}, exitDone, ""},
		{[]string{"help"}, exitDone, ""},
		{[]string{"help", "config", "check"}, exitDone, ""},
		{[]string{"config"}, exitDone, ""},
		{[]string{}, exitDone, ""},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			_, errOut, code := b.run(c.args...)
			require.Equal(t, c.code, code, errOut)
			require.Contains(t, errOut, c.says)
		})
	}
	b.start()
	_, errOut, code := b.run("retry", "nobody")
	require.Equal(t, exitNoSession, code)
	require.Contains(t, errOut, "nobody")
}

// What an agent calls its sessions is not ours to trust, and neither does it
// say which one a person means.
func TestNamesOfSessionsAreHarmlessAndMayFitSeveral(t *testing.T) {
	b := newBox(t)
	b.write(configFile, bot)
	b.start()
	b.write("bot/logs/twin-1\x1b[31m.log", "rate limited, retry in 1h\n")
	b.write("bot/logs/twin-2.log", "rate limited, retry in 1h\n")
	b.until("both are seen", func() bool { return len(b.status().Sessions) == 2 })

	for _, args := range [][]string{{"retry", "twi"}, {"status", "twi"}, {"history", "twi"}} {
		_, errOut, code := b.run(args...)
		require.Equal(t, exitFailed, code)
		require.Equal(t, "resumed: \"twi\" fits 2 sessions: mybot/twin-1, mybot/twin-2\n"+
			"Try: one of them by more of its id: resumed status\n", errOut)
	}
	out, _, code := b.run("pause", "twin-1")
	require.Zero(t, code)
	require.Contains(t, out, "mybot/twin-1: paused, in ")
	require.NotContains(t, out, "\x1b")
}

func TestASignalEndsACommandThatWaitsForInput(t *testing.T) {
	b := newBox(t)
	cmd := b.command("explain", "--text")
	input, err := cmd.StdinPipe()
	require.NoError(t, err)
	output, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = io.WriteString(input, "one line\n") // and no more
	require.NoError(t, err)
	answer, err := bufio.NewReader(output).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "none  one line\n", answer)

	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	b.until("it ends", func() bool { return len(ended) > 0 })
}
