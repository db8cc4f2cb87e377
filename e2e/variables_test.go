package e2e

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// prefixes are those of the variables that belong to an agent. Of those of providers and systems there are too many.
var prefixes = map[string][]string{
	"claude-code": {"CLAUDE_", "ANTHROPIC_"}, "codex": {"CODEX_"}, "copilot": {"COPILOT_"}, "gemini": {"GEMINI_"}, "kilo": {"KILO_"},
	"kimi": {"KIMI_"}, "opencode": {"OPENCODE_"}, "pi": {"PI_"}, "qwen-code": {"QWEN_"},
}

// TestEveryVariableIsKnown looks whether a person has seen every variable that a program names. A new one is looked up in
// the program: one with which it acts by itself when it starts, or that allows something, needs a row of its own in
// the agent's table. Then its name is added to the list.
func TestEveryVariableIsKnown(t *testing.T) {
	kits := []kit{
		claude("2.1.325"), codex("0.166.0"), opencode("1.18.33"), kilo("7.7.7"), copilot("1.0.102"), gemini("0.61.0"), qwen("0.24.4"), kimi("2.1.0"),
		bundled(pi("1.5.0")),
	}
	for _, k := range kits[:2] { // the others are looked at when their version changes here
		if newest := newestOf(t, k.npm); newest != "" && newest != k.version {
			k.version = newest
			kits = append(kits, k)
		}
	}
	for _, k := range kits {
		t.Run(k.name(), func(t *testing.T) {
			if !wanted(k.agent) {
				t.Skip("SKIPPED: E2E does not ask for it")
			}
			bin, pinned := install(t, k)
			if !pinned {
				t.Skip("SKIPPED: the program in PATH may have any version")
			}
			list, err := os.ReadFile(filepath.Join("testdata", "variables", k.agent+".txt"))
			require.NoError(t, err)
			known := strings.Fields(string(list))
			require.True(t, slices.IsSorted(known), "the list is sorted")
			found := namesIn(t, filepath.Join(bin, "..", filepath.Dir(k.npm)), prefixes[k.agent], k.agent == "codex")
			require.NotEmpty(t, found, "the program is read")
			unknown := slices.DeleteFunc(found, func(name string) bool { return slices.Contains(known, name) })
			if len(unknown) > 0 {
				t.Fatalf("variables of %s that nobody has looked at:\n%s", k.name(), strings.Join(unknown, "\n"))
			}
		})
	}
}

// namesIn returns the names with one of the prefixes in the files of a package. In a program in Rust names stand without
// anything between them and what follows, so that some of those that are found are none.
func namesIn(t *testing.T, dir string, prefixes []string, rust bool) []string {
	t.Helper()
	all := make(map[string]bool)
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || slices.Contains([]string{".md", ".map", ".ts", ".json", ".wasm"}, filepath.Ext(path)) {
			return err
		}
		data, err := os.ReadFile(path)
		for _, prefix := range prefixes {
			for rest := data; err == nil; {
				at := bytes.Index(rest, []byte(prefix))
				if at < 0 {
					break
				}
				name := nameAt(rest[at:])
				if rust {
					name = prefix + strings.Split(name, prefix)[1]
				}
				if rust || quoted(rest, at, at+len(name)) {
					all[name] = true
				}
				rest = rest[at+len(prefix):]
			}
		}
		return err
	})
	require.NoError(t, err)
	return slices.Sorted(maps.Keys(all))
}

func nameAt(text []byte) string {
	end := bytes.IndexFunc(text, func(r rune) bool { return r != '_' && (r < 'A' || r > 'Z') && (r < '0' || r > '9') })
	if end < 0 {
		end = len(text)
	}
	return string(text[:end])
}

// quoted reports whether a name is a word of a script, and not a piece of other bytes.
func quoted(text []byte, from, to int) bool {
	const before, after = "\"'`.,{($ \n", "\"'`.,;:)]}=?|&! \n"
	return from > 0 && to < len(text) && strings.IndexByte(before, text[from-1]) >= 0 && strings.IndexByte(after, text[to]) >= 0 && text[to-1] != '_'
}
