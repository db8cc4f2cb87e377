package webui

import (
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Whoever can read the file, such as an agent in a sandbox, must not get in by what it says.
func TestGrantsAreStoredAsHashesAndBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		grants := OpenGrants(dir)
		first, err := grants.give(link, time.Now().Add(time.Hour))
		require.NoError(t, err)
		info, err := os.Stat(grants.path)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
		text, err := os.ReadFile(grants.path)
		require.NoError(t, err)
		require.NotContains(t, string(text), first)

		valid := func(what purpose, token string) bool {
			_, valid := OpenGrants(dir).valid(what, token) // also after a restart
			return valid
		}
		require.True(t, valid(link, first))
		require.False(t, valid(visit("X"), first), "it is for one purpose")
		for hash := range grants.read() {
			require.False(t, valid(link, hash))
		}
		for range 2 * mostGrants {
			time.Sleep(time.Second)
			_, err := grants.give(link, time.Now().Add(time.Hour))
			require.NoError(t, err)
		}
		require.Len(t, grants.read(), mostGrants)
		require.False(t, valid(link, first), "the newest stay")

		for name, spoil := range map[string]string{"cut off": "{\"x", "empty": "", "no object": "null"} {
			require.NoError(t, os.WriteFile(grants.path, []byte(spoil), 0o600))
			require.False(t, valid(link, first), name)
			token, err := grants.give(link, time.Now().Add(time.Hour))
			require.NoError(t, err, name)
			require.True(t, valid(link, token), name)
		}
	})
}
