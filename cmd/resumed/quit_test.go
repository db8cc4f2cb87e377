package main

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// If the user closes the agent after the stop, the session is continued, or left alone if configured. A
// killed agent was not closed.
func TestASessionThatItsUserClosedIsContinuedOrLeft(t *testing.T) {
	t.Parallel()
	for situation, c := range map[string]struct {
		keys  string
		end   syscall.Signal
		state resume.State
	}{
		"closed, and nothing is said of that":    {"", syscall.SIGHUP, resume.Watching},
		"closed, and it is to be left":           {"closed = \"leave\"\n", syscall.SIGHUP, resume.Parked},
		"killed, where closed ones are left":     {"closed = \"leave\"\n", syscall.SIGKILL, resume.Watching},
		"closed, where they are to be continued": {"closed = \"resume\"\n", syscall.SIGHUP, resume.Watching},
	} {
		t.Run(situation, func(t *testing.T) {
			b := newLiveBox(t)
			b.configure(c.keys)
			b.holdAndEnd(c.end)
			b.untilState(liveID, c.state)
			if c.state == resume.Watching {
				require.Equal(t, 1, strings.Count(b.read("runs"), "\n"), "without a terminal, once")
				return
			}
			require.Empty(t, b.read("runs"))
			_, errOut, code := b.run("retry", liveID)
			require.Zero(t, code, errOut)
			b.untilState(liveID, resume.Watching)
			require.Equal(t, 1, strings.Count(b.read("runs"), "\n"))
		})
	}
}

// holdAndEnd starts an agent that cannot be reached and holds the stopped session, and ends it.
func (b *liveBox) holdAndEnd(by syscall.Signal) {
	b.t.Helper()
	b.alone(b.standIn(), "claude")
	b.start()
	b.overloaded()
	b.until("it is held", func() bool { return b.session(liveID).Unreached != "" })
	require.NoError(b.t, syscall.Kill(b.registeredPID(), by))
}

// Checks the messages, and that a changed configuration is used.
func TestASessionThatWasLeftGoesOnWhenTheRuleChanges(t *testing.T) {
	b, hook := newLiveBox(t), newHook(t)
	told := fmt.Sprintf("[notify]\nevents = [\"parked\"]\ngroup_wait = \"0s\"\n[[notify.webhook]]\nname = \"ops\"\nurl = %q\n", hook.URL)
	b.configure("closed = \"leave\"\n")
	b.write(configFile, b.read(configFile)+told)
	b.holdAndEnd(syscall.SIGHUP)
	b.untilState(liveID, resume.Parked)
	b.until("people are told", func() bool { return len(hook.got()) == 2 })
	var text strings.Builder
	for i, name := range []string{"while it is open", "when it was closed"} {
		n := hook.got()[i]
		fmt.Fprintf(&text, "=== notice, %s\n%s\n---\n%s\n\n", name, n.Title, n.Text)
	}
	status, _, _ := b.run("status")
	text.WriteString("=== status\n" + tableOf(status) + "\n")
	sameAs(t, "testdata/closed.golden", b.impersonal(text.String(), -1))

	b.configure("")
	b.write(configFile, b.read(configFile)+told)
	b.untilState(liveID, resume.Watching)
	require.Equal(t, 1, strings.Count(b.read("runs"), "\n"))
}
