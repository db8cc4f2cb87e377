package claude

import (
	"os"
	"path/filepath"
	"testing"

	"resumed/internal/resume"

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

// An account has the same identity on every machine, by its login or key; another home has
// another identity.
func TestWhoseAllowanceASessionUses(t *testing.T) {
	usual, other := t.TempDir(), t.TempDir()
	for home, id := range map[string]string{usual: "me", other: "work"} {
		require.NoError(t, os.WriteFile(filepath.Join(home, ".claude.json"), []byte(`{"oauthAccount":{"accountUuid":"`+id+`","organizationUuid":"o"}}`), 0o600))
	}
	t.Setenv("HOME", usual)
	a := newAgent(t, Options{Roots: []string{filepath.Join(usual, ".claude"), other}})
	at := func(root string) resume.Session {
		return resume.Session{Key: resume.Key{Agent: Name, ID: sessionA}, Transcript: filepath.Join(root, "projects", "x", sessionA+".jsonl")}
	}
	environ := []string{"HOME=" + usual}
	mine, work := a.Identity(at(filepath.Join(usual, ".claude")), environ), a.Identity(at(other), environ)
	require.NotEmpty(t, mine)
	require.NotEmpty(t, work)
	require.NotEqual(t, mine, work)
	key := append(environ, "ANTHROPIC_API_KEY=sk-1")
	require.NotEqual(t, mine, a.Identity(at(filepath.Join(usual, ".claude")), key))
	require.Equal(t, a.Identity(at(other), key), a.Identity(at(filepath.Join(usual, ".claude")), key), "a key decides, whoever is signed in")
	require.Empty(t, a.Identity(at(filepath.Join(usual, ".claude")), append(environ, "CLAUDE_CODE_USE_BEDROCK=1")), "nobody knows")
	seen := at(filepath.Join(usual, ".claude"))
	seen.Origin = &resume.Origin{EnvSeen: true, Salt: "salt", Login: "of somebody else"}
	require.Empty(t, a.Identity(seen, environ), "it ran in another's name")
}
