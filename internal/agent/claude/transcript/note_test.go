package transcript

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/agent/claude/claudetest"
	"resumed/internal/limit"
	"resumed/internal/lines"
	"resumed/internal/resume"
)

// noted is what Claude Code tells the model about the limit.
func noted(kind, text string) map[string]any {
	return asked(map[string]any{"isMeta": true, "turnCompanion": true, "usageLimitNote": kind}, text)
}

// A turn that Claude Code let end because of a usage limit is one that a limit
// stopped, though it ended well.
func TestATurnThatWasLetEndIsAUsageLimit(t *testing.T) {
	answer := func(stop, text string) map[string]any {
		m := said("claude-opus-5-5", text)
		m["stop_reason"] = stop
		return base(map[string]any{"type": "assistant", "message": m})
	}
	var (
		prompt  = asked(nil, "build it")
		again   = asked(nil, "and the tests")
		call    = answer("tool_use", "I run the tests.")
		result  = asked(nil, []any{map[string]any{"type": "tool_result", "tool_use_id": "t1", "content": `{"usageLimitNote":"near_limit"}`}})
		near    = noted(nearLimit, "[Usage limit approaching. Checkpoint now: finish the current step, …]")
		grace   = noted(wrapUp, "[Usage limit reached — grace window active. Wrap up: finish or checkpoint; …]")
		over    = noted(release, "[The usage limit has reset.]")
		end     = answer("end_turn", "I stop here. Left: the tests.")
		armed   = noticed(time.Date(2026, 11, 15, 0, 0, 21, 0, time.UTC), claudetest.Armed)
		refusal = refused(map[string]any{"error": "server_error", "apiErrorStatus": 529}, "API Error: 529 Overloaded.")
		side    = func(r map[string]any) map[string]any { r = base(r); r["isSidechain"] = true; return r }
	)
	for rule, c := range map[string]struct {
		records []any
		want    string // the text of the limit; "": it is none
		reset   bool
	}{
		"the limit was near":                {[]any{prompt, call, result, near, end}, leftOff[nearLimit], false},
		"more tools were called after that": {[]any{prompt, call, near, call, result, end}, leftOff[nearLimit], false},
		"in the grace after it":             {[]any{prompt, call, result, grace, end}, leftOff[wrapUp], false},
		"and it goes on by itself":          {[]any{prompt, call, grace, end, armed}, leftOff[wrapUp], true},
		"bookkeeping follows":               {[]any{prompt, near, end, base(map[string]any{"type": "last-prompt"})}, leftOff[nearLimit], false},
		"it works on":                       {[]any{prompt, near, call}, "", false},
		"the limit is over":                 {[]any{prompt, near, end, over}, "", false},
		"and it went on":                    {[]any{prompt, near, end, over, end}, "", false},
		"it went on by itself": {
			[]any{prompt, grace, end, armed, asked(map[string]any{"isMeta": true, "origin": map[string]any{"kind": "auto-continuation"}}, "Continue."), end}, "", false,
		},
		"a person went on":              {[]any{prompt, near, end, again}, "", false},
		"and that turn ended well":      {[]any{prompt, near, end, again, end}, "", false},
		"no note at all":                {[]any{prompt, call, result, end}, "", false},
		"a note of a subagent":          {[]any{prompt, side(near), end}, "", false},
		"a note of a kind nobody knows": {[]any{prompt, noted("later", "[…]"), end}, "", false},
		"a refusal tells more":          {[]any{prompt, near, refusal}, "API Error: 529 Overloaded.", false},
		"its own continuation after a refusal": {
			[]any{prompt, near, end, claudetest.OutOfQuota(time.Date(2026, 11, 15, 0, 0, 20, 0, time.UTC), time.Date(2026, 11, 15, 2, 2, 0, 0, time.UTC)), armed},
			"You've hit your 5-hour limit · resets 2:02am (UTC)", true,
		},
	} {
		t.Run(rule, func(t *testing.T) {
			a := newReading()
			last, found, err := agent.Last(t.Context(), a, a.Sources()[0], written(t, c.records...))
			require.NoError(t, err)
			require.True(t, found)
			got, limited := last.Event.(resume.Limited)
			require.Equal(t, c.want != "", limited, "%#v", last.Event)
			if !limited {
				return
			}
			require.Equal(t, c.want, got.Text)
			require.True(t, got.WaitHelps)
			require.Equal(t, c.reset, got.Reset.Stated())
			if c.reset {
				require.Equal(t, limit.UsageLimit, got.Class)
			}
		})
	}
}

// What Claude Code 2.1.325 really wrote when its provider said that 97 % were used.
func TestARealNoteOfANearLimitIsUnderstood(t *testing.T) {
	a := newReading()
	last, found, err := agent.Last(t.Context(), a, a.Sources()[0], "../testdata/transcripts/near-limit.jsonl")
	require.NoError(t, err)
	require.True(t, found)
	stopped, ok := last.Event.(resume.Limited)
	require.True(t, ok, "%T", last.Event)
	require.Equal(t, limit.UsageLimit, stopped.Verdict.Class)
	require.Equal(t, leftOff[nearLimit], stopped.Text)
	require.False(t, stopped.Verdict.Reset.Stated())
}

// A line means the same, whichever lines of its transcript were read before it.
func TestANoteIsFoundInAnyOrderOfReading(t *testing.T) {
	answer := said("claude-opus-5-5", "I stop here.")
	answer["stop_reason"] = "end_turn"
	end := base(map[string]any{"type": "assistant", "message": answer})
	path := written(t, asked(nil, "build it"), end, noted(nearLimit, "[…]"), end, end, asked(nil, "and the tests"), end, end, noted(wrapUp, "[…]"), end)
	var all []lines.Line
	require.NoError(t, lines.Back(t.Context(), path, func(line lines.Line) bool {
		line.Data = bytes.Clone(line.Data)
		all = append(all, line)
		return true
	}))
	want := make(map[int64]resume.Event)
	limited := 0
	for _, line := range all {
		a := newReading()
		seen, _ := a.Observe(a.Sources()[0], line)
		want[line.Offset] = seen.Event
		if _, ok := seen.Event.(resume.Limited); ok {
			limited++
		}
	}
	require.Equal(t, 3, limited)
	a := newReading()
	for range 3 { // back, forth, and back again
		for _, line := range all {
			seen, _ := a.Observe(a.Sources()[0], line)
			require.Equal(t, want[line.Offset], seen.Event, "at %d", line.Offset)
		}
		slices.Reverse(all)
	}
}
