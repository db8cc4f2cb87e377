package main

import (
	"strings"
	"testing"

	"resumed/internal/resume"
)

// A command that needs more time gets it from a changed file, without a restart of the daemon.
func TestTheBoundsOfACommandThatRunsAreThoseOfTheFile(t *testing.T) {
	b := newBox(t)
	stall := func(d string) string { return "[resume]\nstall = \"" + d + "\"\n" + fastBackoff + bot }
	b.write(configFile, stall("1h"))
	b.write("bot/resume.sh", recordCall+"sleep 600\n")
	b.start()
	b.write("bot/logs/s1.log", "rate limited\n")
	b.until("it runs", func() bool { return len(b.calls()) == 1 && b.session("s1").State == resume.Resuming })
	b.reconfigure(stall("300ms"))
	b.until("it is ended", func() bool {
		s := b.session("s1")
		return len(s.Attempts) > 0 && strings.Contains(s.Attempts[0].Error, "no sign of life for 300ms")
	})
}

const fastBackoff = "[backoff]\nbase_delay = \"100ms\"\nmax_retries = 100\njitter = false\n"
