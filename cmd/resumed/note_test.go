package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// A turn that Claude Code let end because a usage limit was near is no finished
// task.
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
	require.Contains(t, view.Reason, "moves again after 1 resume")
	require.Equal(t, 1, strings.Count(b.read("runs"), "\n"))
}
