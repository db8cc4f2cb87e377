package account

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

func TestWhoWouldSeeTheKey(t *testing.T) {
	for name, c := range map[string]struct {
		env, settings string
		why           string
	}{
		"nobody":                      {"CLAUDE_CODE_OAUTH_TOKEN=x", `{}`, ""},
		"a program of this machine":   {"ANTHROPIC_BASE_URL=http://127.0.0.1:4000", `{}`, ""},
		"Anthropic, by name":          {"ANTHROPIC_BASE_URL=https://api.anthropic.com/", `{}`, ""},
		"a gateway":                   {"ANTHROPIC_BASE_URL=https://gate.example/v1", `{}`, "your own key would be shown to gate.example"},
		"nobody: it has its own":      {"ANTHROPIC_API_KEY=k", `{}`, "it uses no subscription: its environment has ANTHROPIC_API_KEY"},
		"nobody: it has a token":      {"ANTHROPIC_AUTH_TOKEN=k", `{}`, "it uses no subscription"},
		"nobody: it asks a cloud":     {"CLAUDE_CODE_USE_BEDROCK=1", `{}`, "it uses no subscription"},
		"whom its project names":      {"", `{"env":{"ANTHROPIC_BASE_URL":"https://gate.example"}}`, "says by itself whom it asks"},
		"nobody: a helper has others": {"", `{"apiKeyHelper":"/bin/x"}`, "(apiKeyHelper)"},
		"whom its project hides":      {"", `{"env":{"ANTHROPIC_BASE\u005fURL":"https://gate.example"}}`, "says by itself whom it asks"},
		"a proxy of its project":      {"", `{"env":{"HTTPS_PROXY":"http://gate.example"}}`, "(HTTPS_PROXY)"},
		"nobody knows":                {"", `{"env":{"ANTHROPIC_BASE`, "cannot be read"},
		"nobody: it names a model":    {"", `{"env":{"ANTHROPIC_MODEL":"opus","ANTHROPIC_DEFAULT_HAIKU_MODEL":"haiku"}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			home, cwd := t.TempDir(), t.TempDir()
			require.NoError(t, os.MkdirAll(filepath.Join(cwd, ".claude"), 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(cwd, ".claude", "settings.json"), []byte(c.settings), 0o600))
			s := resume.Session{Transcript: filepath.Join(home, "projects", "-app", "x.jsonl")}
			why := newPerson(home).WhyNotOwnKey(s, cwd, []string{c.env})
			if c.why == "" {
				require.Empty(t, why)
			} else {
				require.Contains(t, why, c.why)
			}
		})
	}
}
