package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// callsOnly is an agent that only records its calls.
const callsOnly = "#!/bin/sh\necho \"$CLAUDE_CONFIG_DIR $*\" >> \"$HOME/calls\"\n"

const slowly = "[backoff]\nbase_delay = \"4s\"\njitter = false\n"

// waiting is a box in which a session of Claude Code was stopped.
func waiting(t *testing.T, config string) (b *box, transcript string) {
	b = newBox(t)
	b.write(configFile, config)
	b.write("bin/claude", callsOnly)
	b.start()
	transcript = promptLine(claudeSession, b.path("bot"), "go") + refusalLine(claudeSession, b.path("bot"))
	b.write(claudeTranscript, transcript)
	b.untilState(claudeSession, resume.Waiting)
	return b, transcript
}

// staysWatching checks the session after all transcripts were read: changes are read in batches, so that
// the second of two later sessions is read after whatever was written before the first.
func (b *box) staysWatching() {
	b.t.Helper()
	for _, later := range []string{"11111111" + claudeSession[8:], "22222222" + claudeSession[8:]} {
		b.write(".claude/projects/-later/"+later+".jsonl", promptLine(later, b.home, "go")+refusalLine(later, b.home))
		b.until("a later session is read", func() bool { return b.session(later).ID != "" })
	}
	require.Equal(b.t, resume.Watching, b.session(claudeSession).State)
	require.NotContains(b.t, b.read("calls"), claudeSession)
}

func TestACopyFromBeforeAPersonWentOnStopsNothing(t *testing.T) {
	b, before := waiting(t, slowly)
	b.appendTo(claudeTranscript, promptLine(claudeSession, b.path("bot"), "never mind")+answerLine(claudeSession, b.path("bot"), "Done."))
	b.untilState(claudeSession, resume.Watching)
	b.write(".claude/projects/-src/"+claudeSession+".copy.jsonl", before)
	b.staysWatching()
}

func TestACancelledWaitStaysCancelledWhenItsFileIsReplaced(t *testing.T) {
	b, before := waiting(t, slowly)
	_, errOut, code := b.run("cancel", claudeSession)
	require.Zero(t, code, errOut)
	b.write("copy", before)
	require.NoError(t, os.Rename(b.path("copy"), b.path(claudeTranscript)))
	b.staysWatching()
}

// The home of a session decides its account: without it the session cannot be continued.
func TestASessionOfAHomeThatIsNotWatchedAnyMoreIsLeftAlone(t *testing.T) {
	b := newBox(t)
	roots := func(dirs ...string) string {
		return "[[agent]]\nname = \"claude-code\"\nroots = [\"" + strings.Join(dirs, `", "`) + "\"]\n" + slowly
	}
	b.write(configFile, roots(b.path(".claude"), b.path(".claude-work")))
	b.write("bin/claude", callsOnly)
	b.start()
	b.write(strings.Replace(claudeTranscript, ".claude", ".claude-work", 1),
		promptLine(claudeSession, b.path("bot"), "go")+refusalLine(claudeSession, b.path("bot")))
	b.untilState(claudeSession, resume.Waiting)
	b.reconfigure(roots(b.path(".claude")))
	b.until("it is held back", func() bool {
		require.Empty(t, b.read("calls"))
		return strings.Contains(b.session(claudeSession).Reason, "roots")
	})
	require.Equal(t, resume.Waiting, b.session(claudeSession).State)
	b.reconfigure(roots(b.path(".claude"), b.path(".claude-work")))
	_, errOut, code := b.run("retry", claudeSession)
	require.Zero(t, code, errOut)
	b.until("it goes on in its home", func() bool { return strings.Contains(b.read("calls"), b.path(".claude-work")) })
}

// registersAndWorks is a run that registers its session, as Claude Code does, and takes some time.
const registersAndWorks = `#!/bin/sh
echo "$*" >> "$HOME/calls"
mkdir -p "$HOME/.claude/sessions"
start=$(cut -d' ' -f22 /proc/$$/stat)
printf '{"pid":%d,"sessionId":"` + claudeSession + `","procStart":"%s","entrypoint":"sdk-cli","status":"busy"}' $$ "$start" > "$HOME/.claude/sessions/$$.json"
while [ ! -e "$HOME/done" ]; do sleep 0.1; done
`

func TestARunThatAnotherDaemonLeftBehindIsNotJoined(t *testing.T) {
	b := newBox(t)
	b.write(configFile, "[backoff]\nbase_delay = \"200ms\"\njitter = false\n")
	b.write("bin/claude", registersAndWorks)
	b.start()
	b.write(claudeTranscript, promptLine(claudeSession, b.path("bot"), "go")+refusalLine(claudeSession, b.path("bot")))
	registered := func() bool { entries, _ := os.ReadDir(b.path(".claude/sessions")); return len(entries) > 0 }
	b.until("the run has begun", registered)
	b.kill(syscall.SIGKILL)

	b.vars = []string{"XDG_STATE_HOME=" + b.path("other-state")}
	b.start()
	b.until("it is held back", func() bool { return strings.Contains(b.session(claudeSession).Reason, "runs it without a terminal") })
	b.until("exec says why", func() bool {
		_, errOut, code := b.run("exec", "--", "claude", "-p", "--resume", claudeSession, "go on")
		require.Equal(t, 1, code, errOut)
		require.Equal(t, 1, strings.Count(b.read("calls"), "\n"))
		return strings.Contains(errOut, "still works on this session") // the daemon itself has it for a moment
	})
	b.write("done", "")
}

// A home has several paths if there is a link to it, and a service may use another one than a shell.
func TestAWaitGoesOnWhenTheHomeHasAnotherName(t *testing.T) {
	b := newBox(t)
	link := filepath.Join(t.TempDir(), "home")
	require.NoError(t, os.Symlink(b.home, link))
	b.write(configFile, fmt.Sprintf(inBackoff, "4m"))
	b.write("bin/claude", callsOnly)
	b.vars = []string{"HOME=" + link}
	b.start()
	b.write(claudeTranscript, promptLine(claudeSession, b.path("bot"), "go")+refusalLine(claudeSession, b.path("bot")))
	b.untilState(claudeSession, resume.Waiting)
	require.Zero(t, b.kill(syscall.SIGTERM))

	b.vars = nil
	b.write(configFile, fmt.Sprintf(inBackoff, "10ms"))
	b.start()
	b.until("it is resumed", func() bool { return strings.Contains(b.read("calls"), claudeSession) })
}
