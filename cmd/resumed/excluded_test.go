package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

func TestADirectoryIsExcludedByAnyOfItsNames(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		exclude, cwd string
		state        resume.State
	}{
		"a link to it is excluded":         {"link/secret", "real/secret", resume.Watching},
		"the session knows it by the link": {"real/secret", "link/secret", resume.Parked},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t)
			b.write("real/secret/main.go", "package main\n")
			require.NoError(t, os.Symlink(b.path("real"), b.path("link")))
			b.write(configFile, fmt.Sprintf("[resume]\nexclude = [%q]\n[backoff]\nbase_delay = \"200ms\"\njitter = false\n", b.path(c.exclude)))
			b.write("bin/claude", callsOnly)
			b.start()
			b.write(claudeTranscript, promptLine(claudeSession, b.path(c.cwd), "go")+refusalLine(claudeSession, b.path(c.cwd)))
			b.until("it is left alone", func() bool {
				require.Empty(t, b.read("calls"))
				s := b.session(claudeSession)
				return s.State == c.state && strings.Contains(s.Reason, "resume.exclude")
			})
		})
	}
}

// Many people change the configuration and then restart the service.
func TestWhatWasExcludedWhileNoDaemonRanIsLeftAlone(t *testing.T) {
	b := newBox(t)
	b.write("secret/main.go", "package main\n")
	b.write("bin/claude", callsOnly)
	backoff := "[backoff]\nbase_delay = \"%s\"\njitter = false\n"
	b.write(configFile, fmt.Sprintf(backoff, "4m"))
	b.start()
	b.write(claudeTranscript, promptLine(claudeSession, b.path("secret"), "go")+refusalLine(claudeSession, b.path("secret")))
	b.untilState(claudeSession, resume.Waiting)
	require.Zero(t, b.kill(syscall.SIGTERM))

	b.write(configFile, fmt.Sprintf("[resume]\nexclude = [%q]\n"+backoff, b.path("secret"), "10ms"))
	b.start()
	b.until("it is left alone", func() bool {
		require.Empty(t, b.read("calls"))
		s := b.session(claudeSession)
		return s.State == resume.Watching && strings.Contains(s.Reason, "resume.exclude")
	})
	require.Zero(t, b.kill(syscall.SIGTERM))
}

func TestARetryInAnExcludedDirectoryIsRefused(t *testing.T) {
	b := newBox(t)
	b.write("secret/main.go", "package main\n")
	b.write("bin/claude", callsOnly)
	rules := "[resume]\nmax_windows = 1\nsettle = \"10ms\"\n%s\n[backoff]\nbase_delay = \"10ms\"\nmax_retries = 1\njitter = false\n"
	b.write(configFile, fmt.Sprintf(rules, ""))
	b.start()
	b.write(claudeTranscript, promptLine(claudeSession, b.path("secret"), "go")+refusalLine(claudeSession, b.path("secret")))
	b.untilState(claudeSession, resume.GaveUp)
	before := b.read("calls")

	b.reconfigure(fmt.Sprintf(rules, fmt.Sprintf("exclude = [%q]", b.path("secret"))))
	out, errOut, code := b.run("retry", claudeSession)
	require.Zero(t, code, errOut)
	require.Contains(t, out, "nothing to retry")
	require.Contains(t, out, "resume.exclude")
	require.Equal(t, before, b.read("calls"))
}
