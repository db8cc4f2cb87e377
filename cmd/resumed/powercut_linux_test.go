package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// traced runs the daemon under strace, which records these system calls in a file.
func (b *box) traced(calls string) (trace string) {
	b.t.Helper()
	if _, err := exec.LookPath("strace"); err != nil {
		require.Empty(b.t, os.Getenv("CI"), "CI has strace")
	}
	if err := exec.Command("strace", "-D", "-o", os.DevNull, "true").Run(); err != nil {
		b.t.Skipf("SKIPPED: strace is missing, or may not trace: %v", err)
	}
	b.write("traced", fmt.Sprintf("#!/bin/sh\nexec strace -D -f -y -qq -s 512 -o trace -e trace=%s %q \"$@\"\n", calls, b.binary))
	b.binary = b.path("traced")
	return "trace"
}

// A power cut loses what is not on disk. The claim of a command must be on disk before the command
// starts: else it would count as never started, and run twice.
func TestACommandIsBegunOnlyWhenAPowerCutCannotHideIt(t *testing.T) {
	b := newBox(t)
	b.write(configFile, bot)
	b.write("bot/resume.sh", recordCall+"echo step 1 >> logs/$1.log")
	trace := b.traced("fsync,fdatasync,renameat,renameat2,rename,execve")
	b.start()
	b.write("bot/logs/s-1.log", "rate limited, retry in 0s\n")
	b.untilState("s-1", resume.Watching)

	const kept = "/runs/s-1/1.exit"
	lines := strings.Split(b.read(trace), "\n")
	find := func(from int, what string, is func(line string) bool) int {
		t.Helper()
		at := slices.IndexFunc(lines[from:], is)
		require.GreaterOrEqual(t, at, 0, "%s:\n%s", what, strings.Join(lines[from:], "\n"))
		return from + at
	}
	named := find(0, "the file has its name", func(l string) bool { return strings.Contains(l, "rename") && strings.Contains(l, kept+`"`) })
	synced := find(named, "and that is on the disk", func(l string) bool { return strings.Contains(l, "sync(") && strings.Contains(l, "/runs/s-1>") })
	begun := find(synced, "then the command is begun", func(l string) bool { return strings.Contains(l, "execve(") && strings.Contains(l, kept) })
	find(begun, "after all of it", func(l string) bool { return strings.Contains(l, "execve(") && strings.Contains(l, "resume.sh") })
	before := lines[:named]
	require.True(t, slices.ContainsFunc(before, func(l string) bool { return strings.Contains(l, "sync(") && strings.Contains(l, "/runs/s-1/.resumed-") }), "what it says is on the disk before its name")
	for _, dir := range []string{"/state/resumed/runs>", "/state/resumed>", "/.local/state>"} {
		require.True(t, slices.ContainsFunc(before, func(l string) bool { return strings.Contains(l, "sync(") && strings.Contains(l, dir) }), "and so are the directories above it: %s", dir)
	}
	info, err := os.Stat(b.path(".local/state/resumed" + kept))
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode())
}
