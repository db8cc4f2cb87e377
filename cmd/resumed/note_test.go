package main

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// A turn that Claude Code ended early because a usage limit was near is not a finished task.
func TestATurnThatWasLetEndIsContinued(t *testing.T) {
	b := newLiveBox(t)
	b.write("claude.sh", "#!/bin/sh\necho \"$*\" >> \"$HOME/runs\"\nprintf '%s\\n' '"+strings.TrimSpace(promptLine(liveID, b.path("bot"), "continue"))+"' '"+
		strings.TrimSpace(answerLine(liveID, b.path("bot"), "All done."))+"' >> \"$HOME/"+b.transcript()+"\"\n")
	b.start()
	b.appendTo(b.transcript(), transcriptLine(liveID, b.path("bot"), time.Now(), map[string]any{
		"type": "user", "isMeta": true, "turnCompanion": true, "usageLimitNote": "near_limit",
		"message": map[string]any{"role": "user", "content": "[Usage limit approaching. Checkpoint now: finish the current step.]"},
	})+answerLine(liveID, b.path("bot"), "I stop here. Left: the tests."))
	b.until("it was continued", func() bool { return strings.Count(b.read("runs"), "\n") == 1 })
	view := b.untilState(liveID, resume.Watching)
	require.Contains(t, view.Reason, "works again after 1 resume")
	require.Equal(t, 1, strings.Count(b.read("runs"), "\n"))
}

// A resume that worked and ended early near the limit again has moved the session, even if its last
// answer is the first sign of that.
func TestATurnThatWorkedAndWasLetEndAgainIsForgiven(t *testing.T) {
	b := newLiveBox(t)
	b.configure("")
	b.write(configFile, strings.Replace(b.read(configFile), `base_delay = "100ms"`, "base_delay = \"100ms\"\nmax_retries = 2", 1))
	note := transcriptLine(liveID, b.path("bot"), time.Now(), map[string]any{
		"type": "user", "isMeta": true, "turnCompanion": true, "usageLimitNote": "near_limit",
		"message": map[string]any{"role": "user", "content": "[Usage limit approaching. Checkpoint now: finish the current step.]"},
	})
	works := strings.Replace(answerLine(liveID, b.path("bot"), "One step."), `"end_turn"`, `"tool_use"`, 1)
	turn := promptLine(liveID, b.path("bot"), "continue") + note + works + answerLine(liveID, b.path("bot"), "I stop here.")
	b.write("turn", regexp.MustCompile(`("timestamp":")[^"]+`).ReplaceAllString(turn, "${1}AT"))
	b.write("claude.sh", "#!/bin/sh\necho \"$*\" >> \"$HOME/runs\"\nsed \"s/\\\"AT\\\"/\\\"$(date -u +%FT%T.%NZ)\\\"/\" \"$HOME/turn\" >> \"$HOME/"+b.transcript()+"\"\n")
	b.start()
	b.appendTo(b.transcript(), note+answerLine(liveID, b.path("bot"), "I stop here."))
	b.until("it was continued more often than it may be without movement", func() bool { return strings.Count(b.read("runs"), "\n") >= 4 })
	require.NotEqual(t, resume.GaveUp, b.session(liveID).State)
}
