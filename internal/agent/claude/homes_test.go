package claude

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHomesAreAccounts(t *testing.T) {
	user := t.TempDir()
	t.Setenv("HOME", user)
	t.Setenv("CLAUDE_CONFIG_DIR", "")
	usual := filepath.Join(user, ".claude")

	a, err := New(Options{})
	require.NoError(t, err)
	require.Len(t, a.Sources(), 1)
	require.Equal(t, "claude-code:default", a.Sources()[0].Account)
	require.Equal(t, filepath.Join(usual, "projects"), a.Sources()[0].Root)

	a, err = New(Options{Roots: []string{"/srv/agents/", usual, usual + "/"}})
	require.NoError(t, err)
	require.Len(t, a.Sources(), 2)
	require.Equal(t, "claude-code:/srv/agents", a.Sources()[0].Account)
	require.Equal(t, "claude-code:default", a.Sources()[1].Account)

	t.Setenv("CLAUDE_CONFIG_DIR", "/srv/agents")
	a, err = New(Options{})
	require.NoError(t, err)
	require.Equal(t, "claude-code:default", a.Sources()[0].Account)
	require.Equal(t, "/srv/agents/projects", a.Sources()[0].Root)

	_, err = New(Options{Roots: []string{"work"}})
	require.ErrorContains(t, err, `"work"`)
}
