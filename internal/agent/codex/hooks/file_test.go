package hooks

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Configurations of people: with the call of resumed, and restored without it.
var configurations = map[string]struct{ text, words string }{
	"nothing":  {"", `"/usr/bin/resumed", "hook", "codex"`},
	"none":     {"# mine\nmodel = \"gpt\"\n\n[tui]\nnotify = [\"not this\"]\n", `"/usr/bin/resumed", "hook", "codex"`},
	"schema":   {"#:schema https://x\nmodel = 1", `"/usr/bin/resumed", "hook", "codex"`},
	"own":      {"model = \"g # [\"\nnotify = [\"notify-send\", \"Codex\"] # ping\n", `"/usr/bin/resumed", "hook", "codex", "--", "notify-send", "Codex"`},
	"empty":    {"notify = []\n", `"/usr/bin/resumed", "hook", "codex", "--"`},
	"lines":    {"a = [\n 1, # ]\n 2 ]\nnotify = [\n  'say',  # ] \"\n  \"a\\\"b\",\n]\r\n[x]\n", `"/usr/bin/resumed", "hook", "codex", "--", 'say',`},
	"texts":    {"a = \"\"\"\nnotify = [\"no\"]\n\"\"\"\"\nb = '''x'''\nc = {d = [1], e = \"]\"}\n\"notify\" = ['x']", `"/usr/bin/resumed", "hook", "codex", "--", 'x'`},
	"unquoted": {"x = 2026-11-16\ny = true # it's\nnotify=[\"a\"]", `"/usr/bin/resumed", "hook", "codex", "--", "a"`},
}

func TestNotifyIsChainedAndTakenOutByteForByte(t *testing.T) {
	for name, c := range configurations {
		t.Run(name, func(t *testing.T) {
			with, err := Add([]byte(c.text), "/usr/bin/resumed", "")
			require.NoError(t, err)
			require.Contains(t, strings.ReplaceAll(string(with), ", \n  ", ", "), c.words)
			require.Equal(t, "/usr/bin/resumed", Calls(with))
			again, err := Add(with, "/usr/bin/resumed", "")
			require.NoError(t, err)
			require.Equal(t, string(with), string(again))
			moved, err := Add(with, `/my "programs"/resumed`, "")
			require.NoError(t, err)
			require.Equal(t, `/my "programs"/resumed`, Calls(moved))
			for _, some := range []string{string(with), string(moved)} {
				without, err := Remove([]byte(some))
				require.NoError(t, err)
				require.Equal(t, c.text, string(without), some)
				without, err = Remove([]byte("new = 1\n" + some + "\n[more]\n"))
				require.NoError(t, err)
				if name != "schema" { // which is no longer first
					require.Equal(t, "new = 1\n"+c.text+"\n[more]\n", string(without), "what a person added stays")
				}
			}
			same, err := Remove([]byte(c.text))
			require.NoError(t, err)
			require.Equal(t, c.text, string(same))
		})
	}
}

func TestABrokenConfigurationIsRefused(t *testing.T) {
	for text, why := range map[string]string{
		"notify = \"x\"\n":       "not a list of texts",
		"notify = [1]\n":         "not a list of texts",
		"notify = [[\"x\"]]\n":   "not a list of texts",
		"notify = [\"x\"\n":      "not valid TOML",
		"notify = [\"x\n\"]":     "not valid TOML",
		"nothing\nnotify = []\n": "not valid TOML",
	} {
		_, err := Add([]byte(text), "/usr/bin/resumed", "")
		require.ErrorContains(t, err, why, text)
	}
}
