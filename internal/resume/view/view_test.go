package view

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
	"resumed/internal/resume"
)

func TestViewIsThePromisedJSON(t *testing.T) {
	east := time.FixedZone("east", 2*60*60)
	at := time.Date(2026, 3, 1, 4, 30, 0, 500_000_000, east)

	sessions := map[string]resume.Session{
		"untouched session has nulls and empty lists": {
			Key:   resume.Key{Agent: "codex", ID: "0198"},
			State: resume.Watching,
		},
		"gave up with every field": {
			Key:        resume.Key{Agent: "claude-code", ID: "4f2a9c1e"},
			Name:       "4f2a",
			Account:    "claude-code:default",
			Cwd:        "/src/api",
			Transcript: "/t/4f2a9c1e.jsonl",
			State:      resume.GaveUp,
			Paused:     true,
			Reason:     resume.Reason{Kind: resume.WhyGaveUp, N: 2},
			LimitedAt:  at,
			Windows:    1,
			Interruption: resume.Interruption{
				Owner: &resume.Owner{PID: 17, Kind: "interactive", Tmux: "%3"},
				Limit: limit.Verdict{
					Class:     limit.UsageLimit,
					WaitHelps: true,
					Reset:     limit.Reset{At: at.Add(time.Hour), Source: limit.Words, Rough: true},
				},
				LimitText: "You've hit your limit",
				NextAt:    at.Add(2 * time.Hour),
				Attempts: []resume.Attempt{
					{N: 1, Mark: "secret", StartedAt: at, EndedAt: at.Add(time.Minute), Delay: 30400 * time.Millisecond, Outcome: resume.LimitedOut, Err: "limit reached"},
					{N: 2, StartedAt: at.Add(time.Hour), Delay: time.Minute},
				},
			},
			Past: []resume.Attempt{{N: 1, StartedAt: at.Add(-time.Hour), EndedAt: at, Outcome: resume.Recovered}},
		},
	}

	var got []byte
	for _, name := range []string{"untouched session has nulls and empty lists", "gave up with every field"} {
		text, err := json.MarshalIndent(Of(sessions[name], 5), "", "  ")
		require.NoError(t, err)
		got = append(got, "// "+name+"\n"+string(text)+"\n"...)
	}
	golden := filepath.Join("testdata", "view.golden")
	if *updateViews {
		require.NoError(t, os.WriteFile(golden, got, 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}

func TestViewSharesNothingWithTheSession(t *testing.T) {
	s := resume.Session{Interruption: resume.Interruption{Owner: &resume.Owner{PID: 1}, Attempts: []resume.Attempt{{N: 1}}}}
	v := Of(s, 5)
	s.Owner.PID, s.Attempts[0].N = 2, 2
	require.Equal(t, 1, v.Owner.PID)
	require.Equal(t, 1, v.Attempts[0].N)
}
