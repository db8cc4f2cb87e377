package main

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

const (
	otherSession    = "9b7d3a52-0c64-4f0e-8a1b-5de2c4f7a903"
	otherTranscript = ".claude/projects/-src/" + otherSession + ".jsonl"
)

// besides lets another session work in the bot's directory.
func (b *box) besides() {
	b.t.Helper()
	b.besidesBy("cli")
}

// besidesBy is besides with that entrypoint.
func (b *box) besidesBy(entrypoint string) {
	b.t.Helper()
	work := promptLine(otherSession, b.path("bot"), "this instead") + answerLine(otherSession, b.path("bot"), "Done.")
	b.appendTo(otherTranscript, strings.ReplaceAll(work, `"cwd":`, `"entrypoint":"`+entrypoint+`","cwd":`))
	b.until("it is seen", func() bool {
		out, _, _ := b.run("status", "--all")
		return strings.Contains(out, otherSession[:4])
	})
}

// decided waits until the stopped session was resumed or is left alone.
func (b *box) decided() view.Session {
	b.t.Helper()
	var s view.Session
	b.until("it is decided", func() bool {
		s = b.session(claudeSession)
		return s.State == resume.Parked || b.read("calls") != ""
	})
	return s
}

const inBackoff = "[backoff]\nbase_delay = %q\njitter = false\n"

// A session without an interruption is not stored over a restart, but its effect on another session is.
func TestAPersonWhoWentOnInAnotherSessionIsNotDisturbedAfterARestart(t *testing.T) {
	b, _ := waiting(t, fmt.Sprintf(inBackoff, "4m"))
	b.besides()
	require.Zero(t, b.kill(syscall.SIGTERM))

	b.write(configFile, fmt.Sprintf(inBackoff, "10ms"))
	b.start()
	require.Contains(t, b.decided().Reason, otherSession)
	require.Empty(t, b.read("calls"))
}

// Two sessions in one directory are no problem: the first time that a daemon observes one of them need
// not be its start.
func TestASessionThatWorkedBesideItAllAlongIsNoNewcomerAfterARestart(t *testing.T) {
	b := newBox(t)
	b.write(configFile, fmt.Sprintf(inBackoff, "4m"))
	b.write("bin/claude", callsOnly)
	b.write(otherTranscript, "")
	b.start()
	b.besides()
	b.write(claudeTranscript, promptLine(claudeSession, b.path("bot"), "go")+refusalLine(claudeSession, b.path("bot")))
	b.untilState(claudeSession, resume.Waiting)
	require.Zero(t, b.kill(syscall.SIGTERM))

	b.start()
	b.besides()
	b.reconfigure(fmt.Sprintf(inBackoff, "10ms"))
	b.decided()
	require.Contains(t, b.read("calls"), claudeSession)
}

// A session that is due when the daemon starts waits until all transcripts are read, also in the other
// homes of the agent.
func TestAPersonWhoWentOnInAnotherHomeWhileNoDaemonRanIsNotDisturbed(t *testing.T) {
	roots := func(b *box) string {
		return fmt.Sprintf("[[agent]]\nname = \"claude-code\"\nroots = [%q, %q]\n", b.path(".claude"), b.path(".claude-work"))
	}
	b := newBox(t)
	b.write(configFile, roots(b)+fmt.Sprintf(inBackoff, "4m"))
	b.write("bin/claude", callsOnly)
	b.start()
	b.write(claudeTranscript, promptLine(claudeSession, b.path("bot"), "go")+refusalLine(claudeSession, b.path("bot")))
	b.untilState(claudeSession, resume.Waiting)
	require.Zero(t, b.kill(syscall.SIGTERM))

	b.write(configFile, roots(b)+fmt.Sprintf(inBackoff, "10ms"))
	b.write(strings.Replace(otherTranscript, ".claude", ".claude-work", 1),
		promptLine(otherSession, b.path("bot"), "this instead")+answerLine(otherSession, b.path("bot"), "Done."))
	for i := range 1500 { // these are read first
		id := fmt.Sprintf("%08x-0c64-4f0e-8a1b-5de2c4f7a903", i)
		b.write(".claude-work/projects/-src/"+id+".jsonl", promptLine(id, b.path("tmp"), "go")+answerLine(id, b.path("tmp"), "Done."))
	}
	b.start()
	require.Contains(t, b.decided().Reason, otherSession)
	require.Empty(t, b.read("calls"))
}

// A commit hook runs `claude -p` in the directory of a session that waits: that does not continue the
// session's work.
func TestASideJobInTheSameDirectoryTakesNobodysPlace(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config  string
		resumed bool
	}{
		"as usual":                  {"", true},
		"where any newcomer counts": {"[resume]\nnewcomer = \"any\"\n", false},
		"where no newcomer counts":  {"[resume]\nnewcomer = \"never\"\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			b, _ := waiting(t, c.config+fmt.Sprintf(inBackoff, "4m"))
			b.besidesBy("sdk-cli")
			b.reconfigure(c.config + fmt.Sprintf(inBackoff, "10ms"))
			s := b.decided()
			require.Equal(t, c.resumed, strings.Contains(b.read("calls"), claudeSession), s.Reason)
		})
	}
}
