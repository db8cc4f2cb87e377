package codex

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/agenttest"
	"resumed/internal/resume"
)

// The meaning of a record does not depend on the order of its fields, nor on unknown fields.
func TestARecordMeansTheSameInAnyOrder(t *testing.T) {
	a := newAgent(t, Options{})
	for _, c := range agenttest.Cases[captured](t) {
		data, err := os.ReadFile(c.path())
		require.NoError(t, err)
		for name, change := range map[string]func(map[string]any) string{
			"the fields by name":            byName,
			"the payload's kind at its end": kindLast,
			"an unknown field ahead":        withUnknown,
		} {
			var lines []string
			for raw := range strings.Lines(string(data)) {
				var r map[string]any
				d := json.NewDecoder(strings.NewReader(raw))
				d.UseNumber()
				require.NoError(t, d.Decode(&r))
				lines = append(lines, change(r))
			}
			path := filepath.Join(t.TempDir(), filepath.Base(c.path()))
			text := strings.Join(lines, "\n") + "\n"
			require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
			require.Equal(t, events(t, a, c.path()), events(t, a, path), "%s: %s", c.Case, name)
		}
	}
}

// events returns the events of a rollout, the last first.
func events(t *testing.T, a *Agent, path string) []resume.Event {
	t.Helper()
	var all []resume.Event
	require.NoError(t, agent.Back(t.Context(), a, a.Sources()[0], path, func(e agent.Evidence) bool {
		all = append(all, e.Event)
		return true
	}))
	return all
}

func byName(r map[string]any) string { return asJSON(r) }

func kindLast(r map[string]any) string {
	payload, ok := r["payload"].(map[string]any)
	if !ok || len(payload) == 0 {
		return asJSON(r)
	}
	kind := payload["type"]
	delete(payload, "type")
	inner := strings.TrimSuffix(asJSON(payload), "}")
	if kind != nil {
		inner += `,"type":` + asJSON(kind)
	}
	delete(r, "payload")
	return strings.TrimSuffix(asJSON(r), "}") + `,"payload":` + inner + `}}`
}

func withUnknown(r map[string]any) string {
	const unknown = `{"unknown":{"type":"zork","role":"robot"},`
	payload, ok := r["payload"].(map[string]any)
	if !ok || len(payload) == 0 {
		return asJSON(r)
	}
	delete(r, "payload")
	return strings.TrimSuffix(asJSON(r), "}") + `,"payload":` + unknown + strings.TrimPrefix(asJSON(payload), "{") + `}`
}

func asJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}
