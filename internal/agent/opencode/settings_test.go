package opencode

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/agenttest"
	"resumed/internal/resume"
)

// No flag of a run takes back what a configuration allows, so that a change is told.
func TestPermissionsThatChangedSinceTheStartAreFound(t *testing.T) {
	sc, home, dir := newStopped(t), t.TempDir(), t.TempDir()
	project := filepath.Join(dir, "opencode.json")
	o := resume.Origin{Cwd: filepath.Join(dir, "app"), ArgsSeen: true, EnvSeen: true, Env: []resume.Variable{{Name: "XDG_CONFIG_HOME", Value: home}}}
	agenttest.Write(t, project, `{"permission":{"bash":"ask"}, "theme":"dark"}`)
	o.Settings = sc.agent.SettingsAt(o)
	agenttest.Write(t, project, `{"theme":"light","permission":{"bash":"ask"}}`)
	require.Empty(t, sc.agent.ChangedSettings(o), "a theme allows nothing")

	builder := filepath.Join(o.Cwd, ".opencode", "agent", "build.md")
	agenttest.Write(t, builder, "---\npermission: allow\n---\n")
	agenttest.Write(t, project, `{"permission":"allow"}`)
	agenttest.Write(t, filepath.Join(home, "opencode", "opencode.jsonc"), `{"tools":{"bash":true}} // mine`)
	require.ElementsMatch(t, []string{builder, project, filepath.Join(home, "opencode", "opencode.jsonc")}, sc.agent.ChangedSettings(o))
}
