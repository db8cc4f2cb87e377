//go:build !windows

package main

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// In a fleet it is read whose account a session uses. A file that does not answer, as in a home on a network that is
// down, holds up nothing but the session that needs it, and that one not for long.
func TestAFileThatDoesNotAnswerHoldsUpNoOtherSession(t *testing.T) {
	h := newHubBox(t) // it is not served: the machine works alone
	b := h.host("box")
	require.NoError(t, syscall.Mkfifo(b.path("secrets"), 0o600))
	require.NoError(t, os.Link(b.path("secrets"), b.path("pipe")))
	b.appendTo(configFile, "[[agent]]\nname = \"claude-code\"\nenv_file = \""+b.path("secrets")+"\"\ncommand = \""+b.path("claude.sh")+"\"\n")
	const transcript = ".claude/projects/-src/" + liveID + ".jsonl"
	b.write("claude.sh", "#!/bin/sh\nprintf '%s' '"+answerLine(liveID, b.path("bot"), "Resumed.")+"' >> \"$HOME/"+transcript+"\"\n")
	b.write(transcript, promptLine(liveID, b.path("bot"), "do the work"))
	b.start()
	b.until("it has joined", func() bool { return strings.Contains(b.logged(), "in a fleet") })
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

	b.write("answers", "")
	require.NoError(t, os.Rename(b.path("answers"), b.path("secrets"))) // the next one that reads is answered at once
	pipe, err := os.OpenFile(b.path("pipe"), os.O_WRONLY, 0)            // and those that wait are now
	require.NoError(t, err)
	require.NoError(t, pipe.Close())
	b.untilState(liveID, resume.Watching)
}
