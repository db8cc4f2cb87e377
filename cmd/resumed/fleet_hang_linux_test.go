package main

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// In a fleet the account of a session is read from a file. A file that hangs, as in a home on a broken
// network, delays only the session that needs it, and not for long.
func TestAFileThatDoesNotAnswerHoldsUpNoOtherSession(t *testing.T) {
	h := newHubBox(t) // the hub does not run: the machine works alone
	b := h.host("box")
	b.write("server/secrets", "")
	hang, answer := mountedBy(t, b.path("server"), b.path("network"))
	b.appendTo(configFile, "[[agent]]\nname = \"claude-code\"\nenv_file = \""+b.path("network", "secrets")+"\"\ncommand = \""+b.path("claude.sh")+"\"\n")
	const transcript = ".claude/projects/-src/" + liveID + ".jsonl"
	b.write("claude.sh", "#!/bin/sh\nprintf '%s' '"+answerLine(liveID, b.path("bot"), "Resumed.")+"' >> \"$HOME/"+transcript+"\"\n")
	b.write(transcript, promptLine(liveID, b.path("bot"), "do the work"))
	b.start()
	b.until("it has joined", func() bool { return strings.Contains(b.logged(), "in a fleet") })
	hang()
	b.appendTo(transcript, refusalLine(liveID, b.path("bot")))
	b.untilState(liveID, resume.Waiting)
	_, errOut, code := b.run("retry", liveID)
	require.Zero(t, code, errOut)
	b.write("bot/logs/s-1.log", "step 1\nrate limited, retry in 1s\n")
	b.untilState("s-1", resume.Waiting)
	b.untilState("s-1", resume.Watching)
	require.Contains(t, h.read("notes"), "ended box s-1")
	out, errOut, code := b.run("status")
	require.Zero(t, code, errOut)
	require.Contains(t, out, "claude-code:default")

	b.until("it waits, and says why", func() bool {
		out, _, _ := b.run("history", liveID)
		return strings.Contains(out, "not known yet which account")
	})
	b.until("it is not held back for ever", func() bool { return b.session(liveID).State == resume.Resuming })
	require.Contains(t, b.logged(), "do not answer")

	answer()
	b.untilState(liveID, resume.Watching)
}

// mountedBy mounts a directory on another through a program that can be made to hang and to answer
// again.
func mountedBy(t *testing.T, dir, at string) (hang, answer func()) {
	t.Helper()
	if _, err := exec.LookPath("bindfs"); err != nil {
		require.Empty(t, os.Getenv("CI"), "CI has bindfs")
		t.Skip("SKIPPED: bindfs is missing")
	}
	require.NoError(t, os.MkdirAll(at, 0o755))
	server := exec.Command("bindfs", "-f", "-o", "attr_timeout=0,entry_timeout=0,direct_io", dir, at)
	require.NoError(t, server.Start())
	ended := make(chan error, 1)
	go func() { ended <- server.Wait() }()
	signal := func(s syscall.Signal) func() { return func() { _ = server.Process.Signal(s) } }
	t.Cleanup(func() {
		signal(syscall.SIGCONT)()
		_ = exec.Command("umount", "--lazy", at).Run()
		signal(syscall.SIGTERM)()
		<-ended
	})
	for !mounted(t, at) {
		select {
		case err := <-ended:
			ended <- err
			t.Skipf("SKIPPED: this machine lets nobody mount a file system of a program: %v", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
	return signal(syscall.SIGSTOP), signal(syscall.SIGCONT)
}

func mounted(t *testing.T, at string) bool {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	require.NoError(t, err)
	return strings.Contains(string(mounts), " "+at+" ")
}
