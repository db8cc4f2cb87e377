package config

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/ownership"
)

// keyFile makes the file of a key.
func keyFile(t *testing.T, content string, mode os.FileMode) string {
	path := filepath.Join(t.TempDir(), "my.key")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	require.NoError(t, os.Chmod(path, mode))
	return path
}

const paid = "[[agent]]\nname = %q\nown_key_file = %q\n"

func TestOnesOwnKey(t *testing.T) {
	path := keyFile(t, "  sk-ant-mine\n", 0o600)
	c := load(t, fmt.Sprintf(paid, "claude-code", path)+"budget = \"5 USD a session, 20 USD a month\"\n")
	key, err := c.Agent("claude-code").OwnKey(ownership.Trust{})
	require.NoError(t, err)
	require.Equal(t, "sk-ant-mine", string(key))
	require.NotContains(t, fmt.Sprint(key), "mine", "it is never printed")
	require.Contains(t, c.Failovers()["claude-code"], "for at most 5 USD a session, 20 USD a month")
	require.NoError(t, os.Chmod(path, 0o640))
	_, err = c.Agent("claude-code").OwnKey(ownership.Trust{})
	require.ErrorContains(t, err, "others may read it (mode 0640): chmod 600 "+path)
	for _, content := range []string{"", "two words", "two\nlines", "\x00"} {
		require.NoError(t, os.Chmod(path, 0o600))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		_, err = c.Agent("claude-code").OwnKey(ownership.Trust{})
		require.ErrorContains(t, err, "must hold one key and nothing else")
	}
}

func TestAKeyThatIsRefused(t *testing.T) {
	const sums = "budget = \"5 USD a session, 20 USD a month\"\n"
	good := keyFile(t, "sk", 0o600)
	for name, c := range map[string]struct{ file, want string }{
		"others can read it":            {fmt.Sprintf(paid, "claude-code", keyFile(t, "sk", 0o644)) + sums, "others may read it (mode 0644): chmod 600 "},
		"it is a directory":             {fmt.Sprintf(paid, "claude-code", t.TempDir()) + sums, "must be a file"},
		"without a budget":              {fmt.Sprintf(paid, "claude-code", good), `agent[0].budget: must be set where own_key_file is, such as "5 USD a session, 20 USD a month"`},
		"with half a budget":            {fmt.Sprintf(paid, "claude-code", good) + "budget = \"20 USD a month\"\n", "must say what one session and what all of them may cost"},
		"a budget alone":                {"[[agent]]\nname = \"claude-code\"\n" + sums, "is for own_key_file, which is not set"},
		"for an agent that counts none": {fmt.Sprintf(paid, "codex", good) + sums, "is for claude-code only: of codex it is not known what a session costs"},
		"for an agent of one's own":     {mybot + "own_key_file = \"" + good + "\"\n", "agent[0].own_key_file: is for built-in agents only"},
	} {
		t.Run(name, func(t *testing.T) {
			found := complaints(t, c.file)
			require.Len(t, found, 1, found)
			require.Contains(t, found[0], c.want)
		})
	}
}
