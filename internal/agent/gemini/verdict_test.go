package gemini

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/limit"
)

// Google counts days in Pacific time, and Gemini CLI does not say so.
func TestTheQuotaOfADayIsThereAgainTheNextDay(t *testing.T) {
	const words = "[API Error: You have exhausted your daily quota on this model.]"
	for at, want := range map[string]string{
		"2026-11-15T17:33:18Z": "2026-11-16T08:00:00Z",
		"2026-11-16T07:59:00Z": "2026-11-16T08:00:00Z",
		"2026-07-01T12:00:00Z": "2026-07-02T07:00:00Z",
		"2026-10-31T23:00:00Z": "2026-11-01T07:00:00Z",
		"2026-11-01T12:00:00Z": "2026-11-02T08:00:00Z", // the clocks were put back
		"2026-11-16T08:04:00Z": "",                     // the reset was a moment ago
	} {
		seen, err := time.Parse(time.RFC3339, at)
		require.NoError(t, err)
		v := verdict(limit.Reader{At: seen, Zone: time.UTC}, limit.Refusal{Status: 429, Text: words})
		require.Equal(t, limit.UsageLimit, v.Class)
		require.True(t, v.WaitHelps)
		got := ""
		if v.Reset.Stated() {
			got = v.Reset.At.UTC().Format(time.RFC3339)
		}
		require.Equal(t, want, got, at)
	}
	at := time.Date(2026, 11, 15, 17, 0, 0, 0, time.UTC)
	stated := verdict(limit.Reader{At: at}, limit.Refusal{Text: "[API Error: Your daily quota is exhausted. Suggested retry after 3600s.]"})
	require.Equal(t, at.Add(time.Hour), stated.Reset.At.UTC(), "what is stated counts")
	other := verdict(limit.Reader{At: at}, limit.Refusal{Status: 429, Text: "[API Error: Rate limit exceeded]"})
	require.False(t, other.Reset.Stated())
}

// A new list of all messages matters only if it ends with a refusal, or if a person stopped it.
func TestAListOfMessagesIsReadWhereItMayEndSomething(t *testing.T) {
	for line, want := range map[string]agent.Weight{
		`{"$set":{"messages":[{"id":"1","type":"user","content":[{"text":"an \"error\""}]}]}}`:          agent.Nothing,
		`{"$set":{"messages":[{"id":"1","type":"user"},{"id":"2","type":"gemini"}],"lastUpdated":"x"}}`: agent.Nothing,
		`{"$set":{"messages":[{"id":"1","type":"user"},{"id":"2","type":"error"}]}}`:                    agent.Matters,
		`{"$set":{"messages":[{"id":"1","type":"user"},{"id":"2","type":"info"}]}}`:                     agent.Matters,
		`{"$set": {"messages": [{"id": "1", "type": "error"}]}}`:                                        agent.Matters,
		`{"$set":{"lastUpdated":"2026-11-15T00:15:29.066Z"}}`:                                           agent.Nothing,
		`{"$set":{"sessionId":"1"}}`:                        agent.Nothing,
		`{"sessionId":"1","projectHash":"2","kind":"main"}`: agent.Nothing,
		`{"sessionId":"1","$rewindTo":"2"}`:                 agent.Matters,
		`{"sessionId":"1","type":"error"}`:                  agent.Matters,
		`{"$set":{"a":"b"},"type":"error"}`:                 agent.Matters,
	} {
		require.Equal(t, want, sift([]byte(line)), line)
	}
}
