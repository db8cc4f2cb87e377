package sdnotify

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// The test that boots a systemd waits for these words in the status line.
func TestSummary(t *testing.T) {
	script, err := os.ReadFile("../../systemd/test.sh")
	require.NoError(t, err)
	expected := regexp.MustCompile(`says ('.*'|\S+) property StatusText`).FindAllStringSubmatch(string(script), -1)
	require.NotEmpty(t, expected)
	met := make(map[string]bool)
	now := time.Date(2026, 11, 15, 12, 0, 0, 0, time.Local)
	waiting := func(at time.Time) *resume.Session {
		return &resume.Session{State: resume.Waiting, Interruption: resume.Interruption{NextAt: at}}
	}
	for want, c := range map[string]struct {
		sessions        []*resume.Session
		paused, refused bool
	}{
		"watching":                           {},
		"paused; watching":                   {paused: true},
		"1 session waits, next at 15:00":     {sessions: []*resume.Session{waiting(now.Add(3 * time.Hour)), {State: resume.Watching}}},
		"2 sessions wait, next at 13:00":     {sessions: []*resume.Session{waiting(now.Add(3 * time.Hour)), waiting(now.Add(time.Hour))}},
		"1 session waits, next at Tue 12:00": {sessions: []*resume.Session{waiting(now.Add(48 * time.Hour))}},
		"the newest configuration has errors and is not used; 2 sessions need a person; 1 session is resumed": {
			sessions: []*resume.Session{{State: resume.GaveUp}, {State: resume.Parked}, {State: resume.Settling}}, refused: true,
		},
	} {
		require.Equal(t, want, summarise(c.sessions, c.paused, c.refused, now))
		for _, pattern := range expected {
			like := strings.NewReplacer("'", "", `\(`, "(", `\)`, ")", `\?`, "?").Replace(pattern[1]) // grep's form to Go's
			met[pattern[1]] = met[pattern[1]] || regexp.MustCompile(like).MatchString(want)
		}
	}
	for _, pattern := range expected {
		require.True(t, met[pattern[1]], "systemd/test.sh waits for %s, which the status line never says", pattern[1])
	}
}
