package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Mistakes that people make, and the messages they get, without the parser's words.
func TestSlipsOfTheFingersAreNamed(t *testing.T) {
	for name, tt := range map[string]struct{ file, want string }{
		"text without quotes":       {"[resume]\nprompt = continue\n", `:2:10: text and durations must be in quotes, such as "continue" or "30s"`},
		"a path without quotes":     {"[resume]\nexclude = [~/x]\n", `:2:12: a value cannot begin with ~: text and durations must be in quotes`},
		"two values":                {"[resume]\nmax_windows = 5 6\n", ":2:17: nothing but a comment may follow a value in its line"},
		"a list item for a key":     {"[resume]\n- prompt\n", ":2:3: a key without a value"},
		"True":                      {"[backoff]\njitter = True\n", ":2:10: must be true or false, in small letters and without quotes"},
		"yes":                       {"[backoff]\njitter = yes # spread\n", "must be true or false, in small letters"},
		"a percent sign":            {"[backoff]\njitter_percent = 10%\n", ":2:20: a number has no % sign: jitter_percent = 0.1"},
		"percent in quotes":         {"[backoff]\njitter_percent = \"10%\"\n", "must be a number, without quotes: 0.1 is 10 %"},
		"a share of the week":       {"[resume]\nweekly_reserve = 0.1\n", ":2: resume.weekly_reserve = 0.1: must be a whole number: 10 is 10 %"},
		"a colon":                   {"[resume]\nprompt: \"x\"\n", ":2:7: write = and not a colon"},
		"YAML":                      {"resume:\n  prompt: x\n", ":1:7: write = and not a colon"},
		"JSON":                      {"{\"resume\": {\"prompt\": \"x\"}}\n", ":1:1: this is not TOML"},
		"a comment of another kind": {"[resume]\n// off\n", ":2:1: a comment begins with #"},
		"no value":                  {"[resume]\nprompt =\n", `the value is missing: write ""`},
		"a key alone":               {"[resume]\nprompt\n", "a key without a value"},
		"an open quote":             {"[resume]\nprompt = \"x\n", ":2:12: the quote at the end of the text is missing"},
		"an open single quote":      {"[resume]\nprompt = 'x\n", "the quote at the end of the text is missing"},
		"a Windows path":            {"[resume]\nexclude = [\"C:\\Users\\ann\"]\n", "2:17: in double quotes a backslash has a meaning of its own: write the text in single quotes"},
		"a regexp in double quotes": {"[[agent]]\nsession = \"(\\d+)\"\n", "in double quotes a backslash has a meaning of its own"},
		"an open list":              {"[resume]\nexclude = [\"a\", \"b\"\nprompt = \"x\"\n", ":3:1: the list before it has no ] at its end, or a comma is missing in it"},
		"an open section":           {"[resume\nprompt = \"x\"\n", ":1:8: the ] after the name of the section is missing"},
		"a key twice":               {"[log]\nlevel = \"info\"\nformat = \"text\"\nlevel = \"warn\"\n", ":4:1: level is set twice, first in line 2: keep one of them"},
		"UTF-16":                    {"\xff\xfe[\x00l\x00", ":1:1: the file is UTF-16 text: save it as UTF-8"},
		"Latin-1":                   {"[resume]\n# caf\xe9\n", ":2: the line has letters that are not UTF-8: save the file as UTF-8"},
		"a section of another name": {"[notification]\nevents = []\n", ":1: notification: unknown section; valid here: agent, backoff, control, fleet, history, http, log, notify, resume"},
		"an agent that is unknown":  {"[[agent]]\nname = \"cursor\"\n", `:2: agent[0].name = "cursor": is not built in; these are: claude-code, codex, opencode, gemini, qwen-code. An agent of your own needs kind = "custom"`},
		"an agent without a name":   {"[[agent]]\nenabled = false\n", ":1: agent[0].name: must be set"},
	} {
		t.Run(name, func(t *testing.T) {
			got := complaints(t, tt.file)
			require.Len(t, got, 1, "one slip, one complaint: %q", got)
			require.Regexp(t, `^resumed\.toml:\d+:`, got[0])
			require.Contains(t, got[0], tt.want)
			require.NotContains(t, got[0], "U+", "a letter's number says nothing to people")
		})
	}
}

// Word processors turn a hyphen into a long dash.
func TestHoursWithALongDash(t *testing.T) {
	require.Equal(t, Hours{22 * 60, 8 * 60}, load(t, "[resume]\nhours = \"22:00–08:00\"\n").Resume.Hours)
}

// Slashes in the arguments, such as paths in a container, are not resolved.
func TestACommandLineKeepsItsWords(t *testing.T) {
	dir := t.TempDir()
	spaced := filepath.Join(dir, "my tools", "claude")
	require.NoError(t, os.MkdirAll(filepath.Dir(spaced), 0o755))
	require.NoError(t, os.WriteFile(spaced, nil, 0o755))
	for given, want := range map[string]string{
		"podman exec -w /src box claude":         "podman exec -w /src box claude",
		"/usr/bin/podman exec -w {cwd}/.. box x": "/usr/bin/podman exec -w {cwd}/.. box x",
		spaced:                                   spaced,
		"claude":                                 "claude",
	} {
		c := load(t, "[[agent]]\nname = \"claude-code\"\ncommand = '"+given+"'\n")
		require.Equal(t, want, c.Agents[0].Command)
	}
	path := write(t, "[[agent]]\nname = \"claude-code\"\ncommand = './bin/enter box claude'\n")
	c, err := Load(path, known)
	require.NoError(t, err)
	require.Equal(t, filepath.Join(filepath.Dir(path), "bin/enter")+" box claude", c.Agents[0].Command)
}

// Valid settings without an effect are reported, too.
func TestWhatHasNoEffectIsTold(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "there"), nil, 0o755))
	t.Setenv("RESUMED_CONFG", "/x")
	t.Setenv("RESUMED_PROMPT", "go on")
	t.Setenv("RESUMED_NOTIFY_EVENTS", "digest")
	file := `
[resume]
trusted_users = ["root", "nobody-of-that-name", "12345"]
trusted_groups = ["*", "no-group-of-that-name"]
[[agent]]
name = "claude-code"
command = "/opt/none/claude"
roots = ["DIR", "DIR/.claud"]
[[agent]]
name = "codex"
enabled = false
command = "not looked at"
[[agent]]
name = "gemini"
command = "there is a program"
[[agent]]
name = "mybot"
kind = "custom"
files = ["DIR/logs/*.log", "DIR/*/x.log"]
session = '(.+)'
limit = ['x']
resume = ["mybot", "{session}"]
[notify]
digest_at = "06:00"
[[notify.command]]
name = "script"
run = ["there"]
`
	c := load(t, strings.ReplaceAll(file, "DIR", dir))
	require.Equal(t, []string{
		"agent[0].roots[1]: there is no directory " + dir + "/.claud",
		"agent[3].files[0]: there is no directory " + dir + "/logs",
		"agent[0].command: there is no program /opt/none/claude that can be run",
		"agent[3].resume[0]: there is no program mybot in PATH: write its full path",
		"resume.trusted_users[1]: there is no user nobody-of-that-name here",
		"resume.trusted_groups[1]: there is no group no-group-of-that-name here",
		`notify.digest_at = "06:00" has no effect: add "digest" to notify.events`,
		"the environment has RESUMED_CONFG, which overrides no key: did you mean RESUMED_CONFIG?",
		"the environment has RESUMED_NOTIFY_EVENTS, which overrides no key: a list is set in the file only",
		"the environment has RESUMED_PROMPT, which overrides no key: did you mean RESUMED_RESUME_PROMPT?",
	}, Warnings("", c))
}

func TestFilesThatCannotBeReadAreNamedInPlainWords(t *testing.T) {
	dir := t.TempDir()
	_, err := Load(dir, known)
	require.EqualError(t, err, "configuration: "+dir+" is a directory: name a file in it")
	none := filepath.Join(dir, "none.toml")
	_, err = Find(none, os.Getenv)
	require.EqualError(t, err, "configuration: there is no file "+none)
}
