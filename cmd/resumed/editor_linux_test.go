package main

import (
	"encoding/json"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// A session of an editor's extension is told of with the editor's name, nothing is typed even if the
// editor was started in tmux, nothing runs beside it, and it is continued once the editor has let go.
func TestASessionInAnEditor(t *testing.T) {
	b := newLiveBox(t)
	s := b.standIn()
	s.Runs = "claude-vscode"
	b.show(s, "exec SELF")
	b.start()
	b.limited(map[string]any{"error": "server_error", "apiErrorStatus": 529, "entrypoint": s.Runs}, overloadedText)
	const words = "open in VS Code: continue there, or quit it and resumed continues it; resumed cannot type there"
	b.until("it is told where it is open", func() bool {
		return strings.Contains(b.session(liveID).Reason, words) && strings.Contains(b.session(liveID).Unreached, words)
	})
	one, _, code := b.run("status", liveID)
	require.Zero(t, code)
	require.Regexp(t, `opened in\s+VS Code\n`, one)
	out, _, code := b.run("status", "--json")
	require.Zero(t, code)
	var status struct {
		Sessions []struct {
			App   string
			Owner struct{ App string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(out), &status))
	require.Equal(t, "VS Code", status.Sessions[0].App)
	require.Equal(t, "VS Code", status.Sessions[0].Owner.App)
	require.Empty(t, b.keys())
	require.Empty(t, b.read("runs"), "nothing runs beside it")

	require.NoError(t, syscall.Kill(b.registeredPID(), syscall.SIGKILL))
	b.untilState(liveID, resume.Watching)
	require.Equal(t, 1, strings.Count(b.read("runs"), "\n"), "when it is closed it is continued, once")
	require.Empty(t, b.keys())
	require.Equal(t, "VS Code", b.session(liveID).App, "a resume does not change where its user works")

	b.appendTo(b.transcript(), transcriptLine(liveID, b.path("bot"), time.Now(), map[string]any{
		"type": "user", "entrypoint": "cli", "message": map[string]any{"role": "user", "content": "go on"},
	}))
	b.until("it is known that its user has opened it in a terminal", func() bool { return b.session(liveID).App == "" })
}
