package hooks

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const newest = "2.1.325 (Claude Code)"

// Settings as people write them: each is restored when the hooks are removed.
var written = map[string]string{
	"nothing":   "{}",
	"a line":    "{}\n",
	"compact":   `{"model":"sonnet","env":{"A":"1"}}`,
	"usual":     "{\n  \"model\": \"sonnet\",\n  \"permissions\": {\n    \"allow\": [\n      \"Bash\"\n    ]\n  }\n}\n",
	"tabs":      "{\n\t\"model\": \"sonnet\"\n}",
	"crlf":      "{\r\n  \"model\": \"sonnet\"\r\n}\r\n",
	"own hooks": "{\n  \"hooks\": {\n    \"Stop\": [\n      {\n        \"hooks\": [\n          {\n            \"type\": \"command\",\n            \"command\": \"say done\"\n          }\n        ]\n      }\n    ],\n    \"Notification\": [\n      {\n        \"matcher\": \"idle_prompt\",\n        \"hooks\": [{\"type\": \"command\", \"command\": \"not-resumed hook claude-code\"}]\n      }\n    ]\n  },\n  \"model\": \"sonnet\"\n}\n",
	"comments":  "// mine\n{\n  \"model\": \"a // b \\\" /*\", // the \"best\"\n  /* , } */ \"env\": {} // none,\n}\n",
	"ordered":   "{ \"z\": 1,\n  \"a\": 2, \"m\": [1,2 ,3],\n\n      \"z\": 1e3 }",
}

func TestHooksAreAddedAndTakenOutByteForByte(t *testing.T) {
	for name, text := range written {
		t.Run(name, func(t *testing.T) {
			with, err := Add([]byte(text), "/usr/bin/resumed", newest)
			require.NoError(t, err)
			var read struct {
				Hooks map[string][]struct {
					Hooks []struct{ Type, Command string }
				}
			}
			require.NoError(t, json.Unmarshal(blank(with), &read), "%s", with)
			for _, event := range knownEvents {
				groups := read.Hooks[event.name]
				require.Equal(t, "/usr/bin/resumed hook claude-code", groups[len(groups)-1].Hooks[0].Command, "%s", with)
			}
			require.Equal(t, "/usr/bin/resumed", Calls(with))

			again, err := Add(with, "/usr/bin/resumed", newest)
			require.NoError(t, err)
			require.Equal(t, string(with), string(again), "a second time changes nothing")
			moved, err := Add(with, "/my programs/it's/resumed", newest)
			require.NoError(t, err)
			require.Equal(t, "/my programs/it's/resumed", Calls(moved))
			require.NotContains(t, string(moved), "/usr/bin/resumed")

			for _, some := range [][]byte{with, moved} {
				without, err := Remove(some)
				require.NoError(t, err)
				require.Equal(t, text, string(without), "%s", some)
			}
			same, err := Remove([]byte(text))
			require.NoError(t, err)
			require.Equal(t, text, string(same), "nothing of ours is in it")
		})
	}
}

func TestWhatAPersonChangedAroundTheHooksStays(t *testing.T) {
	with, err := Add([]byte(written["own hooks"]), "/usr/bin/resumed", newest)
	require.NoError(t, err)
	for _, change := range []func(string) string{
		func(s string) string { return strings.Replace(s, `"sonnet"`, "\"opus\",\n  \"env\": {}", 1) },
		func(s string) string { return strings.Replace(s, `"Stop": [`, `"PreToolUse": [], "Stop": [`, 1) },
		func(s string) string { return strings.Replace(s, "{\n", "{\n  // the first\n", 1) },
	} {
		without, err := Remove([]byte(change(string(with))))
		require.NoError(t, err)
		require.Equal(t, change(written["own hooks"]), string(without))
	}

	fresh, err := Add(nil, "/usr/bin/resumed", newest)
	require.NoError(t, err)
	later := strings.Replace(string(fresh), "{\n", "{\n  \"model\": \"opus\",\n", 1)
	without, err := Remove([]byte(later))
	require.NoError(t, err)
	require.Equal(t, "{\n  \"model\": \"opus\"\n}\n", string(without))
	later = strings.TrimSuffix(string(fresh), "\n}\n") + ",\n  \"model\": \"opus\"\n}\n"
	without, err = Remove([]byte(later))
	require.NoError(t, err)
	require.Equal(t, "{\n  \"model\": \"opus\"\n}\n", string(without))
}

// Claude Code 2.0 rewrites the file in its own format.
func TestHooksThatTheAgentWroteAnewAreTakenOut(t *testing.T) {
	with, err := Add([]byte(written["usual"]), "/usr/bin/resumed", newest)
	require.NoError(t, err)
	var all map[string]any
	require.NoError(t, json.Unmarshal(with, &all))
	anew, err := json.MarshalIndent(all, "", "  ")
	require.NoError(t, err)
	without, err := Remove(anew)
	require.NoError(t, err)
	require.JSONEq(t, written["usual"], string(without))
}

// A version that does not know an event ignores the whole file.
func TestAnEventIsNamedOnlyToAVersionThatKnowsIt(t *testing.T) {
	for version, knows := range map[string]bool{newest: true, "2.1.78": true, "2.1.50 (Claude Code)": false, "2.0.30": false, "": false, "unknown": false} {
		with, err := Add(nil, "/usr/bin/resumed", version)
		require.NoError(t, err)
		require.Equal(t, knows, strings.Contains(string(with), "StopFailure"), version)
		require.Contains(t, string(with), "SessionEnd")
	}
	_, err := Add(nil, "/usr/bin/resumed", "1.0.60 (Claude Code)")
	require.ErrorContains(t, err, "too old")
	with, err := Add(nil, "/usr/bin/resumed", newest)
	require.NoError(t, err)
	older, err := Add(with, "/usr/bin/resumed", "2.1.50")
	require.NoError(t, err)
	require.NotContains(t, string(older), "StopFailure", "the program was put back to an older one")
}

func TestBrokenSettingsAreRefused(t *testing.T) {
	for text, why := range map[string]string{
		`{"a":`:                        "not valid JSON",
		`{"a":1,}`:                     "not valid JSON",
		" ":                            "not valid JSON",
		`[]`:                           "not a JSON object",
		`{"hooks": []}`:                "hooks in it is not a JSON object",
		`{"hooks":{"SessionEnd":"x"}}`: "hooks.SessionEnd in it is not a list",
		`{"a": "/* }`:                  "not valid JSON",
		`{"a": 1} /*`:                  "not valid JSON",
	} {
		_, err := Add([]byte(text), "/usr/bin/resumed", newest)
		require.ErrorContains(t, err, why, text)
	}
}

func FuzzHooksLeaveNoTrace(f *testing.F) {
	for _, text := range written {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		with, err := Add([]byte(text), "/usr/bin/resumed", newest)
		if err != nil {
			return
		}
		require.True(t, json.Valid(blank(with)), "%q", with)
		_, err = Remove(with)
		require.NoError(t, err)
	})
}
