package transcript

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func costs(usd float64) map[string]any {
	return map[string]any{"type": "cost-state", "sessionId": sessionA, "totalCostUSD": usd, "totalAPIDuration": 60_000, "totalToolDuration": 30_000}
}

func TestWhatASessionHasCost(t *testing.T) {
	first, known, err := Cost(t.Context(), written(t, asked(nil, `what is "cost-state"?`), costs(0.25)))
	require.NoError(t, err)
	require.True(t, known)
	require.InDelta(t, 0.25, first.USD, 1e-9)
	require.Equal(t, 90*time.Second, first.Work)
	second, _, _ := Cost(t.Context(), written(t, asked(nil, `what is "cost-state"?`), costs(0.25), asked(nil, `and "cost-state"?`), costs(0.25)))
	require.Greater(t, second.Read, first.Read, "it was counted again")

	_, known, err = Cost(t.Context(), written(t, asked(nil, `what is "cost-state"?`)))
	require.NoError(t, err)
	require.False(t, known, "2.1.197 counts nothing")
}

// As 2.1.325 writes it: the sum goes on over resumes.
func TestWhatACapturedSessionHasCost(t *testing.T) {
	cost, known, err := Cost(t.Context(), "../testdata/transcripts/compacted.jsonl")
	require.NoError(t, err)
	require.True(t, known)
	require.Positive(t, cost.USD)
}
