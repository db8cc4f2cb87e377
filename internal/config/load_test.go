package config

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/configs"
	"resumed/internal/backoff"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// known are the built-in agents of these tests.
var known = Known{{Name: "claude-code", Models: true}, {Name: "codex"}, {Name: "opencode"}, {Name: "gemini"}, {Name: "qwen-code"}}

// write puts content into a file named resumed.toml and returns its path.
func write(t testing.TB, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "resumed.toml")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

func load(t testing.TB, content string) Config {
	t.Helper()
	c, err := Load(write(t, content), known)
	require.NoError(t, err)
	return c
}

// complaints loads content and returns what is wrong, without the directory.
func complaints(t testing.TB, content string) []string {
	t.Helper()
	path := write(t, content)
	c, err := Load(path, known)
	require.Error(t, err)
	require.Equal(t, Config{}, c, "a bad file gives no configuration")
	return strings.Split(strings.ReplaceAll(err.Error(), filepath.Dir(path)+"/", ""), "\n")
}

func TestTemplateIsTheDefault(t *testing.T) {
	require.Equal(t, Default(), load(t, configs.Template))
	require.Equal(t, Default(), load(t, ""))
	fromNothing, err := Load("", known)
	require.NoError(t, err)
	require.Equal(t, Default(), fromNothing)
	require.Empty(t, Default().validate(known))
}

func TestTemplateNamesEveryKeyAndItsExamplesAreValid(t *testing.T) {
	for path, f := range schema() {
		if path == "" || strings.HasSuffix(path, "[]") || f.kind == kindTable {
			continue
		}
		name := path[strings.LastIndex(path, ".")+1:]
		pattern := `(?m)^#?` + name + ` = `
		if name == "secret" || path == "notify.service[].url" {
			pattern = `or ` + name
		}
		if f.kind == kindTables {
			pattern = `(?m)^#?\[\[` + regexp.QuoteMeta(path) + `\]\]`
		}
		require.Regexp(t, pattern, configs.Template, "the template must show %s", path)
	}
	examples := regexp.MustCompile(`(?m)^#(\S)`).ReplaceAllString(configs.Template, "$1")
	c := load(t, examples)
	require.Len(t, c.Agents, 2)
	require.Equal(t, 15*time.Second, c.Backoff.Policies[0].BaseDelay)
}

func TestFileIsLaidOverDefaults(t *testing.T) {
	c := load(t, `
[resume]
margin = "0s"
max_wait = "1w2d"
include = ["/srv", "work"]
hours = "22:00-08:00"
[backoff]
base_delay = "1m"
jitter_percent = 1
[notify]
events = ["limited"]
[[notify.webhook]]
name = "ops"
url = "https://example.com/x"
[[notify.service]]
name = "mute"
url = "ntfy://ntfy.sh/t"
events = []
[history]
keep = "2w"
max_size = "1.5GiB"
[[agent]]
name = "codex"
`)
	require.Zero(t, c.Resume.Margin)
	require.Equal(t, 9*day, c.Resume.MaxWait)
	require.Equal(t, "continue", c.Resume.Prompt, "what is not in the file keeps its default")
	require.Equal(t, "/srv", c.Resume.Include[0])
	require.True(t, strings.HasSuffix(c.Resume.Include[1], "/work"), "a relative path begins at the file")
	require.True(t, filepath.IsAbs(c.Resume.Include[1]))
	require.Equal(t, Hours{22 * 60, 8 * 60}, c.Resume.Hours)
	require.Equal(t, time.Minute, c.Backoff.BaseDelay)
	require.Equal(t, 1.0, c.Backoff.JitterPercent)
	require.Equal(t, []string{"limited"}, c.Notify.Events)
	require.Equal(t, []string{"limited"}, c.Notify.Webhook[0].Events, "a channel inherits the events")
	require.Equal(t, 10*time.Second, c.Notify.Webhook[0].Timeout)
	require.Empty(t, c.Notify.Service[0].Events, "an empty list is not inherited")
	require.Empty(t, c.Notify.Desktop, "the default channel is for those who name none")
	require.Equal(t, 14*day, c.History.Keep)
	require.Equal(t, Size(3<<29), c.History.MaxSize)
	require.True(t, c.Agents[0].Enabled, "an entry does not switch an agent off")
}

func TestInheritedListsAreNotShared(t *testing.T) {
	c := load(t, `
[[notify.desktop]]
name = "a"
[[notify.desktop]]
name = "b"
events = ["limited"]
`)
	require.Equal(t, []string{"gave_up", "parked"}, c.Notify.Events)
	require.Equal(t, []string{"gave_up", "parked"}, c.Notify.Desktop[0].Events)
	require.Equal(t, []string{"limited"}, c.Notify.Desktop[1].Events)
}

func TestWhichPolicyApplies(t *testing.T) {
	c := load(t, `
[backoff]
max_retries = 7
[[backoff.policy]]
name = "busy"
classes = ["overloaded", "server_error"]
base_delay = "15s"
[[agent]]
name = "codex"
policy = "interactive"
[[agent]]
name = "gemini"
policy = "busy"
[[agent]]
name = "opencode"
policy = "default"
`)
	interactive, ok := backoff.Named("interactive")
	require.True(t, ok)
	busy := c.Backoff.Policy
	busy.BaseDelay = 15 * time.Second
	require.Equal(t, 7, busy.MaxRetries, "unset keys are those of [backoff]")
	twice := c.Backoff.Policy
	twice.MaxRetries = 2

	for name, tt := range map[string]struct {
		agent string
		class limit.Class
		want  backoff.Policy
	}{
		"the agent's wins over the class's":    {"codex", limit.Overloaded, interactive},
		"a policy of the file, by name":        {"gemini", limit.RateLimit, busy},
		"the class's":                          {"claude-code", limit.Overloaded, busy},
		"else [backoff]":                       {"claude-code", limit.RateLimit, c.Backoff.Policy},
		"default is [backoff] as it is":        {"opencode", limit.Overloaded, c.Backoff.Policy},
		"what nobody understands: two tries":   {"claude-code", limit.Unknown, twice},
		"unless the agent has its own":         {"codex", limit.Unknown, interactive},
		"an unknown agent has the class's too": {"nobody", limit.ServerError, busy},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tt.want, c.Policy(tt.agent, tt.class))
		})
	}
	mine := load(t, "[[backoff.policy]]\nname = \"odd\"\nclasses = [\"unknown\"]\nmax_retries = 4\n")
	session := resume.Session{Key: resume.Key{Agent: "claude-code"}, Interruption: resume.Interruption{Limit: limit.Verdict{Class: limit.Unknown}}}
	require.Equal(t, 4, mine.Policy("claude-code", limit.Unknown).MaxRetries, "a policy of the file wins")
	require.Equal(t, 4, mine.Rules().PolicyOf(session).MaxRetries)
}

// What a user sets in [backoff] holds for outages too; the built-in policy for them counts only where
// nothing is set.
func TestWhichPolicyAppliesInAnOutage(t *testing.T) {
	outage, _ := backoff.Named("outage")
	for name, tt := range map[string]struct {
		file, env string
		named     string
		want      func(*backoff.Policy)
	}{
		"nothing is set":                    {"", "", "outage", nil},
		"only other keys are set":           {"[resume]\nmargin = \"2m\"\n", "", "outage", nil},
		"a section without keys":            {"[backoff]\n", "", "outage", nil},
		"a policy for something else":       {"[[backoff.policy]]\nname = \"x\"\nclasses = [\"timeout\"]\nbase_delay = \"1s\"\n", "", "outage", nil},
		"a key is set":                      {"[backoff]\nbase_delay = \"2s\"\n", "", "default", func(p *backoff.Policy) { p.BaseDelay = 2 * time.Second }},
		"a key is set to what it is":        {"[backoff]\nmax_retries = 5\n", "", "default", func(*backoff.Policy) {}},
		"a key is set in the environment":   {"", "3", "default", func(p *backoff.Policy) { p.MaxRetries = 3 }},
		"a key is set, and an own outage":   {"[backoff]\nmax_retries = 2\n[[backoff.policy]]\nname = \"outage\"\n", "", "outage", func(p *backoff.Policy) { p.MaxRetries = 2 }},
		"the class has a policy of its own": {"[[backoff.policy]]\nname = \"x\"\nclasses = [\"overloaded\", \"server_error\", \"network\"]\nmax_retries = 9\n", "", "x", func(p *backoff.Policy) { p.MaxRetries = 9 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("RESUMED_BACKOFF_MAX_RETRIES", tt.env)
			want := resume.Policy{Name: tt.named, Policy: outage}
			if tt.want != nil {
				want.Policy = backoff.Default()
				tt.want(&want.Policy)
			}
			c := load(t, tt.file)
			for _, class := range []limit.Class{limit.Overloaded, limit.ServerError, limit.Network} {
				require.Equal(t, want, c.Rules().PolicyFor("codex", class))
			}
			require.Equal(t, resume.Policy{Name: "default", Policy: c.Backoff.Policy}, c.Rules().PolicyFor("codex", limit.RateLimit))
			t.Setenv("RESUMED_BACKOFF_MAX_RETRIES", "")
			require.Equal(t, c, load(t, c.encode(false)), "shown, it means the same")
		})
	}
}

func TestProblemsSayWhatWhereAndWhatToDo(t *testing.T) {
	for name, tt := range map[string]struct {
		file string
		want []string
	}{
		"broken TOML": {
			"[log]\nlevel = info\n",
			[]string{`resumed.toml:2:12: text and durations must be in quotes, such as`},
		},
		"the same key twice": {
			"[log]\nlevel = \"info\"\nlevel = \"warn\"\n",
			[]string{`resumed.toml:3:`},
		},
		"an unknown key, and the one that was meant": {
			"[backoff]\n\nbsae_delay = \"10s\"\n",
			[]string{`resumed.toml:3: backoff.bsae_delay: unknown key; did you mean base_delay?`},
		},
		"keys are lower case": {
			"[backoff]\nBase_Delay = \"10s\"\n",
			[]string{`resumed.toml:2: backoff.Base_Delay: unknown key; did you mean base_delay?`},
		},
		"a key in the wrong table": {
			"[log]\nmax_retries = 3\n",
			[]string{`resumed.toml:2: log.max_retries: unknown key here; did you mean backoff.max_retries?`},
		},
		"an unknown table, once": {
			"[a.b]\nc = 1\nd = 2\n",
			[]string{`resumed.toml:1: a: unknown section`},
		},
		"an unknown key of the second entry": {
			"[[agent]]\nname = \"codex\"\n[[agent]]\nname = \"gemini\"\nrots = [\"/x\"]\n",
			[]string{`resumed.toml:5: agent[1].rots: unknown key; did you mean roots?`},
		},
		"an unknown key of an inline table": {
			"agent = [\n  {name = \"codex\"},\n  {name = \"gemini\", zzz = 1},\n]\n",
			[]string{`resumed.toml:3: agent[1].zzz: unknown key`},
		},
		"a key with dots is one key": {
			"\"backoff.base_delay\" = \"1s\"\n\"backoff::base_delay\" = \"1s\"\n",
			[]string{`resumed.toml:1: "backoff.base_delay": unknown key`, `resumed.toml:2: "backoff::base_delay": unknown key`},
		},
		"a number for a duration": {
			"[backoff]\nbase_delay = 30\n",
			[]string{`resumed.toml:2: backoff.base_delay = 30: must be a duration with a unit, in quotes, such as "30s", "5m", "12h" or "90d"`},
		},
		"a duration without a unit": {
			"[resume]\nmargin = \"0\"\n",
			[]string{`resumed.toml:2: resume.margin = "0": must be a duration with a unit`},
		},
		"a section twice": {
			"[http]\nlisten = \"\"\n[http]\nlisten = \"127.0.0.1:7733\"\n",
			[]string{`resumed.toml:3:2: [http] is in the file twice: put all its keys under one of them`},
		},
		"curly quotes": {
			"[log]\nlevel = “debug”\n",
			[]string{`resumed.toml:2:9: “ is a curly quote, as text editors make them: write " or ' instead`},
		},
		"quotes around a number": {
			"[backoff]\nmax_retries = \"5\"\n",
			[]string{`resumed.toml:2: backoff.max_retries = "5": must be a whole number, without quotes`},
		},
		"a fraction for a whole number": {
			"[backoff]\nmax_retries = 1.5\n",
			[]string{`resumed.toml:2: backoff.max_retries = 1.5: must be a whole number`},
		},
		"quotes around a bool": {
			"[backoff]\njitter = \"yes\"\n",
			[]string{`resumed.toml:2: backoff.jitter = "yes": must be true or false, without quotes`},
		},
		"a string for a list": {
			"[resume]\ninclude = \"/srv\"\n",
			[]string{`resumed.toml:2: resume.include = "/srv": must be a list`},
		},
		"a value for a table": {
			"log = 5\n",
			[]string{`resumed.toml:1: log = 5: must be a section in single brackets: [log]`},
		},
		"an empty table for a value": {
			"[log.level]\n",
			[]string{`resumed.toml:1: log.level: must be a string, in quotes`},
		},
		"one table for an array of tables": {
			"[agent]\nname = \"codex\"\n",
			[]string{`resumed.toml:1: agent: must be a section in double brackets: [[agent]]`},
		},
		"an array of tables for one table": {
			"[[backoff]]\nbase_delay = \"1s\"\n",
			[]string{`resumed.toml:1: backoff: must be a section in single brackets: [backoff]`},
		},
		"a size without a unit": {
			"[history]\nmax_size = \"64\"\n",
			[]string{`resumed.toml:2: history.max_size = "64": must be a size with a unit`},
		},
		"max_delay below base_delay": {
			"[backoff]\n\n\nmax_delay = \"10s\"\n",
			[]string{`resumed.toml:4: backoff.max_delay = "10s": must be at least base_delay (30s)`},
		},
		"the default of the other key is the problem": {
			"[log]\n[backoff]\nbase_delay = \"10m\"\n",
			[]string{`resumed.toml:2: backoff.max_delay = "5m" (not set here): must be at least base_delay (10m`},
		},
		"a policy's bad key stands in the policy": {
			"[[backoff.policy]]\nname = \"x\"\nbase_delay = \"-1s\"\n",
			[]string{`resumed.toml:3: backoff.policy[0].base_delay = "-1s": must be more than 0s`},
		},
		"what a policy inherits is told once": {
			"[backoff]\nmax_retries = 0\n[[backoff.policy]]\nname = \"x\"\n",
			[]string{`resumed.toml:2: backoff.max_retries = 0: must be at least 1`},
		},
		"an unknown class": {
			"[[backoff.policy]]\nname = \"x\"\nclasses = [\n\"rate_limit\",\n\"overload\"]\n",
			[]string{`resumed.toml:5: backoff.policy[0].classes[1] = "overload": must be one of`},
		},
		"all problems at once, in the order of the file": {
			"[http]\nlisten = \"nowhere\"\n[log]\nlevel = \"loud\"\nformt = 1\n[resume]\nlookback = \"0s\"\nstagger = 5\n",
			[]string{
				`resumed.toml:2: http.listen = "nowhere": must be host:port`,
				`resumed.toml:4: log.level = "loud": must be one of debug, info, warn, error`,
				`resumed.toml:5: log.formt: unknown key; did you mean format?`,
				`resumed.toml:7: resume.lookback = "0s": must be more than 0s`,
				`resumed.toml:8: resume.stagger = 5: must be a duration`,
			},
		},
		"a wrong type is not judged by its default too": {
			"[backoff]\nbase_delay = \"10m\"\nmax_delay = 900\n",
			[]string{`resumed.toml:3: backoff.max_delay = 900: must be a duration`},
		},
		"a bound that comes from a wrong key is not a second problem": {
			"[backoff]\nbase_delay = \"1x\"\nmax_delay = \"10s\"\nmax_elapsed = 12\nmax_retries = 0\n[[backoff.policy]]\nname = \"x\"\nmax_delay = \"5s\"\n",
			[]string{`resumed.toml:2: backoff.base_delay = "1x": must be a duration`, `resumed.toml:4: backoff.max_elapsed = 12: must be a duration`},
		},
		"a misspelled key is not missing too": {
			"[[notify.service]]\nnmae = \"x\"\nurl_flie = \"x.url\"\n[[agent]]\nname = \"mybot\"\nknid = \"custom\"\n[[backoff.policy]]\nname = 5\n[[agent]]\nname = \"codex\"\npolicy = \"mine\"\n[fleet]\nulr = \"tls://h:1\"\nname = \"desk\"\n",
			[]string{
				`resumed.toml:2: notify.service[0].nmae: unknown key; did you mean name?`, `resumed.toml:3: notify.service[0].url_flie: unknown key; did you mean url_file?`,
				`resumed.toml:6: agent[0].knid: unknown key; did you mean kind?`, `resumed.toml:8: backoff.policy[0].name = 5: must be a string`,
				`resumed.toml:13: fleet.ulr: unknown key; did you mean url?`,
			},
		},
		"another's home": {
			"[resume]\nexclude = [\"~bob/x\"]\n",
			[]string{`resumed.toml:2: resume.exclude[0] = "~bob/x": ~ stands for your own home only`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := complaints(t, tt.file)
			require.Len(t, got, len(tt.want), "%q", got)
			for i := range got {
				require.True(t, strings.HasPrefix(got[i], tt.want[i]), "%q", got[i])
			}
		})
	}
}

func TestProblemsAreValues(t *testing.T) {
	path := write(t, "[log]\nlevel = \"loud\"\nx = 1\n")
	_, err := Load(path, known)
	problems := err.(interface{ Unwrap() []error }).Unwrap()
	require.Len(t, problems, 2)
	require.Equal(t, &Problem{
		File: path, Line: 2, Column: 1, Key: "log.level", Value: `"loud"`,
		Want: "must be one of debug, info, warn, error",
	}, problems[0])

	_, err = Load(write(t, "["), known)
	var one *Problem
	require.ErrorAs(t, err, &one)
}

func TestUnreadableFiles(t *testing.T) {
	_, err := Load(filepath.Join(t.TempDir(), "none.toml"), known)
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = Load(t.TempDir(), known)
	require.ErrorContains(t, err, "is a directory")
	_, err = Load(write(t, strings.Repeat("#", largestFile+1)), known)
	require.ErrorContains(t, err, "not a configuration file")
}

// A wrong path in --config must not fill the memory.
func TestHostileDocumentsAreRefusedSoon(t *testing.T) {
	for name, file := range map[string]string{
		"a deep key":     strings.Repeat("a.", 50_000) + "a = 1",
		"a deep table":   "[" + strings.Repeat("a.", 50_000) + "a]",
		"deep in values": "a = " + strings.Repeat("{a = ", 5_000) + "1" + strings.Repeat("}", 5_000),
		"a long line":    "log = [" + strings.Repeat("{a = 1}, ", 20_000) + "]",
	} {
		t.Run(name, func(t *testing.T) {
			require.Len(t, complaints(t, file), 1)
		})
	}
}

func TestByteOrderMark(t *testing.T) {
	path := write(t, "\ufeff[log]\nlevel = \"debug\"\n")
	require.EqualError(t, At(path, []*Problem{{Key: "log.level", Want: "is too much"}}), path+":2: log.level: is too much")
	require.Equal(t, "debug", load(t, "\ufeff[log]\r\nlevel = \"debug\"\r\n").Log.Level)
}

func TestEnvironmentOverridesSingleValues(t *testing.T) {
	t.Setenv("RESUMED_LOG_LEVEL", "debug")
	t.Setenv("RESUMED_BACKOFF_BASE_DELAY", "5s")
	t.Setenv("RESUMED_BACKOFF_JITTER", "false")
	t.Setenv("RESUMED_BACKOFF_JITTER_PERCENT", "0.5")
	t.Setenv("RESUMED_RESUME_MAX_CONCURRENT", "3")
	t.Setenv("RESUMED_HISTORY_MAX_SIZE", "2MiB")
	t.Setenv("RESUMED_RESUME_HOURS", "09:00-17:30")
	t.Setenv("RESUMED_HTTP_LISTEN", "")
	c := load(t, "[log]\nlevel = \"error\"\n[[backoff.policy]]\nname = \"x\"\n[http]\nlisten = \"[::1]:1\"\n")
	require.Equal(t, "debug", c.Log.Level)
	require.Equal(t, 5*time.Second, c.Backoff.BaseDelay)
	require.Equal(t, 5*time.Second, c.Backoff.Policies[0].BaseDelay, "a named policy inherits what is in force")
	require.False(t, c.Backoff.Jitter)
	require.Equal(t, 0.5, c.Backoff.JitterPercent)
	require.Equal(t, 3, c.Resume.MaxConcurrent)
	require.Equal(t, Size(2<<20), c.History.MaxSize)
	require.Equal(t, Hours{9 * 60, 17*60 + 30}, c.Resume.Hours)
	require.Equal(t, "[::1]:1", c.HTTP.Listen, "an empty variable says nothing")
}

func TestBadEnvironmentNamesTheVariable(t *testing.T) {
	t.Setenv("RESUMED_LOG_LEVEL", "loud")
	t.Setenv("RESUMED_BACKOFF_BASE_DELAY", "30")
	t.Setenv("RESUMED_RESUME_MAX_CONCURRENT", "many")
	t.Setenv("RESUMED_BACKOFF_MAX_DELAY", "0s") // what is right here depends on the base
	require.ElementsMatch(t, []string{
		`RESUMED_LOG_LEVEL="loud": must be one of debug, info, warn, error`,
		`RESUMED_BACKOFF_BASE_DELAY="30": must be a duration with a unit, such as "30s", "5m", "12h" or "90d"`,
		`RESUMED_RESUME_MAX_CONCURRENT="many": must be a whole number`,
	}, complaints(t, "[log]\nlevel = \"info\"\n"))
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(configs.Template))
	f.Add([]byte(regexp.MustCompile(`(?m)^#(\S)`).ReplaceAllString(configs.Template, "$1")))
	f.Add([]byte("a.b.c = [{x=[[1],{}]}]\n[[t]]\n[t.u]\n[[t.u.v]]\n[[t]]\nk=nan"))
	f.Add([]byte("[backoff]\njitter_percent = nan\n[[backoff.policy]]\nclasses=[\"\"]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse("/etc/resumed/resumed.toml", data, known)
		if err != nil {
			_, told := errors.AsType[*Problem](err)
			require.True(t, told, "an error must say what is wrong: %v", err)
			return
		}
		again, err := Parse("/etc/resumed/resumed.toml", []byte(c.encode(false)), known)
		require.NoError(t, err)
		require.Equal(t, c, again, "what is shown is what is in force")
	})
}
