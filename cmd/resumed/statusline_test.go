package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/control"
)

// The user's own status line stays the same, and the daemon knows the usage.
func TestAStatusLineTellsWhatIsUsed(t *testing.T) {
	b := newBox(t)
	b.write("own.sh", "#!/bin/sh\nprintf 'mine: '; cat | wc -c | tr -d ' '; echo trouble >&2; exit 3\n")
	said := fmt.Sprintf(`{"session_id":%q,"rate_limits":{"five_hour":{"used_percentage":71.5,"resets_at":%d},"seven_day":{"used_percentage":41,"resets_at":%d}}}`,
		claudeSession, time.Now().Add(3*time.Hour).Unix(), time.Now().Add(60*time.Hour).Unix())
	line := func(args ...string) (out, errOut string, code int) {
		return b.runWith(said, append([]string{"statusline"}, args...)...)
	}
	for _, running := range []bool{false, true} {
		if running {
			b.start()
			b.write(claudeTranscript, promptLine(claudeSession, b.path("src"), "work")+answerLine(claudeSession, b.path("src"), "done"))
			b.until("the session is known", func() bool {
				out, _, _ := b.run("status", "--all", "--json")
				var status control.Status
				return json.Unmarshal([]byte(out), &status) == nil && len(status.Sessions) == 1
			})
		}
		out, errOut, code := line("--", "sh", b.path("own.sh"))
		require.Equal(t, fmt.Sprintf("mine: %d\n", len(said)), out)
		require.Equal(t, "trouble\n", errOut)
		require.Equal(t, 3, code)
		out, _, code = line()
		require.Zero(t, code)
		require.Equal(t, "72 % of 5 hours, 41 % of 7 days\n", out)
	}
	b.until("it is known", func() bool {
		_, _, _ = line()
		out, _, _ := b.run("usage")
		return strings.Contains(out, "claude-code:default") && strings.Contains(out, "72 %")
	})
}
