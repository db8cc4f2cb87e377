package main

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// The last part of the week's allowance can be reserved for people: sessions wait for the next week and
// say so, and continue when a person asks.
func TestTheLastOfTheWeekIsKeptForPeople(t *testing.T) {
	b := newBox(t)
	b.write(configFile, "[resume]\nmargin = \"0s\"\nunseen = \"same_mode\"\nweekly_reserve = 40\n")
	b.write("bin/codex", codexStandIn)
	b.start()
	week := time.Now().Add(50 * time.Hour).Truncate(time.Second)
	text := shiftRollout(t, time.Now().Add(time.Second), b.path("bot"))
	b.write(codexRollout, regexp.MustCompile(`("used_percent":61\.0,"window_minutes":10080,"resets_at":)\d+`).
		ReplaceAllString(text, "${1}"+strconv.FormatInt(week.Unix(), 10)))
	b.until("it waits for the new week", func() bool {
		s := b.session(codexSession)
		return s.NextAt != nil && s.NextAt.Equal(week)
	})
	require.Regexp(t, "^61 % of the week's allowance is used, and the last 40 % are kept for you \\(resume.weekly_reserve\\): it waits for the new week; `resumed retry \\S+` continues it now",
		b.session(codexSession).Reason)
	require.Empty(t, b.read("calls"))

	b.reconfigure("[resume]\nmargin = \"0s\"\nunseen = \"same_mode\"\nweekly_reserve = 30\n")
	b.untilState(codexSession, resume.Watching)
	require.Equal(t, 1, strings.Count(b.read("calls"), "exec\n"), "there is enough left for other wishes")
}

func TestARetryUsesTheReserve(t *testing.T) {
	b := newBox(t)
	b.write(configFile, "[resume]\nmargin = \"0s\"\nunseen = \"same_mode\"\nweekly_reserve = 99\n")
	b.write("bin/codex", codexStandIn)
	b.start()
	week := strconv.FormatInt(time.Now().Add(50*time.Hour).Unix(), 10)
	b.write(codexRollout, regexp.MustCompile(`("window_minutes":10080,"resets_at":)\d+`).ReplaceAllString(
		shiftRollout(t, time.Now().Add(time.Second), b.path("bot")), "${1}"+week))
	b.until("it waits for the new week", func() bool {
		return strings.Contains(b.session(codexSession).Reason, "kept for you")
	})
	_, errOut, code := b.run("retry", "--now", codexSession)
	require.Zero(t, code, errOut)
	b.untilState(codexSession, resume.Watching)
}

// A turn that Claude Code ended early near a limit states no time: the recorded usage of the window
// does.
func TestATurnThatWasLetEndWaitsForTheWindow(t *testing.T) {
	b := newLiveBox(t)
	lifts := time.Now().Add(2 * time.Hour).Truncate(time.Second).UTC()
	kept, err := json.Marshal(map[string]any{"cachedUsageUtilization": map[string]any{
		"fetchedAtMs": time.Now().Add(-time.Hour).UnixMilli(),
		"utilization": map[string]any{"five_hour": map[string]any{"utilization": 71.0, "resets_at": lifts}, "seven_day": nil},
	}})
	require.NoError(t, err)
	b.write(".claude.json", string(kept))
	b.configure("")
	b.write(configFile, strings.Replace(b.read(configFile), `base_delay = "100ms"`, `base_delay = "5m"`, 1))
	b.start()
	b.appendTo(b.transcript(), transcriptLine(liveID, b.path("bot"), time.Now(), map[string]any{
		"type": "user", "isMeta": true, "turnCompanion": true, "usageLimitNote": "near_limit",
		"message": map[string]any{"role": "user", "content": "[Usage limit approaching. Checkpoint now: finish the current step.]"},
	})+answerLine(liveID, b.path("bot"), "I stop here. Left: the tests."))
	b.until("it waits for the window", func() bool {
		s := b.session(liveID)
		return s.State == resume.Waiting && s.NextAt != nil && s.NextAt.Equal(lifts)
	})
}
