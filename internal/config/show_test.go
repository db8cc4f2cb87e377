package config

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const secretive = `
[[agent]]
name = "codex"
env = ["API_KEY=hunter2"]
[[notify.webhook]]
name = "ops"
url = "https://user:hunter2@hooks.example.com/services/hunter2?token=hunter2"
secret = "whsec_hunter2"
[[notify.service]]
name = "phone"
url = "telegram://hunter2@telegram?chats=1"
`

func TestSecretsAreHidden(t *testing.T) {
	c := load(t, secretive)
	asJSON, err := json.Marshal(c)
	require.NoError(t, err)
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("loaded", "config", c, "url", c.Notify.Webhook[0].URL)
	for name, shown := range map[string]string{
		"TOML": c.String(), "JSON": string(asJSON), "%v": fmt.Sprint(c), "log": log.String(),
		"a webhook":     fmt.Sprintf("%v %+v", c.Notify.Webhook[0], c.Notify.Webhook),
		"a webhook, %#": fmt.Sprintf("%#v", c.Notify.Webhook[0].URL),
	} {
		require.NotContains(t, shown, "hunter2", name)
	}
	shown := c.String()
	require.Contains(t, shown, `url = "https://hooks.example.com/[hidden]"`)
	require.Contains(t, shown, `url = "telegram://[hidden]"`)
	require.Contains(t, shown, `env = ["API_KEY=[hidden]"]`)
	require.Equal(t, "whsec_hunter2", c.Notify.Webhook[0].Secret.Reveal(), "hiding changes a copy only")
	require.Equal(t, "API_KEY=hunter2", c.Agents[0].Env[0])
	require.Contains(t, c.encode(false), "whsec_hunter2")
}

func TestProblemsDoNotShowSecrets(t *testing.T) {
	for _, file := range []string{
		"[[notify.webhook]]\nname = \"x\"\nurl = [\"hunter2\"]\n",
		"[[notify.service]]\nname = \"x\"\nurl = {hunter2 = 1}\n",
		"[[agent]]\nname = \"codex\"\nenv = [\"hunter2\"]\n",
		"[[agent]]\nname = \"codex\"\nenv = \"KEY=hunter2\"\n",
		"[[notify.webhook]]\nname = \"x\"\nurl = \"https://x\"\nsecret = hunter2\n",
	} {
		require.NotContains(t, strings.Join(complaints(t, file), "\n"), "hunter2", file)
	}
}

func TestShownConfigurationIsTheOneInForce(t *testing.T) {
	for name, file := range map[string]string{
		"defaults": "", "secrets": secretive, "custom agent": mybot,
		"everything": mybot + hook + `
events = []
text = "a \"quoted\" \\ line\nand \u007f another"
title = "{{range .Sessions}}{{project .}} {{local .ResetAt}}{{end}}"
[[backoff.policy]]
name = "slow"
classes = ["network", "timeout"]
jitter_percent = 1.0
[resume]
hours = "22:00-08:00"
include = ["/a b"]
[history]
max_size = "1500kB"
`,
	} {
		t.Run(name, func(t *testing.T) {
			c := load(t, file)
			require.Equal(t, c, load(t, c.encode(false)))
		})
	}
	var doc struct {
		Version int
		Resume  struct {
			Margin  string
			Include []string
		}
		Backoff struct {
			BaseDelay     string  `json:"base_delay"`
			JitterPercent float64 `json:"jitter_percent"`
		}
		History struct {
			MaxSize string `json:"max_size"`
		}
	}
	data, err := json.Marshal(Default())
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &doc))
	require.Equal(t, 1, doc.Version)
	require.Equal(t, "1m", doc.Resume.Margin)
	require.NotNil(t, doc.Resume.Include)
	require.Equal(t, "30s", doc.Backoff.BaseDelay)
	require.Equal(t, 0.1, doc.Backoff.JitterPercent)
	require.Equal(t, "64MiB", doc.History.MaxSize)
}

func TestWarnings(t *testing.T) {
	path := write(t, secretive)
	c, err := Load(path, known)
	require.NoError(t, err)
	require.Empty(t, Warnings(path, c))

	require.NoError(t, os.Chmod(path, 0o644))
	require.Equal(t, []string{path + " holds a secret and others can read it: chmod 600 " + path}, Warnings(path, c))
	require.Empty(t, Warnings(path, Default()), "without a secret anybody may read it")

	dir := filepath.Dir(path)
	open := filepath.Join(dir, "open")
	require.NoError(t, os.WriteFile(open, []byte("x"), 0o644))
	c = load(t, fmt.Sprintf("[[notify.webhook]]\nname = \"x\"\nurl_file = %q\nsecret_file = %q\n[http]\nlisten = \":7733\"\n", open, filepath.Join(dir, "none")))
	t.Setenv("RESUMED_BACKOFF_BASEDELAY", "5s")
	t.Setenv("RESUMED_BACKOF_MAX_DELAY", "5m")
	t.Setenv("RESUMED_LOG_NOISE", "none")
	t.Setenv("RESUMED_MARK", "not ours to judge")
	c.Resume.Include = []string{dir}
	c.Resume.Exclude = []string{filepath.Join(dir, "secret-project")}
	c.Resume.Priority = []Priority{{Dir: open}}
	got := Warnings("", c)
	require.Len(t, got, 8)
	require.Equal(t, "notify.webhook[0].url_file: others can read "+open+": chmod 600 "+open, got[0])
	require.Contains(t, got[1], "notify.webhook[0].secret_file: ")
	require.Equal(t, "resume.exclude[0]: there is no directory "+c.Resume.Exclude[0], got[2])
	require.Equal(t, "resume.priority[0].dir: there is no directory "+open, got[3])
	require.Equal(t, "the environment has RESUMED_BACKOFF_BASEDELAY, which overrides no key: did you mean RESUMED_BACKOFF_BASE_DELAY?", got[4])
	require.Equal(t, "the environment has RESUMED_BACKOF_MAX_DELAY, which overrides no key: did you mean RESUMED_BACKOFF_MAX_DELAY?", got[5])
	require.Equal(t, "the environment has RESUMED_LOG_NOISE, which overrides no key", got[6])
	require.Equal(t, `http.listen = ":7733" can be reached from other machines: write 127.0.0.1:7733 for this one alone`, got[7])
	relative := write(t, "[resume]\nexclude = [\"secret-project\"]\n")
	c, err = Load(relative, known)
	require.NoError(t, err)
	require.Equal(t, "resume.exclude[0]: there is no directory "+c.Resume.Exclude[0]+", beside this file: write the full path, or begin with ~/", Warnings(relative, c)[0])
}
