package claude

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agenttest"
	"resumed/internal/headless"
	"resumed/internal/limit"
)

func TestWhatARunPrintsSaysWhatItsTranscriptDoes(t *testing.T) {
	limits := limit.Reader{At: time.Date(2026, 11, 15, 0, 25, 0, 0, time.UTC), Zone: time.UTC, Grace: 2 * time.Hour}
	found := 0
	for _, c := range agenttest.Cases[captured](t) {
		paths, err := filepath.Glob("testdata/stdout/" + c.Case + ".*json")
		require.NoError(t, err)
		if len(paths) == 0 {
			continue // an interactive one
		}
		found++
		t.Run(c.Case, func(t *testing.T) {
			data, err := os.ReadFile(paths[0])
			require.NoError(t, err)
			if c.Class == limit.Cancelled {
				c.Class, c.Text = limit.None, ""
			}
			v, words := invocation{}.Failed(limits, headless.Printed{Stdout: string(data)})
			require.Equal(t, c.Class.String(), v.Class.String())
			require.False(t, v.InProgress)
			if c.Class == limit.None {
				return
			}
			require.Equal(t, c.Text, words)
			if !c.ResetAt.IsZero() && c.Case != "u-fromnow23h" { // almost a day ahead cannot be told from just past
				require.WithinDuration(t, c.ResetAt, v.Reset.At, time.Minute)
			}
			if c.WaitHelps != nil {
				require.Equal(t, *c.WaitHelps, v.WaitHelps)
			}
		})
	}
	require.Greater(t, found, 50)
}

func TestTheExactTimeOfALimitIsInAnEarlierRecord(t *testing.T) {
	data, err := os.ReadFile("testdata/stdout/u5h.stream-json")
	require.NoError(t, err)
	v, _ := invocation{}.Failed(limit.Reader{At: time.Date(2026, 11, 15, 0, 25, 0, 0, time.UTC)}, headless.Printed{Stdout: string(data)})
	require.Equal(t, time.Date(2026, 11, 15, 2, 0, 20, 0, time.UTC), v.Reset.At.UTC())
	require.False(t, v.Reset.Rough)
}
