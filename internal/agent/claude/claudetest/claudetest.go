// Package claudetest creates records as Claude Code writes them, for tests.
package claudetest

import (
	"encoding/json"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Session is the id in the records.
const Session = "0b6b1a62-1f8e-4a3b-9d5b-0a6de1f3c001"

// The texts for a turn that Claude Code let end: near the limit, and in the grace after it.
const (
	NearTheLimit = "Claude Code let its turn end, because the usage limit was near"
	InTheGrace   = "Claude Code let its turn end in the grace after the usage limit"
)

// Armed is the notice that Claude Code will continue by itself.
const Armed = "Usage limit reached · continuing automatically at 2:02am · esc to cancel"

// Record adds the fields that every record has.
func Record(fields map[string]any) map[string]any {
	r := map[string]any{
		"sessionId": Session, "cwd": "/src/app", "isSidechain": false, "version": "2.1.325",
		"timestamp": "2026-11-15T00:00:20.479Z",
	}
	maps.Copy(r, fields)
	return r
}

// Said is a message of a model in a record.
func Said(model, text string) map[string]any {
	return map[string]any{"model": model, "role": "assistant", "content": []any{map[string]any{"type": "text", "text": text}}}
}

// Refused is the record of a refused request.
func Refused(fields map[string]any, text string) map[string]any {
	r := Record(fields)
	r["type"], r["isApiErrorMessage"], r["message"] = "assistant", true, Said("<synthetic>", text)
	return r
}

// OutOfQuota is the record of a request that a usage limit refused.
func OutOfQuota(at, reset time.Time) map[string]any {
	return Refused(map[string]any{
		"error": "rate_limit", "apiErrorStatus": 429, "apiError": "usage_limit_reached",
		"timestamp":   at.UTC().Format(time.RFC3339Nano),
		"quotaLimits": map[string]any{"status": "rejected", "resetsAt": reset.Unix(), "rateLimitType": "five_hour"},
	}, "You've hit your 5-hour limit · resets 2:02am (UTC)")
}

// Asked is the record of a prompt, or of other input to the model.
func Asked(fields map[string]any, content any) map[string]any {
	r := Record(fields)
	r["type"], r["message"] = "user", map[string]any{"role": "user", "content": content}
	return r
}

// Noticed is the record of a notice to people.
func Noticed(at time.Time, content string) map[string]any {
	return Record(map[string]any{
		"type": "system", "subtype": "informational", "level": "notice", "content": content,
		"timestamp": at.UTC().Format(time.RFC3339Nano),
	})
}

// Encode returns a record as a line, without its newline.
func Encode(t testing.TB, record any) []byte {
	data, err := json.Marshal(record)
	require.NoError(t, err)
	return data
}
