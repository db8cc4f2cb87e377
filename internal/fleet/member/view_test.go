package member

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/config"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

// Texts that somebody wrote leave the host only if that is configured.
func TestTextsAreSharedOnlyWhereThatIsWanted(t *testing.T) {
	const secret = "hunter2"
	v := view.Session{
		ID: "s-1", Name: "s-1", Text: secret, Reason: secret, Unreached: secret, Transcript: secret, Program: secret,
		Started: view.Start{Argv: []string{secret}, Env: []string{secret}}, Carried: view.NotRepeated{LeftOut: []string{secret}},
		Attempts: []view.Attempt{{Error: secret}}, Past: []view.Attempt{{Error: secret}}, Plan: &view.Plan{Command: []string{secret}},
		Owner: &resume.Owner{PID: 7, Tmux: secret},
	}
	facts, err := json.Marshal(shared(v, config.ShareFacts))
	require.NoError(t, err)
	require.NotContains(t, string(facts), secret)
	require.Contains(t, string(facts), "s-1")
	texts, err := json.Marshal(shared(v, config.ShareTexts))
	require.NoError(t, err)
	require.Contains(t, string(texts), secret)
}
