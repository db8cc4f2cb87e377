package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/control"
	"resumed/internal/resume"
)

// A file that is written through another name sends no event for its directory, and would only be read
// after minutes.
func TestAHookHasATranscriptReadThatSendsNoEvent(t *testing.T) {
	b := newBox(t)
	b.write(claudeTranscript, promptLine(claudeSession, b.path("src"), "work")+answerLine(claudeSession, b.path("src"), "done"))
	b.start()
	b.until("the session is known", func() bool {
		status, err := b.daemon.Status(t.Context(), true)
		return err == nil && len(status.Sessions) == 1
	})
	require.NoError(t, os.Link(b.path(claudeTranscript), b.path("elsewhere")))
	b.appendTo("elsewhere", refusalLine(claudeSession, b.path("src")))
	out, errOut, code := b.runWith(`{"session_id":"`+claudeSession+`","transcript_path":"/elsewhere.jsonl","hook_event_name":"StopFailure"}`, "hook", "claude-code")
	require.Empty(t, out+errOut)
	require.Zero(t, code)
	b.untilState(claudeSession, resume.Waiting)
}

func TestAHookNeverTroublesItsAgent(t *testing.T) {
	b := newBox(t)
	said := `{"session_id":"s-1","transcript_path":"/t.jsonl"}`
	quiet := func(stdin string, args ...string) {
		out, errOut, code := b.runWith(stdin, append([]string{"hook"}, args...)...)
		require.Empty(t, out+errOut, args)
		require.Zero(t, code, args)
	}
	quiet(said, "claude-code") // no daemon
	quiet("", "codex", said)
	quiet("no json", "claude-code")
	quiet("")
	quiet(said, "an agent of another version", "--flag")

	// A daemon that accepts the call and never answers.
	dir := b.path("runtime", "resumed")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	hung, err := net.Listen("unix", filepath.Join(dir, control.SocketName))
	require.NoError(t, err)
	defer hung.Close()
	quiet(said, "claude-code")

	// An agent that keeps the pipe open.
	cmd := exec.Command(b.binary, "hook", "claude-code")
	cmd.Env, cmd.Dir = b.env(), b.home
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	defer in.Close()
	require.NoError(t, cmd.Start())
	require.NoError(t, cmd.Wait())
}
