package config

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDurations(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"30s": 30 * time.Second, "1h30m": 90 * time.Minute, "500ms": 500 * time.Millisecond,
		"90d": 90 * day, "2w": 14 * day, "1w1d1h": 8*day + time.Hour, "1.5d": 36 * time.Hour,
		"0s": 0, "0d": 0, "-1d": -day, "-1d12h": -36 * time.Hour,
	} {
		got, err := ParseDuration(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
		again, err := ParseDuration(FormatDuration(got))
		require.NoError(t, err, text)
		require.Equal(t, got, again, "what is written can be read")
	}
	for _, text := range []string{"", "30", "0", "1.5", "d", "s", "1h-5m", "+5s", "1d5", "--5s", " 5s", "5 s", "soon", "inf", "nan", "1e9d", "999999999999d", "1x"} {
		_, err := ParseDuration(text)
		require.Error(t, err, text)
	}
	require.Equal(t, "5m", FormatDuration(5*time.Minute))
	require.Equal(t, "192h", FormatDuration(192*time.Hour))
	require.Equal(t, "90d", FormatDuration(90*day))
	require.Equal(t, "1h0m5s", FormatDuration(time.Hour+5*time.Second))
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]Size{
		"64MiB": 64 << 20, "1GB": 1e9, "1.5KiB": 1536, "10 kB": 10_000, "7B": 7, "0B": 0,
	} {
		got, err := ParseSize(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
		again, err := ParseSize(got.String())
		require.NoError(t, err)
		require.Equal(t, got, again)
	}
	for _, text := range []string{"", "64", "MiB", "-1MiB", "64mib", "1XB", "99999999TiB"} {
		_, err := ParseSize(text)
		require.Error(t, err, text)
	}
	require.Equal(t, "64MiB", Size(64<<20).String())
}

func TestHours(t *testing.T) {
	night, err := ParseHours("22:00-08:00")
	require.NoError(t, err)
	noon, err := ParseHours("12:00-13:30")
	require.NoError(t, err)
	evening, err := ParseHours("18:00-24:00")
	require.NoError(t, err)
	at := func(s string) time.Time {
		when, err := time.Parse("2006-01-02 15:04:05", "2026-03-10 "+s)
		require.NoError(t, err)
		return when
	}
	for _, tt := range []struct {
		hours    Hours
		at       string
		contains bool
		next     time.Time
	}{
		{night, "23:59:59", true, at("23:59:59")},
		{night, "07:59:59", true, at("07:59:59")},
		{night, "08:00:00", false, at("22:00:00")},
		{night, "21:59:59", false, at("22:00:00")},
		{noon, "11:00:30", false, at("12:00:00")},
		{noon, "13:30:00", false, at("12:00:00").AddDate(0, 0, 1)},
		{evening, "23:59:59", true, at("23:59:59")},
		{evening, "00:00:00", false, at("18:00:00")},
		{Hours{}, "03:00:00", true, at("03:00:00")},
	} {
		require.Equal(t, tt.contains, tt.hours.Contains(at(tt.at)), "%s in %s", tt.at, tt.hours)
		require.Equal(t, tt.next, tt.hours.Next(at(tt.at)), "after %s in %s", tt.at, tt.hours)
	}
	for _, text := range []string{"22:00", "22-8", "25:00-08:00", "22:00-22:00", "00:00-24:00", "24:00-08:00", "a-b", "22:00-08:00-09:00"} {
		_, err := ParseHours(text)
		require.Error(t, err, text)
	}
}

func TestHoursThatBeginInAGapOfTheClock(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	h, err := ParseHours("02:30-05:00") // 2026-03-29 has no 02:30 there
	require.NoError(t, err)
	next := h.Next(time.Date(2026, 3, 29, 1, 0, 0, 0, berlin))
	require.Equal(t, "2026-03-29 03:00:00 +0200 CEST", next.String())
}

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
		"TOML": c.TOML(), "JSON": string(asJSON), "%v": fmt.Sprint(c), "log": log.String(),
		"a webhook":     fmt.Sprintf("%v %+v", c.Notify.Webhook[0], c.Notify.Webhook),
		"a webhook, %#": fmt.Sprintf("%#v", c.Notify.Webhook[0].URL),
	} {
		require.NotContains(t, shown, "hunter2", name)
	}
	shown := c.TOML()
	require.Contains(t, shown, `url = "https://hooks.example.com/[hidden]"`)
	require.Contains(t, shown, `url = "telegram://[hidden]"`)
	require.Contains(t, shown, `env = ["API_KEY=[hidden]"]`)
	require.Equal(t, "whsec_hunter2", c.Notify.Webhook[0].Secret.Reveal(), "hiding changes a copy only")
	require.Equal(t, "API_KEY=hunter2", c.Agents[0].Env[0])
	require.Contains(t, encode(c), "whsec_hunter2")
}

func TestProblemsDoNotShowSecrets(t *testing.T) {
	for _, file := range []string{
		"[[notify.webhook]]\nname = \"x\"\nurl = \"hunter2://x\"\n",
		"[[notify.webhook]]\nname = \"x\"\nurl = [\"hunter2\"]\n",
		"[[notify.service]]\nname = \"x\"\nurl = \"hunter2\"\n",
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
			require.Equal(t, c, load(t, encode(c)))
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
	t.Setenv("RESUMED_MARK", "not ours to judge")
	got := Warnings("", c)
	require.Len(t, got, 4)
	require.Equal(t, "notify.webhook[0].url_file: others can read "+open+": chmod 600 "+open, got[0])
	require.Contains(t, got[1], "notify.webhook[0].secret_file: ")
	require.Equal(t, "the environment has RESUMED_BACKOFF_BASEDELAY, which overrides no key", got[2])
	require.Equal(t, `http.listen = ":7733" can be reached from other machines`, got[3])
}

func TestSecretsOfTheirOwnFiles(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	w := Webhook{Channel: Channel{Name: "ops"}, URLFile: file("url", " https://x/y\n"), Secret: "s"}
	url, err := w.Address()
	require.NoError(t, err)
	require.Equal(t, "https://x/y", url.Reveal())
	key, err := w.Key()
	require.NoError(t, err)
	require.Equal(t, "s", key.Reveal())

	_, err = Service{Channel: Channel{Name: "phone"}, URLFile: file("empty", "\n")}.Address()
	require.ErrorContains(t, err, filepath.Join(dir, "empty")+" is empty")

	a := Agent{Name: "codex", Env: []string{"B=3"}, EnvFile: file("env", "# keys\n\nexport A=1\nB='two words'\nC=x=y\n")}
	env, err := a.Environment()
	require.NoError(t, err)
	require.Equal(t, []string{"A=1", "B=two words", "C=x=y", "B=3"}, env, "env stands after env_file, so it wins")
	a.EnvFile = file("bad", "A=1\nhunter2\n")
	_, err = a.Environment()
	require.ErrorContains(t, err, "bad:2: must be KEY=value")
	require.NotContains(t, err.Error(), "hunter2")
}

func TestWhichFileIsInForce(t *testing.T) {
	dir := t.TempDir()
	xdg := filepath.Join(dir, "xdg", "resumed", "resumed.toml")
	home := filepath.Join(dir, "home", ".config", "resumed", "resumed.toml")
	other := filepath.Join(dir, "other.toml")
	for _, path := range []string{xdg, home, other} {
		put(t, path, "")
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
	require.ErrorContains(t, err, "read configuration: ")
	_, err = Find("", func(k string) string { return map[string]string{"RESUMED_CONFIG": dir + "/missing"}[k] })
	require.ErrorContains(t, err, "RESUMED_CONFIG: ")
	require.Equal(t, []string{systemPath}, places(func(string) string { return "" }))
}
