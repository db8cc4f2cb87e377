package agent

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// withSettings is an agent with the settings of a directory.
func withSettings() *Base {
	files := ApprovalSettings(".bot", "/nowhere", func(variable func(string) string) string { return variable("BOT_HOME") }, []string{"rules/*.toml"}, "deny", "tools.core")
	files.Modes, files.Usual = []string{"plan", "default", "yolo"}, "default"
	b := NewBase(About{Name: "bot", Settings: &files}, Options{})
	return &b
}

func TestWhatSettingsSayAboutAStart(t *testing.T) {
	b, dir, home := withSettings(), t.TempDir(), t.TempDir()
	write := func(path, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	project, own, rule := filepath.Join(dir, ".bot/settings.json"), filepath.Join(home, "settings.json"), filepath.Join(home, "rules/x.toml")
	o := resume.Origin{Cwd: dir, EnvSeen: true, ArgsSeen: true, Env: []resume.Variable{{Name: "BOT_HOME", Value: home}}}
	require.Equal(t, &resume.Settings{Files: map[string]string{}}, b.SettingsAt(o))
	write(project, `{"tools":{"approvalMode":"yolo"}, "theme":"dark"}`)
	write(own, `{"deny":["rm"],"approvalMode":"plan"}`)
	write(rule, "deny = true")
	o.Settings = b.SettingsAt(o)
	require.Equal(t, "yolo", o.Settings.Mode, "the nearest counts")
	require.Len(t, o.Settings.Files, 2, "a theme allows nothing")
	require.Empty(t, b.ChangedSettings(o))

	write(project, `{"theme":"light"}`)
	require.Empty(t, b.ChangedSettings(o), "nor does another one")
	write(own, `{"deny":[]}`)
	require.NoError(t, os.Remove(rule))
	require.Equal(t, []string{rule, own}, b.ChangedSettings(o))
	o.Files = map[string]string{own: "x"}
	require.Equal(t, []string{rule}, b.ChangedSettings(o), "a file that a flag names is compared otherwise")

	o.Sandbox = "a container"
	require.Empty(t, b.ChangedSettings(o), "its files are others")
	require.Empty(t, (&Base{}).ChangedSettings(o), "it has no settings")
}

// What a file says that was written after a process began is not what that was started with, whatever time the file states.
func TestAFileThatIsNewerThanItsProcessSaysNothingAboutItsStart(t *testing.T) {
	b, dir := withSettings(), t.TempDir()
	path := filepath.Join(dir, ".bot/settings.json")
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(`{"approvalMode":"yolo","deny":["rm"]}`), 0o600))
	require.NoError(t, os.Chtimes(path, time.Time{}, time.Now().Add(-time.Hour)))
	o := resume.Origin{Cwd: dir, ArgsSeen: true, BeganAt: time.Now().Add(-time.Minute), SeenAt: time.Now()}
	o.Settings = b.SettingsAt(o)
	require.Empty(t, o.Settings.Mode)
	require.Empty(t, b.ChangedSettings(o), "some agents write to their settings when they start")
	s := resume.Session{Origin: &o}
	require.Empty(t, b.StartMode(s, dir))
	require.Equal(t, "yolo", b.ModeNow(s, dir))
	require.Equal(t, "yolo", b.StartMode(resume.Session{}, dir), "a start that nobody saw has today's settings, on its user's word")
}
