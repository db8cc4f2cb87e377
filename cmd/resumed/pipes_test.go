package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A project may contain a pipe without a writer: it delays neither that session nor others, nor the
// daemon's end.
func TestAPipeInAProjectHoldsUpNobody(t *testing.T) {
	b := newBox(t)
	b.write(configFile, bot+"[backoff]\nbase_delay = \"100ms\"\n[resume]\nstagger = \"0s\"\nmargin = \"0s\"\nmax_concurrent = 1\n")
	for _, agent := range []string{"claude", "codex"} {
		b.write("bin/"+agent, "#!/bin/sh\necho \"$*\" >> \"$HOME/calls\"\n")
	}
	b.write("bot/resume.sh", recordCall+`echo "step 2" >> logs/$1.log`)
	for _, name := range []string{
		".claude/settings.json", "src/.claude/settings.json", "src/.claude/settings.local.json", ".claude.json", ".codex/config.toml", "src/.codex/config.toml",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(b.path(name)), 0o755))
		require.NoError(t, syscall.Mkfifo(b.path(name), 0o600))
	}
	b.start()
	b.write(claudeTranscript, promptLine(claudeSession, b.path("src"), "work")+refusalLine(claudeSession, b.path("src")))
	b.write(codexRollout, shiftRollout(t, time.Now(), b.path("src")))
	for _, id := range []string{claudeSession, codexSession} {
		b.until("its session is continued", func() bool { return strings.Contains(b.read("calls"), id) })
	}
	b.write("bot/logs/s-1.log", "rate limited, retry in 0s\n")
	b.until("and so is another", func() bool { return len(b.calls()) == 1 })
	began := time.Now()
	require.Zero(t, b.kill(syscall.SIGTERM))
	require.Less(t, time.Since(began), 30*time.Second)
}
