package account

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/agent/claude/claudetest"
	"resumed/internal/resume"
)

// person is somebody with homes of Claude Code.
type person struct {
	agent.Transcripts
	*Account
}

func newPerson(homes ...string) *person {
	p := &person{Transcripts: agent.Transcripts{
		Base:  agent.NewBase(agent.About{Login: Login, Keys: Keys}, agent.Options{}),
		Homes: agent.Homes{Roots: homes},
	}}
	p.Account = New(&p.Transcripts)
	return p
}

func TestWhatClaudeCodeKeepsOfTheAllowances(t *testing.T) {
	stopped := time.Date(2026, 11, 15, 20, 6, 10, 0, time.UTC)
	file := func(five, seven string) string {
		return fmt.Sprintf(`{"cachedUsageUtilization":{"fetchedAtMs":%d,"accountUuid":"u","utilization":{"five_hour":%s,"seven_day":%s,"seven_day_opus":null}}}`,
			stopped.Add(-time.Hour).UnixMilli(), five, seven)
	}
	const (
		five  = `{"utilization":71.0,"resets_at":"2026-11-15T21:59:59.9+00:00"}`
		seven = `{"utilization":93.5,"resets_at":"2026-11-18T05:00:00Z"}`
	)
	week := time.Date(2026, 11, 18, 5, 0, 0, 0, time.UTC)
	for rule, c := range map[string]struct {
		file, text  string
		used        float64
		week, lifts bool
	}{
		"of the week":                       {file(five, seven), "You've hit your 5-hour limit", 93.5, true, false},
		"when the limit lifts that is near": {file(five, seven), claudetest.NearTheLimit, 93.5, true, true},
		"of the grace too":                  {file(five, "null"), claudetest.InTheGrace, 0, false, true},
		"not of an earlier window":          {file(`{"utilization":71.0,"resets_at":"2026-11-15T18:00:00Z"}`, "null"), claudetest.NearTheLimit, 0, false, false},
		"nor of a later one":                {file(`{"utilization":1.0,"resets_at":"2026-11-16T03:00:00Z"}`, "null"), claudetest.NearTheLimit, 0, false, false},
		"nothing where nobody has looked":   {`{"userID":"x"}`, claudetest.NearTheLimit, 0, false, false},
		"nothing of no reset":               {file(`{"utilization":null,"resets_at":null}`, `{"utilization":0,"resets_at":null}`), "", 0, false, false},
		"nothing of half a file":            {`{"cachedUsageUtil`, "", 0, false, false},
	} {
		for where, home := range map[string]string{"in a home that was moved": "", "beside the usual one": ".claude"} {
			t.Run(rule+" "+where, func(t *testing.T) {
				dir := t.TempDir()
				root := filepath.Join(dir, home)
				a := newPerson(root)
				a.UserDir = dir
				if home == "" {
					a.UserDir = t.TempDir()
				}
				require.NoError(t, os.WriteFile(filepath.Join(dir, ".claude.json"), []byte(c.file), 0o600))
				s := resume.Session{Transcript: filepath.Join(root, "projects", "-src", "x.jsonl"), Interruption: resume.Interruption{LimitText: c.text}, LimitedAt: stopped}
				got, known, err := a.Usage(t.Context(), s)
				require.NoError(t, err)
				require.Equal(t, c.week || c.lifts, known)
				require.InDelta(t, c.used, got.WeekUsed, 0.01)
				require.Equal(t, c.week, got.WeekResetsAt.Equal(week))
				require.Equal(t, c.lifts, got.Lifts.After(stopped))
			})
		}
	}
}
