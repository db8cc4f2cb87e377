package opencode

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/resume"
)

func TestWhatIsKeptForAProviderTellsWhoseAllowanceItIs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, err := openCode.make(agent.Options{Roots: []string{dir}})
	require.NoError(t, err)
	of := func(provider string) string {
		return a.Identity(resume.Session{Account: a.Home(), Provider: provider}, nil)
	}
	require.Empty(t, of("anthropic"), "nothing is kept")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "auth.json"), []byte(`{
		"anthropic": {"type": "api", "key": "sk-1"},
		"openai": {"type": "oauth", "refresh": "r", "access": "a", "expires": 1, "accountId": "acc-1"},
		"github-copilot": {"type": "oauth", "refresh": "r", "access": "a", "expires": 1}
	}`), 0o600))
	require.Equal(t, "key sk-1", of("anthropic"))
	require.Equal(t, "login acc-1", of("openai"))
	require.Empty(t, of("github-copilot"), "it does not say who it is")
	require.Empty(t, of("groq"))
	require.Empty(t, a.Identity(resume.Session{Account: a.Home(), Provider: "anthropic"}, []string{"OPENCODE_AUTH_CONTENT={}"}))
	require.Empty(t, a.Identity(resume.Session{Account: "opencode:elsewhere", Provider: "anthropic"}, nil))
}
