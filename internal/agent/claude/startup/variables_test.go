package startup

import (
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

func TestWhichVariablesMatter(t *testing.T) {
	effects := map[string]bool{} // whether values are stored unhashed
	kept, _ := Variables.Storable([]string{
		"ANTHROPIC_BASE_URL=http://x", "ANTHROPIC_AUTH_TOKEN=hunter22", "CLAUDE_CODE_OAUTH_TOKEN=hunter22", "CLAUDE_CONFIG_DIR=/c", "CLAUDECODE=1",
		"CLAUDE_CODE_ENTRYPOINT=cli", "CLAUDE_CODE_SSE_PORT=7", "CLAUDE_CODE_MAX_OUTPUT_TOKENS=64000", "DISABLE_TELEMETRY=1", "AWS_SECRET_ACCESS_KEY=hunter22",
		"GOOGLE_APPLICATION_CREDENTIALS=/home/u/key.json", "EDITOR=vi", "BASH_ENV=/x", "ANTHROPIC_CUSTOM_HEADERS=x-key: hunter22", "IS_SANDBOX=1",
	}, false)
	for _, v := range kept {
		effects[v.Name] = v.Hash == ""
	}
	require.Equal(t, map[string]bool{
		"ANTHROPIC_BASE_URL": true, "ANTHROPIC_AUTH_TOKEN": false, "CLAUDE_CODE_OAUTH_TOKEN": false, "CLAUDE_CONFIG_DIR": true,
		"CLAUDE_CODE_MAX_OUTPUT_TOKENS": true, "DISABLE_TELEMETRY": true, "AWS_SECRET_ACCESS_KEY": false, "GOOGLE_APPLICATION_CREDENTIALS": true,
		"ANTHROPIC_CUSTOM_HEADERS": false, "IS_SANDBOX": true,
	}, effects)
}

func TestAKeyByAnOpenFileCannotBeRepeated(t *testing.T) {
	kept, salt := Variables.Storable([]string{"CLAUDE_CODE_OAUTH_TOKEN_FILE_DESCRIPTOR=3"}, false)
	env := Variables.Carry(resume.Origin{Env: kept, Salt: salt, EnvSeen: true}, nil, nil)
	require.Contains(t, env.Missing[0].String(), "which alone can give it")
}
