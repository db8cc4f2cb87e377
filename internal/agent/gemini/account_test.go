package gemini

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/resume"
)

func TestTheGoogleAccountTellsWhoseAllowanceItIs(t *testing.T) {
	around := t.TempDir()
	home := filepath.Join(around, homeName)
	require.NoError(t, os.Mkdir(home, 0o700))
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(home, name), []byte(text), 0o600))
	}
	a, err := described.New(agent.Options{Roots: []string{home}})
	require.NoError(t, err)
	s := resume.Session{Transcript: filepath.Join(home, "tmp", "p", "chats", "session-x.jsonl")}
	write("google_accounts.json", `{"active":"me@example.com","old":[]}`)
	require.Empty(t, a.Identity(s, nil), "nobody says that it is asked in that name")
	write("settings.json", `{"security":{"auth":{"selectedType":"oauth-personal"}}}`)
	require.Equal(t, "login me@example.com", a.Identity(s, nil))
	require.Equal(t, "key k", a.Identity(s, []string{"GEMINI_API_KEY=k"}))
	write("google_accounts.json", `{"active":null,"old":["me@example.com"]}`)
	require.Empty(t, a.Identity(s, nil), "signed out")
	write("settings.json", `{"security":{"auth":{"selectedType":"vertex-ai"}}}`)
	write("google_accounts.json", `{"active":"me@example.com"}`)
	require.Empty(t, a.Identity(s, nil))
}
