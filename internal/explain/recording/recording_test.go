package recording_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/explain/recording"
	"resumed/internal/headless"
)

func TestRowsOfAScreenAreJoined(t *testing.T) {
	require.Equal(t, "visit https://chatgpt.com/settings/usage to purchase more",
		recording.Block{Rows: []string{"visit https://chatgpt.com/settings/", "usage to purchase", "  more ", ""}}.Text())
}

func TestAScreenIsSplitIntoBlocks(t *testing.T) {
	begins := func(row string) (sign, words string) {
		if words, ok := strings.CutPrefix(row, "* "); ok {
			return "*", words
		}
		return "", ""
	}
	goesOn := func(row string) bool { return strings.HasPrefix(row, " ") }
	blocks := recording.Blocks([]string{"lost", "* one", "  two", "other", "  lost", "* three", "", "  lost"}, begins, goesOn)
	require.Equal(t, []recording.Block{{Line: 2, Sign: "*", Rows: []string{"one", "  two"}}, {Line: 6, Sign: "*", Rows: []string{"three"}}}, blocks)
}

func TestAClockOnAScreenTellsWhenItWasRead(t *testing.T) {
	rec := headless.Recording{At: time.Date(2026, 11, 15, 6, 0, 0, 0, time.UTC)}
	require.Equal(t, time.Date(2026, 11, 15, 0, 12, 0, 0, time.UTC), recording.LastShown(rec, time.UTC, 0, 12))
	require.Equal(t, time.Date(2026, 11, 14, 23, 50, 0, 0, time.UTC), recording.LastShown(rec, time.UTC, 23, 50), "not in the future")
	newYork, err := time.LoadLocation("America/New_York")
	require.NoError(t, err)
	require.True(t, time.Date(2026, 11, 15, 5, 50, 0, 0, time.UTC).Equal(recording.LastShown(rec, newYork, 0, 50)))
	rec.Exact = true
	require.Equal(t, rec.At, recording.LastShown(rec, time.UTC, 0, 12))
}
