package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/mounts"
	"resumed/internal/resume"
)

// tellingClaude is a Claude Code that records how it was run.
const tellingClaude = `#!/usr/bin/env node
case "$*" in *continue*)
	echo "args=$* url=$ANTHROPIC_BASE_URL token=$ANTHROPIC_AUTH_TOKEN key=$ANTHROPIC_API_KEY home=$CLAUDE_CONFIG_DIR" >> "$HOME/calls"
	now=$(date -u +%%Y-%%m-%%dT%%H:%%M:%%S.000Z)
	printf '{"type":"assistant","sessionId":"%[1]s","timestamp":"%%s","message":{"model":"m","content":[{"type":"text","text":"Done."}]}}\n' "$now" >> "$HOME/%[2]s"
	exit
esac
while [ ! -e "$HOME/over" ]; do sleep 0.05; done
`

// leashed is a session of Claude Code that was started with these variables and arguments, was stopped,
// and has no process any more.
func (b *box) leashed(mode string, vars []string, args ...string) {
	b.t.Helper()
	b.waiting(mode, vars, args...)
	b.steer("unpause")
}

// waiting is leashed, with the daemon paused.
func (b *box) waiting(mode string, vars []string, args ...string) {
	b.t.Helper()
	claude := b.nodeAt("node20/bin")
	b.write("node20/bin/claude", fmt.Sprintf(tellingClaude, claudeSession, claudeTranscript))
	b.write(configFile, "[backoff]\nbase_delay = \"200ms\"\njitter = false\n[resume]\nlive = \"ignore\"\n"+b.read(configFile))
	b.start()
	b.steer("pause") // until everything is set up
	holder := b.liveWith(append(vars, "PATH="+b.path("node20/bin")+":"+os.Getenv("PATH")), claude, args...)
	prompt := strings.Replace(promptLine(claudeSession, b.path("bot"), "work"), "{", `{"permissionMode":"`+mode+`",`, 1)
	b.write(claudeTranscript, prompt+refusalLine(claudeSession, b.path("bot")))
	b.until("it is known what it was started with", func() bool { return b.session(claudeSession).Started.Seen })
	b.write("over", "")
	require.NoError(b.t, holder.Wait())
}

func TestWhatAPersonForbadeStaysForbidden(t *testing.T) {
	b := newBox(t)
	b.vars = []string{"ANTHROPIC_BASE_URL=http://127.0.0.1:1/daemon", "ANTHROPIC_API_KEY=sk-of-the-daemon", "CLAUDE_CONFIG_DIR="}
	b.write("bot/s.json", "{}")
	b.leashed("acceptEdits", []string{"ANTHROPIC_BASE_URL=http://127.0.0.1:1/session", "ANTHROPIC_API_KEY="},
		"--disallowedTools", "Bash(touch:*)", "--settings", "s.json", "--verbose", "--max-turns=3")
	b.untilState(claudeSession, resume.Watching)
	require.Equal(t, "args=-p --disallowedTools Bash(touch:*) --settings "+b.path("bot/s.json")+" --max-turns=3 --resume "+claudeSession+
		" --permission-mode acceptEdits continue url=http://127.0.0.1:1/session token= key= home=\n", b.read("calls"))
	require.NotContains(t, b.logged()+b.read(".local/state/resumed/state.db"), "sk-of-the-daemon")
}

// restart ends the daemon and starts another one.
func (b *box) restart() {
	b.t.Helper()
	require.Zero(b.t, b.kill(syscall.SIGTERM))
	b.start()
}

// runtimeOnDisk gives the box a runtime directory on a disk, where values are not kept. /tmp may be in memory.
func (b *box) runtimeOnDisk() {
	b.t.Helper()
	if mounts.InMemory("/var/tmp") {
		require.Empty(b.t, os.Getenv("CI"), "CI has a disk")
		b.t.Skip("NOT TESTED HERE: a runtime directory on a disk; /var/tmp is in memory")
	}
	b.runtimeIn("/var/tmp")
}

func (b *box) runtimeIn(parent string) {
	b.t.Helper()
	dir, err := os.MkdirTemp(parent, "resumed-test-")
	require.NoError(b.t, err)
	b.t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(b.t, os.Symlink(dir, b.path("runtime")))
}

func TestNoOtherAccountIsAsked(t *testing.T) {
	b := newBox(t)
	b.runtimeOnDisk()
	b.vars = []string{"ANTHROPIC_AUTH_TOKEN=of-the-daemon"}
	b.waiting("default", []string{"ANTHROPIC_AUTH_TOKEN=of-the-session"})
	b.restart() // values are only in memory
	b.steer("unpause")
	parked := b.untilState(claudeSession, resume.Parked)
	require.Contains(t, parked.Reason, "ANTHROPIC_AUTH_TOKEN: another account would be used")
	require.Contains(t, parked.Reason, "claude --resume "+claudeSession)
	require.Empty(t, b.read("calls"))
	require.NotContains(t, b.logged(), "of-the-session")

	b.write("keys", "ANTHROPIC_AUTH_TOKEN=of-the-session\n")
	require.NoError(t, os.Chmod(b.path("keys"), 0o600))
	b.reconfigure(b.read(configFile) + "[[agent]]\nname = \"claude-code\"\nenv_file = \"~/keys\"\n")
	b.until("that is in force", func() bool { return strings.Contains(b.logged(), "configuration in force") })
	_, errOut, code := b.run("retry", claudeSession)
	require.Zero(t, code, errOut)
	b.untilState(claudeSession, resume.Watching)
	require.Contains(t, b.read("calls"), " token=of-the-session ")
}

// stoppedUnseen writes transcripts of Claude Code whose processes nobody saw, and starts the daemon.
func (b *box) stoppedUnseen(transcripts map[string]string) {
	b.vars = append(b.vars, "RESUMED_RESUME_UNSEEN=park")
	b.write("bin/claude", "#!/bin/sh\necho \"$*\" >> \"$HOME/calls\"\n")
	b.write(configFile, "[backoff]\nbase_delay = \"100ms\"\njitter = false\n[resume]\nsettle = \"200ms\"\n")
	for path, text := range transcripts {
		b.write(path, text)
	}
	b.start()
}

// Flags, variables or a sandbox that nobody saw may have forbidden what a resume could do.
func TestASessionWhoseStartNobodySawWaitsForItsUsersWord(t *testing.T) {
	b := newBox(t)
	b.stoppedUnseen(map[string]string{claudeTranscript: promptLine(claudeSession, b.path("bot"), "work") + refusalLine(claudeSession, b.path("bot"))})
	parked := b.untilState(claudeSession, resume.Parked)
	require.Contains(t, parked.Reason, "its start was not seen: its flags, variables and sandbox are not known; `resumed retry ")
	require.Equal(t, "start_unseen", *parked.Needs)
	require.False(t, parked.Started.Seen)
	require.NoFileExists(t, b.path("calls"))

	out, errOut, code := b.run("retry", "--unseen")
	require.Zero(t, code, errOut)
	require.Contains(t, out, "4f2a (bot): ")
	b.until("it is continued", func() bool { return strings.Contains(b.read("calls"), "--resume "+claudeSession) })
	require.NotEqual(t, resume.Parked, b.session(claudeSession).State)

	b.untilState(claudeSession, resume.GaveUp) // the word counts for all tries
	require.Greater(t, strings.Count(b.read("calls"), "\n"), 2)
	out, errOut, code = b.run("retry", "--unseen")
	require.Zero(t, code, errOut)
	require.Contains(t, out, "No session is stopped that way: nothing was done.")
}

func TestASessionThatOnlyPlansContinuesUnseen(t *testing.T) {
	b := newBox(t)
	b.stoppedUnseen(map[string]string{
		claudeTranscript: strings.Replace(bypassing(claudeSession, b.path("bot")), "bypassPermissions", "plan", 1) + refusalLine(claudeSession, b.path("bot")),
	})
	b.until("it is continued", func() bool { return strings.Contains(b.read("calls"), "--permission-mode plan") })
}

// If a person hits a limit and signs in with another account, the first session must not continue with
// the second account.
func TestASessionIsNotContinuedInTheNameOfAnotherLogin(t *testing.T) {
	b := newBox(t)
	signIn := func(id string) { b.write(".claude.json", `{"oauthAccount":{"accountUuid":"`+id+`"}}`) }
	signIn("first")
	b.waiting("default", nil)
	signIn("second")
	b.steer("unpause")
	parked := b.untilState(claudeSession, resume.Parked)
	require.Contains(t, parked.Reason, "another account would be used: you are signed in as a different user")
	require.Empty(t, b.read("calls"))

	signIn("first")
	_, errOut, code := b.run("retry", claudeSession)
	require.Zero(t, code, errOut)
	b.untilState(claudeSession, resume.Watching)
}
