package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

func TestLongLinesAreBrokenBetweenWords(t *testing.T) {
	text := "notices cannot be shown here: nobody is logged in to a desktop here"
	require.Equal(t, []string{text}, wrapWords(text, 0), "a pipe gets it in one line")
	lines := wrapWords(text, 30)
	require.Equal(t, text, strings.Join(lines, " "))
	for _, line := range lines {
		require.LessOrEqual(t, len(line), 30)
	}
	require.Empty(t, wrapWords("", 30))
	require.Empty(t, wrapWords("", 0))
}

// The answers of retry if there is nothing to do.
func TestWhyASessionIsNotRetried(t *testing.T) {
	for want, s := range map[string]view.Session{
		"it is not stopped":                 {State: resume.Watching, Reason: "works again after 1 resume"},
		"it is being resumed already":       {State: resume.Settling, Reason: "due now, asked for by you"},
		"/src is excluded (resume.exclude)": {State: resume.Watching, Reason: "/src is excluded (resume.exclude)"},
		"cancelled by you":                  {State: resume.Watching, Reason: "cancelled by you"},
	} {
		require.Equal(t, want, notStopped(s))
	}
}
