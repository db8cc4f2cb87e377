package main

import (
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"

	"resumed/internal/control"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
	"resumed/internal/termui"
)

// The history and the queue fit a terminal of 80 columns, with the longest names, and say why.
func TestHistoryAndQueueFitEightyColumns(t *testing.T) {
	long := "a-session-with-a-name-that-is-longer-than-most-others-0123456789"
	for _, name := range []string{"4f2a", "4f2a9c1e-longer-than-most", long} {
		p := &termui.Printer{Renderer: termui.Renderer{Width: 80, Now: time.Now()}}
		printStep(p, control.Step{At: time.Now(), Session: name, Name: name, Project: "shop", Kind: "gave_up", Reason: "rate limit, gave up after 2 resumes without progress: rate limited"})
		printQueue(p, []view.Task{{
			N: 12, State: resume.TaskQueued, Agent: "claude-code", Dir: "/src/" + long, Prompt: strings.Repeat("many words ", 20),
			NextAt: new(time.Now().Add(time.Hour)), Reason: "asked for by you",
		}})
		for line := range strings.Lines(p.String()) {
			require.LessOrEqual(t, ansi.StringWidth(strings.TrimSuffix(line, "\n")), 80, line)
		}
		require.Contains(t, strings.Join(strings.Fields(p.String()), " "), "rate limit, gave up after 2 resumes without progress: rate limited", "a reason is never cut")
		require.Contains(t, p.String(), "not before ")
	}
}
