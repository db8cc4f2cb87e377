package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHomes(t *testing.T) {
	h, err := NewHomes("bot", "/home/u/.bot/", nil)
	require.NoError(t, err)
	require.Equal(t, []Source{{Account: "bot:default", Root: "/home/u/.bot/logs", Depth: 2}}, h.Sources("logs", Source{Depth: 2}))

	h, err = NewHomes("bot", "/home/u/.bot", []string{"/srv/bot/", "/home/u/.bot", "/srv/bot"})
	require.NoError(t, err)
	require.Equal(t, []string{"/srv/bot", "/home/u/.bot"}, h.Roots)
	require.Equal(t, "bot:/srv/bot", h.Account("/srv/bot"))
	require.Equal(t, "bot:default", h.Account("/home/u/.bot"))
	require.Equal(t, "/home/u/.bot", h.Of("/home/u/.bot/logs/a"))
	require.Equal(t, "/srv/bot", h.Of("/home/u/.botany/logs/a"), "a file from elsewhere")

	_, err = NewHomes("bot", "/home/u/.bot", []string{"a", "b"})
	require.ErrorContains(t, err, `root "a" of bot is not an absolute path`)
	require.ErrorContains(t, err, `root "b" of bot is not an absolute path`)
	_, err = NewHomes("bot", "", nil)
	require.EqualError(t, err, "find the home of bot: $HOME is not set")
	h, err = NewHomes("bot", "", []string{"/srv/bot"})
	require.NoError(t, err)
	require.Equal(t, "bot:/srv/bot", h.Account("/srv/bot"))
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

func TestWhatIsAnIDOfManyAgents(t *testing.T) {
	const id = "0f3a9c1e-2b4d-4c6f-8a7b-9e0d1c2b3a4f"
	for text, is := range map[string]bool{
		id: true, strings.ToUpper(id): true, "": false, id[1:]: false, id + "0": false, "g" + id[1:]: false,
		strings.ReplaceAll(id, "-", "0"): false, strings.Replace(id, "-2", "--", 1): false, strings.Replace(id, "3a", "\x00\xff", 1): false,
	} {
		require.Equal(t, is, IsUUID(text), text)
	}
}
