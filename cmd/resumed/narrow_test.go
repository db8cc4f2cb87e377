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
	"resumed/internal/usage"
)

// The history and the queue fit a terminal of 80 columns, with the longest names, and say why.
func TestHistoryAndQueueFitEightyColumns(t *testing.T) {
	long := "a-session-with-a-name-that-is-longer-than-most-others-0123456789"
	for _, name := range []string{"4f2a", "4f2a9c1e-longer-than-most", long} {
		p := &termui.Printer{Renderer: termui.Renderer{Width: 80, Now: time.Now()}}
		printStep(p, control.Step{At: time.Now(), Session: name, Name: name, Project: "shop", Kind: "gave_up", Reason: "rate limit, gave up after 2 resumes without progress: rate limited"})
		printStep(p, control.Step{At: time.Now(), Session: name, Name: name, Kind: "parked", Reason: "`resumed retry 4f2a9c1e-77aa-4b0e-9d52-0a3b6f1c2d3e` continues it"})
		printQueue(p, []view.Task{{
			N: 12, State: resume.TaskQueued, Agent: "claude-code", Dir: "/src/" + long, Prompt: strings.Repeat("many words ", 20),
			NextAt: new(time.Now().Add(time.Hour)), Reason: "asked for by you",
		}})
		for line := range strings.Lines(p.String()) {
			require.LessOrEqual(t, ansi.StringWidth(strings.TrimSuffix(line, "\n")), 80, line)
		}
		require.Contains(t, strings.Join(strings.Fields(p.String()), " "), "rate limit, gave up after 2 resumes without progress: rate limited", "a reason is never cut")
		require.Contains(t, p.String(), "`resumed retry 4f2a9c1e-77aa-4b0e-9d52-0a3b6f1c2d3e` continues it", "a command stays in one piece")
		require.Contains(t, strings.Join(strings.Fields(p.String()), " "), ": asked for by you")
	}
}

// The usage of accounts fits a terminal of 80 columns, also with a forecast for days ahead, and nothing is cut.
func TestUsageFitsEightyColumns(t *testing.T) {
	now := time.Date(2026, 11, 18, 9, 30, 0, 0, time.Local)
	week := usage.Window{
		Kind: usage.SevenDays, Used: 88, PerHour: new(21.4), ResetsAt: now.Add(143 * time.Hour),
		FullAt: new(now.Add(32 * time.Hour)), Earliest: new(now.Add(26 * time.Hour)), Latest: new(now.Add(50 * time.Hour)),
	}
	today := week
	today.Kind, today.ResetsAt, today.FullAt, today.Earliest, today.Latest = usage.FiveHours, now.Add(3*time.Hour), new(now.Add(2*time.Hour)), new(now.Add(time.Hour)), new(now.Add(3*time.Hour))
	accounts := []accountUsed{
		{Name: "claude-code:a-home-with-a-long-name", Windows: []usage.Window{week}},
		{Name: "codex:default", Windows: []usage.Window{week, today}},
	}
	printed := func(width int) string {
		p := &termui.Printer{Renderer: termui.Renderer{Width: width, Now: now}}
		printUsage(p, accounts, now)
		return p.String()
	}
	require.Contains(t, printed(200), "claude-code:a-home-with-a-long-name  7 days ")
	narrow := printed(80)
	for line := range strings.Lines(narrow) {
		require.LessOrEqual(t, ansi.StringWidth(strings.TrimSuffix(line, "\n")), 80, line)
	}
	require.Regexp(t, `(?m)^claude-code:a-home-with-a-long-name\n7 days .* in 5d 23h, Tue\n +08:30\ncodex:default\n7 days .* in 5d 23h, Tue\n +08:30\n5 hours +88 % +21.4 % +11:30 \(10:30 to 12:30\) +in 3h 0m, 12:30$`, narrow)
	require.NotContains(t, narrow, "…")
	accounts = nil
	for line := range strings.Lines(printed(80)) {
		require.LessOrEqual(t, len(line), 81, line)
	}
}
