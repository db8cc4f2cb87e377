package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/ownership"
)

func TestSecretsOfTheirOwnFiles(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	w := Webhook{Channel: Channel{Name: "ops"}, URLFile: file("url", " https://x/y\n"), Secret: "s"}
	url, err := ReadSecret(ownership.Trust{}, w.URL, w.URLFile)
	require.NoError(t, err)
	require.Equal(t, "https://x/y", url.Reveal())
	key, err := ReadSecret(ownership.Trust{}, w.Secret, w.SecretFile)
	require.NoError(t, err)
	require.Equal(t, "s", key.Reveal())

	_, err = ReadSecret(ownership.Trust{}, "", file("empty", "\n"))
	require.ErrorContains(t, err, filepath.Join(dir, "empty")+" is empty")

	a := Agent{Name: "codex", Env: []string{"B=3"}, EnvFile: file("env", "# keys\n\nexport A=1\nB='two words'\nC=x=y\n")}
	env, err := a.Environment(ownership.Trust{})
	require.NoError(t, err)
	require.Equal(t, []string{"A=1", "B=two words", "C=x=y", "B=3"}, env, "env stands after env_file, so it wins")
	a.EnvFile = file("bad", "A=1\nhunter2\n")
	_, err = a.Environment(ownership.Trust{})
	require.ErrorContains(t, err, "bad:2: must be KEY=value")
	require.NotContains(t, err.Error(), "hunter2")
}

func TestWhichFileIsInForce(t *testing.T) {
	dir := t.TempDir()
	xdg := filepath.Join(dir, "xdg", "resumed", "resumed.toml")
	home := filepath.Join(dir, "home", ".config", "resumed", "resumed.toml")
	other := filepath.Join(dir, "other.toml")
	for _, path := range []string{xdg, home, other} {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, nil, 0o600))
	}
	for name, tt := range map[string]struct {
		flag string
		env  map[string]string
		want string
	}{
		"the flag wins":                  {other, map[string]string{"RESUMED_CONFIG": xdg}, other},
		"then the variable":              {"", map[string]string{"RESUMED_CONFIG": other, "HOME": dir + "/home"}, other},
		"then XDG_CONFIG_HOME":           {"", map[string]string{"XDG_CONFIG_HOME": dir + "/xdg", "HOME": dir + "/home"}, xdg},
		"else the home":                  {"", map[string]string{"HOME": dir + "/home"}, home},
		"a relative XDG_CONFIG_HOME":     {"", map[string]string{"XDG_CONFIG_HOME": "xdg", "HOME": dir + "/home"}, home},
		"none, not even a directory":     {"", map[string]string{"HOME": dir + "/nobody"}, ""},
		"none, a file where a dir is":    {"", map[string]string{"XDG_CONFIG_HOME": other}, ""},
		"none, and nobody is at home":    {"", nil, ""},
		"XDG_CONFIG_HOME without a file": {"", map[string]string{"XDG_CONFIG_HOME": dir, "HOME": dir + "/home"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := os.Stat(systemPath); err == nil && tt.want == "" {
				tt.want = systemPath
			}
			got, err := Find(tt.flag, func(k string) string { return tt.env[k] })
			require.NoError(t, err)
			require.Equal(t, tt.want, got)
		})
	}
	_, err := Find(dir+"/missing.toml", os.Getenv)
	require.ErrorContains(t, err, "configuration: there is no file ")
	_, err = Find("", func(k string) string { return map[string]string{"RESUMED_CONFIG": dir + "/missing"}[k] })
	require.ErrorContains(t, err, "RESUMED_CONFIG: ")
	require.Equal(t, []string{systemPath}, Places(func(string) string { return "" }))
}

func TestPathsAreExpanded(t *testing.T) {
	t.Setenv("HOME", "/home/ann")
	path := write(t, `
[resume]
include = ["~", "~/a/../b"]
[[agent]]
name = "claude-code"
command = "~/.nvm/bin/claude"
env_file = "claude.env"
[[agent]]
name = "codex"
command = "codex"
`)
	c, err := Load(path, known)
	require.NoError(t, err)
	require.Equal(t, []string{"/home/ann", "/home/ann/b"}, c.Resume.Include)
	require.Equal(t, "/home/ann/.nvm/bin/claude", c.Agents[0].Command)
	require.Equal(t, filepath.Join(filepath.Dir(path), "claude.env"), c.Agents[0].EnvFile)
	require.Equal(t, "codex", c.Agents[1].Command, "a plain name is looked up in PATH")
}
