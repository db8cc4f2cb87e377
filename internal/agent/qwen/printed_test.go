package qwen

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/headless"
	"resumed/internal/limit"
)

func TestWhatARunPrintsSaysWhyItFailed(t *testing.T) {
	at := time.Date(2026, 11, 17, 16, 0, 0, 0, time.UTC)
	for name, want := range map[string]string{
		"0.15.10-auth401.jsonl":  "[API Error: 401 Incorrect API key provided: dummy.]",
		"0.15.10-ok.jsonl":       "",
		"0.24.4-auth401.jsonl":   "[API Error: 401 Incorrect API key provided: dummy.]",
		"0.24.4-ok.jsonl":        "",
		"0.24.4-usage_far.jsonl": "", // killed before it printed anything
	} {
		data, err := os.ReadFile(filepath.Join("testdata", "stdout", name))
		require.NoError(t, err)
		v, words := failedRun(limit.Reader{At: at}, headless.Printed{Stdout: string(data)})
		require.Equal(t, want, words, name)
		require.Equal(t, map[bool]limit.Class{true: limit.None, false: limit.Auth}[want == ""], v.Class, name)
	}
	for text, want := range map[string]limit.Class{
		"[API Error: 401 Incorrect API key provided: dummy.]\n":    limit.Auth,
		"Thinking.\n[API Error: 429 Rate limit reached]":           limit.RateLimit,
		"The text [API Error: 401] means that a key is wrong.":     limit.None,
		"[API Error: 401 Incorrect API key]\nis what it answered.": limit.None,
	} {
		v, _ := failedRun(limit.Reader{At: at}, headless.Printed{Stdout: text})
		require.Equal(t, want, v.Class, text)
	}
}
