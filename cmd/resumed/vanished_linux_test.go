package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// A disk that is not mounted, or a directory that was renamed for a while: nobody has to do anything.
func TestADirectoryThatComesBackIsSeen(t *testing.T) {
	b := newLeashBox(t)
	require.NoError(t, os.Mkdir(b.path("shop"), 0o755))
	b.write(configFile, leashConfig+fmt.Sprintf("[[agent]]\nname = \"claude-code\"\ncommand = %q\n", b.claude))
	b.appendTo(claudeTranscript, promptLine(claudeSession, b.path("shop"), "work")+refusalLine(claudeSession, b.path("shop")))
	require.NoError(t, os.Rename(b.path("shop"), b.path("away")))
	b.start()
	b.until("it waits for its directory", func() bool { return strings.Contains(b.session(claudeSession).Reason, "is gone") })
	waits := b.session(claudeSession)
	require.Equal(t, resume.Waiting, waits.State)
	require.Equal(t, "the session's directory "+b.path("shop")+" is gone: it is continued when that is back", waits.Reason)
	require.Empty(t, waits.Attempts)
	require.NoError(t, os.Rename(b.path("away"), b.path("shop")))
	b.within(2*time.Minute, "it goes on", func() bool { return b.read("ran") != "" })
	require.Contains(t, b.read("ran.env"), "PWD="+b.path("shop")+"\n")
}

// Without the file the agent would not start, or without what the file forbids.
func TestAFlagsFileThatIsGoneParks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ flag, text string }{
		"settings": {"--settings", `{"permissions":{"deny":["Bash"]}}`},
		"servers":  {"--mcp-config", `{"mcpServers":{}}`},
		"a prompt": {"--append-system-prompt-file", "Never push."},
	} {
		t.Run(name, func(t *testing.T) {
			b := newLeashBox(t)
			b.write("bot/file.json", c.text)
			b.start()
			b.register(b.hold(nil, "claude", c.flag, "file.json", "--max-turns", "3"))
			b.prompted()
			b.untilSeen(c.flag)
			b.release()
			require.NoError(t, os.Remove(b.path("bot/file.json")))
			b.stopped()
			parked := b.untilState(claudeSession, resume.Parked)
			require.Contains(t, parked.Reason, b.path("bot/file.json")+", which its "+c.flag+" names, is gone")
			require.Contains(t, parked.Reason, "claude --resume "+claudeSession)
			require.Zero(t, parked.Attempt)
			require.Empty(t, b.read("ran"))

			b.write("bot/file.json", c.text)
			b.run("retry", claudeSession)
			require.Contains(t, strings.Join(b.ran(), " "), c.flag+" "+b.path("bot/file.json"))
		})
	}
}

// A script by the name of the agent is the way into its sandbox, if the user says so.
func TestAScriptInTheHomeIsTheWayIn(t *testing.T) {
	sandbox := namespaces(t)
	b := newLeashBox(t)
	b.install("scripts/claude", "#!/bin/sh\nPATH="+b.path("node20/bin")+":$PATH exec "+strings.Join(sandbox, " ")+" "+b.claude+" \"$@\"\n")
	b.write(configFile, leashConfig+"[[agent]]\nname = \"claude-code\"\ncommand = \"~/scripts/claude\"\n")
	b.start()
	b.register(b.hold(nil, append(sandbox, "sh", "-c", "exec claude --max-turns 3")...))
	b.prompted()
	b.untilSeen("--max-turns")
	require.NotNil(t, b.anySession().Started.Sandbox)
	b.release()
	b.stopped()
	require.Contains(t, b.ran(), "--max-turns")
	mounts, err := os.Readlink("/proc/self/ns/mnt")
	require.NoError(t, err)
	require.NotEqual(t, mounts, strings.TrimSpace(b.read("ran.mounts")))
}
