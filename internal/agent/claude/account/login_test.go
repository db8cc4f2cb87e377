package account

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhoIsSignedIn(t *testing.T) {
	home := t.TempDir()
	signIn := func(id string) {
		require.NoError(t, os.WriteFile(filepath.Join(home, ".claude.json"), []byte(`{"oauthAccount":{"accountUuid":"`+id+`","organizationUuid":"o"}}`), 0o600))
	}
	a := newPerson(home)
	environ := []string{"HOME=" + home}
	require.Empty(t, a.Login(environ, "salt"), "nobody")
	signIn("me")
	me := a.Login(environ, "salt")
	require.NotEmpty(t, me)
	require.NotContains(t, me, "me")
	require.Equal(t, me, a.Login([]string{"CLAUDE_CONFIG_DIR=" + home}, "salt"))
	require.Empty(t, a.Login(append(environ, "ANTHROPIC_API_KEY=sk-1"), "salt"), "a key decides")
	signIn("somebody-else")
	require.NotEqual(t, me, a.Login(environ, "salt"))
}
