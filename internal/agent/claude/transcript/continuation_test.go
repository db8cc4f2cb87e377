package transcript

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheCapturedNoticeIsArmed(t *testing.T) {
	got, err := LastContinuation(t.Context(), "../testdata/transcripts/i-u5h-armed.jsonl")
	require.NoError(t, err)
	require.Equal(t, Continuation{waits, time.Date(2026, 11, 15, 0, 2, 58, 721e6, time.UTC)}, got)
	got, err = LastContinuation(t.Context(), "../testdata/transcripts/i-529.jsonl")
	require.NoError(t, err)
	require.Zero(t, got)
}
