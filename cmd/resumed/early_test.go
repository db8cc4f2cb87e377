package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// bothWait is a box in which one usage limit has stopped two sessions of an account for an hour.
func bothWait(t *testing.T) (b *box, reset time.Time) {
	b = newBox(t)
	b.write(configFile, "[resume]\nmargin = \"0s\"\nstagger = \"0s\"\nunseen = \"same_mode\"\n")
	b.write("bin/claude", fmt.Sprintf(claudeScript, otherSession, b.path("bot"), otherTranscript))
	b.write("allowed", "")
	b.start()
	reset = time.Now().Add(time.Hour).Truncate(time.Second)
	// Both begin before either stops: a session that began after another one stopped would take its place.
	sessions := map[string]string{claudeSession: claudeTranscript, otherSession: otherTranscript}
	for id, transcript := range sessions {
		b.write(transcript, promptLine(id, b.path("bot"), "go")+answerLine(id, b.path("bot"), "I begin."))
	}
	for id, transcript := range sessions {
		b.appendTo(transcript, usageLimitLine(id, b.path("bot"), time.Now(), reset))
		waits := b.untilState(id, resume.Waiting)
		require.True(t, reset.Equal(*waits.ResetAt))
	}
	return b, reset
}

// A session that works again before the reset proves to the others of its account that the limit is over.
func TestALimitThatEndsEarlyEndsForAllOfItsAccount(t *testing.T) {
	b, reset := bothWait(t)
	require.NoFileExists(t, b.path("calls"), "nothing proves it yet")
	b.appendTo(claudeTranscript, promptLine(claudeSession, b.path("bot"), "go on"))
	b.appendTo(claudeTranscript, answerLine(claudeSession, b.path("bot"), "I go on."))
	b.untilState(otherSession, resume.Watching)
	require.Contains(t, b.read("calls"), "--resume "+otherSession)
	require.Equal(t, 1, strings.Count(b.read("calls"), "\n"), "the one that a person continued is left alone")
	history, errOut, code := b.run("history", otherSession, "--json")
	require.Zero(t, code, errOut)
	require.Contains(t, history, fmt.Sprintf("its limit was over before the reset at %s: session %s of the same account works again", reset.UTC().Format(time.RFC3339), claudeSession))
}

// A session that is told an earlier reset than before tells it to the others of its account.
func TestAResetThatMovedEarlierCountsForAllOfItsAccount(t *testing.T) {
	b, reset := bothWait(t)
	earlier := time.Now().Add(15 * time.Second).Truncate(time.Second)
	b.write("refusal", promptLine(claudeSession, b.path("bot"), "continue")+usageLimitLine(claudeSession, b.path("bot"), time.Now().Add(time.Second), earlier))
	b.write("bin/claude", strings.Replace(b.read("bin/claude"), "now=", `case "$*" in *`+claudeSession+`*)
	[ ! -e "$HOME/refusal" ] || { cat "$HOME/refusal" >> "$HOME/`+claudeTranscript+`"; rm "$HOME/refusal"; }
	exit 1 ;;
esac
now=`, 1))
	_, errOut, code := b.run("retry", "--now", claudeSession)
	require.Zero(t, code, errOut)
	b.until("the other session is told", func() bool {
		told := b.session(otherSession).ResetAt
		return told == nil || earlier.Equal(*told)
	})
	b.until("it is continued", func() bool { return strings.Contains(b.read("calls"), "--resume "+otherSession) })
	require.False(t, time.Now().Before(earlier), "not before the reset")
	history, errOut, code := b.run("history", otherSession, "--json")
	require.Zero(t, code, errOut)
	require.Contains(t, history, fmt.Sprintf("its limit resets before %s: another session of the same account was told so", reset.UTC().Format(time.RFC3339)))
}
