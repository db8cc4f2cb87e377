package backoff

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPolicyReadsAsASentence(t *testing.T) {
	want := map[string]string{
		"default":      "exponential 30s…5m ±10%, 5 retries",
		"interactive":  "exponential 500ms…8s ±20%, 2 retries",
		"conservative": "exponential 500ms…1m ±20%, 5 retries",
		"batch":        "exponential 2s…32s ±20%, 3 retries",
		"api":          "exponential 1s…32s ±20%, 3 retries",
		"task":         "exponential 1s…30s, no jitter, 3 retries",
		"contention":   "exponential 10ms…1s +0…50%, never over 1s, doubled at most 6 times, 6 retries",
		"outage":       "exponential 30s…15m ±20%, for 12h",
		"workflow":     "exponential 1s…1m ±50%, never over 1m, 4 retries",
	}
	for _, name := range Names() {
		p, _ := Named(name)
		require.Equal(t, want[name], p.String(), name)
	}
	require.Equal(t, "fixed 1h, full jitter, 1 retry",
		Policy{Strategy: Fixed, BaseDelay: time.Hour, MaxRetries: 1, Jitter: true, JitterMode: Full}.String())
	require.Equal(t, "linear 1h30m…2h0m1s, equal jitter, unlimited retries",
		Policy{
			Strategy: Linear, BaseDelay: 90 * time.Minute, MaxDelay: 2*time.Hour + time.Second,
			MaxRetries: Unlimited, Jitter: true, JitterMode: Equal,
		}.String())
}

func TestPolicyIsWrittenAsInTheConfiguration(t *testing.T) {
	got, err := json.Marshal(Default())
	require.NoError(t, err)
	require.JSONEq(t, `{"strategy":"exponential","base_delay":"30s","max_delay":"5m","max_retries":5,"max_elapsed":"0s",`+
		`"jitter":true,"jitter_mode":"symmetric","jitter_percent":0.1,"hard_cap":false,"max_exponent":0}`, string(got))

	_, err = json.Marshal(Policy{JitterPercent: math.NaN()})
	require.Error(t, err)
}
