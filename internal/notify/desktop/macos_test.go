package desktop

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/notify"
)

// The text of a notice must never be executed as a script or parsed as an option, whatever an agent or
// a provider wrote.
func TestANoticeIsNoScript(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	notice := notify.Notice{Title: `-e "x" & quit`, Text: "-e\ndo shell script \"touch /tmp/owned\" \\ `id` $(id) 'it'"}
	_, err := sendByScript(t.Context(), notice)
	missing, ok := errors.AsType[*notify.SendError](err)
	require.True(t, ok && missing.Missing, "there is no such program")

	put := func(script string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, osascript), []byte("#!/bin/sh\n"+script), 0o700))
	}
	put(`printf '%s\0' "$@" > "` + dir + `/given"`)
	said, err := sendByScript(t.Context(), notice)
	require.NoError(t, err)
	require.Equal(t, "shown", said)
	require.Equal(t, "resumed gave up", plain("resumed gave up"))
	given, err := os.ReadFile(filepath.Join(dir, "given"))
	require.NoError(t, err)
	require.Equal(t, slices.Concat(script, []string{"resumed: " + notice.Title, notice.Text}), strings.Split(strings.TrimSuffix(string(given), "\x00"), "\x00"))

	put("echo 'execution error: not allowed (-1743)' >&2; exit 1\n")
	_, err = sendByScript(t.Context(), notice)
	require.ErrorContains(t, err, "not allowed (-1743)")
	missing, ok = errors.AsType[*notify.SendError](err)
	require.True(t, ok && missing.Missing)
}
