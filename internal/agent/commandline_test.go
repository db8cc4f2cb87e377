package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatALineSaysIsFoundAmongRecordedPrompts(t *testing.T) {
	for _, c := range []struct {
		recorded, prompt string
		same             bool
	}{
		{"fix it", "fix it", true},
		{"fix it\n", " fix it", true},
		{"the input\n\nfix it", "fix it", true},
		{"fix it\nthe input\n", "fix it", true},
		{"do not fix it", "fix it", false},
		{"fix it, please", "fix it", false},
		{"", "", false},
		{"anything", "", false},
	} {
		require.Equal(t, c.same, Said(c.recorded, c.prompt), "%q of %q", c.prompt, c.recorded)
	}
}

func TestOnlyFilesThatHaveComeAreNew(t *testing.T) {
	usual, other := t.TempDir(), filepath.Join(t.TempDir(), "[odd]")
	homes, err := NewHomes("some", usual, []string{other})
	require.NoError(t, err)
	write := func(dir, name string) string {
		path := filepath.Join(dir, "chats", name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, nil, 0o600))
		return path
	}
	write(usual, "before.jsonl")
	begun := homes.NewFiles("chats/*.jsonl")
	require.Empty(t, begun())
	write(usual, "before.jsonl")
	write(usual, "other.txt")
	require.ElementsMatch(t, []string{write(usual, "a.jsonl"), write(other, "b.jsonl")}, begun())
}

func TestIDsThatAreNone(t *testing.T) {
	for _, bad := range []string{"--evil", "../../etc", "a b", "", "5", strings.Repeat("x", 500)} {
		require.Empty(t, PlainID(bad), bad)
	}
	require.Equal(t, "abcd-1234", PlainID("abcd-1234"))
}
