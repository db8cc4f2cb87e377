package webui

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/control"
	"resumed/internal/limit"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
	"resumed/internal/timeline"
)

// hostile is what an agent, or who speaks through it, may have written.
const hostile = "<script>alert(1)</script>\x1b[2J\u202e"

func TestOneSessionIsToldWhole(t *testing.T) {
	noon := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	b := &board{
		sessions: []view.Session{{
			Agent: "claude-code", ID: "4f2a", Name: "4f2a", Cwd: "/src/shop", State: resume.Waiting, NextAt: new(noon.Add(time.Hour)), Class: limit.UsageLimit,
			Reason: "usage limit: " + hostile, Text: "line one " + hostile + "\nline two", LimitedAt: &noon, Attempt: 2, MaxRetries: 5,
			Started: view.Start{Argv: []string{"claude", "--deny", "<script>\x1b[2J"}, Seen: true, Sandbox: new("mounts of its own")},
			Attempts: []view.Attempt{
				{N: 1, StartedAt: &noon, EndedAt: new(noon.Add(90 * time.Second)), DelaySeconds: 30, Outcome: resume.Failed, Error: hostile},
				{N: 2, StartedAt: new(noon.Add(time.Minute)), DelaySeconds: 60},
			},
			Past: []view.Attempt{{N: 1, Outcome: resume.Recovered}},
		}},
		seen: Detail{
			GoOn: "claude --resume 4f2a", Backoff: view.Backoff{Policy: "fixed 30s", Waits: []view.Wait{{Attempt: 1, BaseSeconds: 30}}, Next: 3},
			Steps: []control.Step{
				{At: noon, Kind: "waiting", From: "watching", To: "waiting", Class: "usage_limit", Reason: hostile, NextAt: noon.Add(time.Hour)},
				{At: noon.Add(time.Minute), Kind: "resuming", From: "waiting", To: "resuming", Reason: "the wait is over", Attempt: 1},
				{At: noon.Add(2 * time.Minute), Kind: "waiting", From: "resuming", To: "waiting", Outcome: resume.Failed, Error: hostile},
				{At: noon.Add(3 * time.Minute), Kind: "paused", From: "waiting", To: "waiting"},
			},
			Runs: []Run{{N: 1, Began: noon, Ended: noon.Add(time.Minute), How: "exit status 3", Text: hostile + "\nsecond", Cut: true}, {N: 2}},
		},
	}
	p := newPage(t, b)
	answer := ask(p, "GET", at("/session?agent=claude-code&id=4f2a"), "", known(t, p))
	require.Equal(t, http.StatusOK, answer.Code)
	require.Equal(t, "application/json", answer.Header().Get("Content-Type"))
	require.NotContains(t, answer.Body.String(), "<script", "not even where it is data")
	require.NotContains(t, answer.Body.String(), `\u001b`, "what an agent wrote is made harmless")
	require.NotContains(t, answer.Body.String(), "\u202e")
	var got detail
	require.NoError(t, json.Unmarshal(answer.Body.Bytes(), &got))

	facts := make(map[string]string)
	for _, f := range got.Facts {
		facts[f.Label] = f.Text
	}
	require.Equal(t, "/src/shop", facts["directory"])
	require.Equal(t, "waiting", facts["state"])
	require.Equal(t, "2 of 5", facts["attempts"])
	require.Equal(t, "line one <script>alert(1)</script>\nline two", got.Evidence, "text stays text: the page puts it where no markup is read")
	require.Equal(t, "claude --resume 4f2a", got.GoOn)
	require.Equal(t, []string{"resumed status 4f2a", "resumed history 4f2a", "resumed logs 4f2a"}, got.Commands)
	require.Equal(t, []string{"claude --deny '<script>'", "in a sandbox: mounts of its own"}, got.Parts[0].Lines)
	require.Equal(t, "fixed 30s", got.Backoff.Policy)

	require.Len(t, got.Resumes, 2)
	require.Equal(t, "waited 1m 0s; running", got.Resumes[0].Tries[0].Words, "the newest first")
	require.Equal(t, "waited 30s; failed after 1m 30s", got.Resumes[0].Tries[1].Words)
	require.Equal(t, "bad", got.Resumes[0].Tries[1].Tone)
	require.Equal(t, []int{0, 1, 0}, []int{got.Resumes[0].Tries[0].Run, got.Resumes[0].Tries[1].Run, got.Resumes[1].Tries[0].Run}, "each resume has its own output")

	require.Equal(t, []string{"paused", "waiting, failed", "resuming", "waiting"}, []string{got.Steps[0].What, got.Steps[1].What, got.Steps[2].What, got.Steps[3].What})
	require.True(t, noon.Add(time.Hour).Equal(*got.Steps[3].NextAt))
	require.Equal(t, "took 1m 0s, exit status 3", got.Runs[1].Words)
	require.Equal(t, "<script>alert(1)</script>\nsecond", got.Runs[1].Text)
	require.True(t, got.Runs[1].Cut)
	require.Empty(t, got.Runs[0].Words)
	require.Equal(t, []bool{false, true}, []bool{got.Runs[0].Of, got.Runs[1].Of}, "what belongs to no resume that is known is shown by itself")
}

func TestStripsAreOfAFewSessions(t *testing.T) {
	now := time.Now()
	b := &board{accounts: []control.Account{{Name: "a:default", State: "open", ResetAt: new(now.Add(time.Hour))}}}
	var query strings.Builder
	for i := range mostStrips + 1 {
		id := fmt.Sprint("s", i)
		b.sessions = append(b.sessions, view.Session{Agent: "a", ID: id, Account: "a:default", State: resume.Waiting, Class: limit.RateLimit, LimitedAt: new(now.Add(-time.Hour))})
		b.seen.Steps = append(b.seen.Steps, control.Step{
			At: now.Add(-time.Hour), Agent: "a", Session: id, Kind: "waiting", From: "watching", To: "waiting", Class: "rate_limit",
		})
		fmt.Fprintf(&query, "&agent=a&id=%s", id)
	}
	p := newPage(t, b)
	require.Equal(t, 400, ask(p, "GET", at("/strips?"+query.String()[1:]), "", known(t, p)).Code, "a list is bounded")
	require.Equal(t, 400, ask(p, "GET", at("/strips?agent=a&agent=b&id=1"), "", known(t, p)).Code)

	var got []strip
	answer := ask(p, "GET", at("/strips?agent=a&id=s1&agent=a&id=s2&agent=a&id=nobody"), "", known(t, p))
	require.NoError(t, json.Unmarshal(answer.Body.Bytes(), &got))
	require.Len(t, got, 2)
	require.Equal(t, "a/s1", got[0].Key)
	require.Equal(t, timeline.Limited, got[0].Spans[1].Kind)

	answer = ask(p, "GET", at("/strips/accounts"), "", known(t, p))
	require.NoError(t, json.Unmarshal(answer.Body.Bytes(), &got))
	require.Len(t, got, 1)
	require.Equal(t, "a:default", got[0].Key)
	require.True(t, got[0].Spans[len(got[0].Spans)-1].Expected)
}
