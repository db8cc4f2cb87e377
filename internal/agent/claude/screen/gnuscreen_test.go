package screen

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
	"resumed/internal/resume"
	"resumed/internal/terminal/gnuscreen"
)

// inScreen is a text as it is read from GNU screen 4, which tells the lowest byte of each character.
func inScreen(text string) string {
	var bytes []byte
	for _, r := range text {
		bytes = append(bytes, byte(r))
	}
	return gnuscreen.Restored(bytes)
}

// What may be typed does not depend on the terminal, although GNU screen tells only a part of most
// characters.
func TestEveryCapturedScreenIsRecognisedInGNUScreen(t *testing.T) {
	now := time.Date(2026, 11, 15, 2, 10, 0, 0, time.UTC)
	files, err := filepath.Glob("../testdata/screens/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		if filepath.Base(file) == "hint-narrow-30.txt" { // its hint is cut, and … cannot be told from & there
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			rows, _ := readLooks(string(data))
			want, got := Read(string(data)), Read(inScreen(strings.Join(rows, "\n")))
			require.Equal(t, want.view, got.view)
			require.Equal(t, want.draft, got.draft)
			require.Equal(t, want.title, got.title)
			require.Equal(t, want.cut, got.cut)
			require.Equal(t, want.insert, got.insert)
			for _, text := range []string{
				"API Error: 529 Overloaded. This is a server-side issue, usually temporary — try again in a moment.",
				"You've hit your 5-hour limit · resets 2:02am (UTC)", "You've hit your weekly limit · resets Nov 18, 5:53am (UTC)",
				"API Error: Request rejected (429) · This request would exceed", "Interrupted · What should Claude do instead?",
			} {
				stopped := resume.Session{Interruption: resume.Interruption{LimitText: text, Limit: limit.Verdict{Reset: limit.Reset{At: now.Add(-8 * time.Minute)}}}}
				for _, status := range []string{"", "idle", "busy", "waiting"} {
					require.Equal(t, judge(want, status, stopped, 7, now), judge(got, status, stopped, 7, now), "%s: %s", status, text)
				}
			}
		})
	}
}
