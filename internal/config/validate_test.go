package config

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
	"resumed/internal/prompt"
	"resumed/internal/resume"
)

const mybot = `
[[agent]]
name = "mybot"
kind = "custom"
files = ["/var/log/mybot/*.log"]
session = '([^/]+)\.log$'
limit = ['retry in (?P<after>\S+)', 'until (?P<at>.+)', 'class (?P<class>\w+)', 'limited$']
progress = ['^step ']
resume = ["mybot", "--resume", "{session}", "{prompt}", "--in={cwd}", '{"json": 1}']
`

const hook = `
[[notify.webhook]]
name = "ops"
url = "https://example.com/x"
`

const fleet = `
[fleet]
url = "tls://hub:4222"
credentials_file = "/etc/x"
name = "box"
`

func TestCustomAgent(t *testing.T) {
	c := load(t, mybot)
	a := c.Agent("mybot")
	require.True(t, a.Enabled)
	require.Equal(t, KindCustom, a.Kind)
	require.True(t, c.Agent("codex").Enabled, "a built-in agent needs no entry")
}

// Each case changes one thing in a good file, and only that is reported.
func TestImpossibleValues(t *testing.T) {
	for name, tt := range map[string]struct{ file, old, new, want string }{
		"negative margin":               {"[resume]\nX", "X", `margin = "-1s"`, `resume.margin = "-1s": must be 0s (none) or more`},
		"negative timeout":              {"[resume]\nX", "X", `timeout = "-1s"`, `resume.timeout = "-1s": must be 0s (no bound) or more`},
		"no lookback":                   {"[resume]\nX", "X", `lookback = "0s"`, `resume.lookback = "0s": must be more than 0s`},
		"a day of grace":                {"[resume]\nX", "X", `grace = "24h"`, `resume.grace = "24h": must be less than 24h`},
		"an empty prompt":               {"[resume]\nX", "X", `prompt = " "`, `resume.prompt = " ": must not be empty`},
		"nobody at a time":              {"[resume]\nX", "X", `max_concurrent = 0`, `resume.max_concurrent = 0: must be at least 1`},
		"no windows":                    {"[resume]\nX", "X", `max_windows = 0`, `resume.max_windows = 0: must be at least 1`},
		"fewer than no tokens":          {"[resume]\nX", "X", `max_cold_tokens = -1`, `resume.max_cold_tokens = -1: must not be negative; 0 is no bound`},
		"a rank of no directory":        {"[[resume.priority]]\nrank = 1\nX", "X", `dir = ""`, `resume.priority[0].dir`},
		"an empty prompt for a cause":   {"[[resume.prompt_for]]\nclasses = [\"overloaded\"]\nX", "X", `prompt = " "`, `resume.prompt_for[0].prompt = " ": must not be empty`},
		"a prompt for no cause":         {"[[resume.prompt_for]]\nprompt = \"go\"\nX", "X", `classes = []`, `resume.prompt_for[0].classes: must name at least one class`},
		"a prompt for your own stop":    {"[[resume.prompt_for]]\nprompt = \"go\"\nX", "X", `classes = ["cancelled"]`, `resume.prompt_for[0].classes[0] = "cancelled": is never resumed`},
		"two prompts for a cause":       {"[[resume.prompt_for]]\nprompt = \"go\"\nX", "X", `classes = ["network", "network"]`, `resume.prompt_for[0].classes[1] = "network": must have one prompt only: resume.prompt_for[0] has it too`},
		"an unknown word of a prompt":   {"[resume]\nX", "X", `prompt = "go on, {person}"`, `has the unknown placeholder {person}; placeholders here are {`},
		"no time for a digest":          {"[notify]\nevents = [\"digest\"]\nX", "X", `digest_at = "7"`, `notify.digest_at = "7": must be a time of day`},
		"a text that does not parse":    {hook + "X", "X", `text = "{{.Text"`, `notify.webhook[0].text = "{{.Text": must be a text/template`},
		"live":                          {"[resume]\nX", "X", `live = "typ"`, `resume.live = "typ": must be one of type, notify, ignore; did you mean type?`},
		"closed":                        {"[resume]\nX", "X", `closed = "park"`, `resume.closed = "park": must be one of resume, leave`},
		"weekly reserve":                {"[resume]\nX", "X", `weekly_reserve = 100`, `resume.weekly_reserve = 100: must be a number of percent, 0 (none) to 99`},
		"newcomer":                      {"[resume]\nX", "X", `newcomer = "always"`, `resume.newcomer = "always": must be one of interactive, any, never`},
		"a rank before the first":       {"[[resume.priority]]\ndir = \"/a\"\nX", "X", `rank = 0`, `resume.priority[0].rank = 0: must be at least 1, which goes first`},
		"order":                         {"[resume]\nX", "X", `order = "random"`, `resume.order = "random": must be one of oldest, newest`},
		"hours":                         {"[resume]\nX", "X", `hours = "22-8"`, `resume.hours = "22-8": must be a span of the day, such as "22:00-08:00"`},
		"included and excluded":         {"[resume]\nX", "X", "include = [\"/a\"]\nexclude = [\"/a\"]", `resume.include[0] = "/a": is in resume.exclude too`},
		"an empty directory":            {"[resume]\nX", "X", `include = [""]`, `resume.include[0] = "": must not be empty`},
		"log format":                    {"[log]\nX", "X", `format = "xml"`, `log.format = "xml": must be one of auto, text, json`},
		"no retries":                    {"[backoff]\nX", "X", `max_retries = 0`, `backoff.max_retries = 0: must be at least 1`},
		"no base delay":                 {"[backoff]\nX", "X", `base_delay = "0s"`, `backoff.base_delay = "0s": must be more than 0s`},
		"strategy":                      {"[backoff]\nX", "X", `strategy = "exponental"`, `backoff.strategy = "exponental": must be one of fixed, linear, exponential; did you mean exponential?`},
		"jitter mode":                   {"[backoff]\nX", "X", `jitter_mode = "some"`, `backoff.jitter_mode = "some": must be one of symmetric, additive, full, equal`},
		"more jitter than delay":        {"[backoff]\nX", "X", `jitter_percent = 10`, `backoff.jitter_percent = 10: must be between 0.0 and 1.0: 0.1 is 10 %`},
		"no number":                     {"[backoff]\nX", "X", `jitter_percent = nan`, `backoff.jitter_percent = nan: must be between 0.0 and 1.0: 0.1 is 10 %`},
		"negative exponent":             {"[backoff]\nX", "X", `max_exponent = -1`, `backoff.max_exponent = -1: must be`},
		"a policy without a name":       {"[[backoff.policy]]\nX", "X", ``, `backoff.policy[0].name: must be set`},
		"a policy named default":        {"[[backoff.policy]]\nX", "X", `name = "default"`, `"default" is [backoff] itself`},
		"two policies of one name":      {"[[backoff.policy]]\nname = \"a\"\n[[backoff.policy]]\nX", "X", `name = "a"`, `backoff.policy[1].name = "a": must be unique: backoff.policy[0] has it too`},
		"two policies for one class":    {"[[backoff.policy]]\nname = \"a\"\nclasses = [\"network\"]\n[[backoff.policy]]\nX", "X", "name = \"b\"\nclasses = [\"network\"]", `must be in one policy only: "a" has it too`},
		"a class that is never retried": {"[[backoff.policy]]\nX", "X", "name = \"b\"\nclasses = [\"cancelled\"]", `is never retried`},

		"an unknown policy":                {"[[agent]]\nname = \"codex\"\nX", "X", `policy = "defualt"`, `agent[0].policy = "defualt": must be one of`},
		"two entries for one agent":        {"[[agent]]\nname = \"codex\"\nX", "X", "[[agent]]\nname = \"codex\"", `agent[1].name = "codex": must be unique: agent[0] has it too`},
		"a name with a colon":              {mybot, `"mybot"`, `"my:bot"`, `agent[0].name = "my:bot": must be letters, digits`},
		"a misspelled built-in agent":      {"[[agent]]\nX", "X", `name = "claude"`, `agent[0].name = "claude": is not built in; did you mean claude-code?`},
		"a built-in agent made custom":     {"[[agent]]\nname = \"codex\"\nX", "X", `kind = "custom"`, `agent[0].kind = "custom": must not be set: codex is built in`},
		"a built-in agent with files":      {"[[agent]]\nname = \"codex\"\nX", "X", `files = ["/x"]`, `agent[0].files: is for custom agents only`},
		"another model for codex":          {"[[agent]]\nname = \"codex\"\nX", "X", `fallback_model = "sonnet"`, `agent[0].fallback_model = "sonnet": is for claude-code only`},
		"another model that is an option":  {"[[agent]]\nname = \"claude-code\"\nX", "X", `fallback_model = "--yolo"`, `must be the name of a model`},
		"an environment without a key":     {"[[agent]]\nname = \"codex\"\nX", "X", `env = ["hunter2"]`, `agent[0].env[0]: must be "KEY=value"`},
		"another kind":                     {mybot, `"custom"`, `"costum"`, `agent[0].kind = "costum": must be "custom"`},
		"no files":                         {mybot, `files = ["/var/log/mybot/*.log"]`, ``, `agent[0].files: must name the files`},
		"a glob of any depth":              {mybot, `/*.log"]`, `/**/*.log"]`, `agent[0].files[0] = "/var/log/mybot/**/*.log": has **, which is not known here`},
		"a bad glob":                       {mybot, `*.log"]`, `[.log"]`, `agent[0].files[0] = "/var/log/mybot/[.log": must be a path or a pattern`},
		"no session":                       {mybot, `session = '([^/]+)\.log$'`, ``, `agent[0].session: must be a regexp with a group`},
		"a session without a group":        {mybot, `'([^/]+)\.log$'`, `'[^/]+\.log$'`, `must have a group that is the session's id`},
		"a session with cwd alone":         {mybot, `'([^/]+)\.log$'`, `'(?P<cwd>.*)'`, `must have a group that is the session's id, beside the group cwd`},
		"a session with a time":            {mybot, `'([^/]+)\.log$'`, `'(?P<session>.)(?P<at>.)'`, `has the group at; groups here are session, cwd`},
		"a regexp that does not compile":   {mybot, `'([^/]+)\.log$'`, `'([^/]+\.log$'`, "agent[0].session = \"([^/]+\\\\.log$\": must be a regexp: missing closing ): `([^/]+\\.log$`"},
		"no limit":                         {mybot, `['retry in (?P<after>\S+)', 'until (?P<at>.+)', 'class (?P<class>\w+)', 'limited$']`, `[]`, `agent[0].limit: must have a regexp`},
		"an unknown group":                 {mybot, `(?P<class>\w+)`, `(?P<klass>\w+)`, `agent[0].limit[2] = `},
		"both after and at":                {mybot, `(?P<after>\S+)`, `(?P<after>\S+) (?P<at>\S+)`, `must have the group after or the group at, not both`},
		"a limit that matches all":         {mybot, `'limited$'`, `''`, `agent[0].limit[3] = "": must not be empty`},
		"no resume":                        {mybot, `resume = ["mybot", `, `#`, `agent[0].resume: must be the command`},
		"an empty program":                 {mybot, `["mybot", `, `["", `, `agent[0].resume[0] = "": must be a program`},
		"a program from the transcript":    {mybot, `["mybot", `, `["{session}", `, `must be a fixed program, without a placeholder`},
		"an unknown placeholder":           {mybot, `{prompt}`, `{promt}`, `agent[0].resume[3] = "{promt}": has the placeholder {promt}; valid here: {session}, {prompt}, {cwd}`},
		"a start without the id":           {mybot, `resume =`, "start = [\"mybot\", \"{prompt}\"]\nresume =", `agent[0].start: must have the placeholder {session}`},
		"a start with another placeholder": {mybot, `resume =`, "start = [\"mybot\", \"{session}\", \"{prompt}\", \"{model}\"]\nresume =", `agent[0].start[3] = "{model}": has the placeholder {model}; valid here: {session}, {prompt}, {cwd}`},
		"a start for a built-in agent":     {"[[agent]]\nname = \"codex\"\nX", "X", `start = ["codex"]`, `agent[0].start: is for custom agents only`},
		"a custom agent with roots":        {mybot, `kind =`, "roots = [\"/x\"]\nkind =", `agent[0].roots: is for built-in agents only`},
		"an unknown event":                 {"[notify]\nX", "X", `events = ["gaveup"]`, `notify.events[0] = "gaveup": must be one of gave_up, parked, cut_off, silent, limited, retrying, recovered, config_error, state_error, digest, usage, host_gone, test; did you mean gave_up?`},
		"a channel's unknown event":        {hook + "X", "X", `events = ["x"]`, `notify.webhook[0].events[0] = "x"`},
		"channels of one name":             {hook + "X", "X", "[[notify.desktop]]\nname = \"ops\"", `notify.webhook[0].name = "ops": must be unique: notify.desktop[0] has it too`},
		"a channel without a name":         {hook, `name = "ops"`, ``, `notify.webhook[0].name: must be set`},
		"no url":                           {hook, `url = "https://example.com/x"`, ``, `notify.webhook[0].url: must be set, here or by url_file`},
		"url and url_file":                 {hook + "X", "X", `url_file = "x"`, `notify.webhook[0].url_file: must not be set beside url`},
		"secret and secret_file":           {hook + "X", "X", "secret = \"s\"\nsecret_file = \"/f\"", `must not be set beside secret`},
		"no time for a webhook":            {hook + "X", "X", `timeout = "0s"`, `notify.webhook[0].timeout = "0s": must be more than 0s`},
		"a template that does not parse":   {hook + "X", "X", `title = "{{.Title"`, `notify.webhook[0].title = "{{.Title": must be a text/template`},
		"a command that is none":           {"[[notify.command]]\nname = \"p\"\nX", "X", `run = []`, `notify.command[0].run: must be a command`},
		"nothing is kept":                  {"[history]\nX", "X", `keep = "0s"`, `history.keep = "0s": must be more than 0s`},
		"no ended session is kept":         {"[history]\nX", "X", `ended_keep = "0s"`, `history.ended_keep = "0s": must be more than 0s`},
		"hardly any output is kept":        {"[history]\nX", "X", `runs_max_size = "1kB"`, `history.runs_max_size = "1kB": must be at least 1MiB`},
		"hardly anything is kept":          {"[history]\nX", "X", `max_size = "1kB"`, `history.max_size = "1kB": must be at least 1MiB`},
		"what a fleet is told":             {fleet, "name", "share = \"all\"\nname", `fleet.share = "all": must be one of facts, texts`},
		"a heartbeat of nobody":            {fleet, "name", "heartbeat = \"2h\"\nname", `fleet.heartbeat = "2h": must be 1s to 1m`},
		"who takes over":                   {fleet, "name", "takeover = \"never\"\nname", `fleet.takeover = "never": must be one of ask, auto`},
		"a fleet without words":            {fleet, "tls://hub:4222", "hub:4222", `fleet.url = "hub:4222": must be "tls://host:port"`},
		"a fleet in clear":                 {fleet, "tls://hub", "nats://hub", `fleet.url = "nats://hub:4222": must begin with tls://`},
		"a fleet with a password":          {fleet, "tls://hub", "tls://me:secret@hub", `must be "tls://host:port"`},
		"a host without a key":             {fleet, `credentials_file = "/etc/x"`, ``, `fleet.credentials_file: must be set`},
		"a host of two parts":              {fleet, `"box"`, `"box.lan"`, `fleet.name = "box.lan": must be letters`},
		"a host without a fleet":           {"[fleet]\nX", "X", `name = "box"`, `fleet.name: has no effect without url`},
		"an account that is no name":       {mybot, "kind =", "account = \"a b\"\nkind =", `agent[0].account = "a b": must be letters`},
		"a port alone":                     {"[http]\nX", "X", `listen = "7733"`, `http.listen = "7733": must be host:port`},
		"a port that cannot be":            {"[http]\nX", "X", `listen = "localhost:70000"`, `http.listen = "localhost:70000": must be host:port`},
		"a duration that is too long":      {"[resume]\nX", "X", `timeout = "99999999d"`, `must be shorter than 292 years`},
		"a name that could be an option":   {mybot, `"mybot"`, `"-bot"`, `agent[0].name = "-bot": must be letters`},
		"a key that only looks like [log]": {"X", "X", `logs = 1`, `logs: unknown key; did you mean log?`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Load(write(t, strings.ReplaceAll(tt.file, "X", "")), known)
			if strings.Contains(tt.file, "limit = [") || strings.Contains(tt.file, "url =") {
				require.NoError(t, err, "the file must be good before the change")
			}
			require.Contains(t, tt.file, tt.old)
			got := complaints(t, strings.Replace(tt.file, tt.old, tt.new, 1))
			require.Contains(t, strings.Join(got, "\n"), tt.want)
			require.Len(t, got, 1, "one mistake, one problem: %q", got)
			require.Regexp(t, `^resumed\.toml:\d+: `, got[0], "every problem has its line")
		})
	}
}

func TestWhatIsSetIsInForce(t *testing.T) {
	c := load(t, `
[log]
level = "debug"
[resume]
prompt = "go on"
[[resume.prompt_for]]
classes = ["network", "overloaded"]
prompt = "the line is back"
`)
	require.Equal(t, slog.LevelDebug, c.Log.SlogLevel())
	require.Equal(t, prompt.Prompts{Usual: "go on", For: map[limit.Class]string{
		limit.Network: "the line is back", limit.Overloaded: "the line is back",
	}}, c.Resume.Prompts())
}

func TestZeroIsAllowedWhereItMeansSomething(t *testing.T) {
	c := load(t, `
[resume]
margin = "0s"
grace = "0s"
settle = "0s"
stagger = "0s"
stall = "0s"
timeout = "0s"
max_wait = "0s"
overdue = "0s"
[notify]
group_wait = "0s"
events = []
`)
	require.Zero(t, c.Resume.Timeout)
	require.Zero(t, c.Notify.GroupWait)
	require.Empty(t, c.Notify.Events)
	require.Empty(t, c.Notify.Desktop[0].Events, "who wants to hear nothing hears nothing")
}

func TestDirectoriesOfRank(t *testing.T) {
	rules := load(t, "[[resume.priority]]\ndir = \"/work/release\"\nrank = 1\n[[resume.priority]]\ndir = \"/work\"\nrank = 2\n").Rules()
	require.Equal(t, []resume.Priority{{Dir: "/work/release", Rank: 1}, {Dir: "/work", Rank: 2}}, rules.Priority)
}

func TestBoundsThemselvesAreAllowed(t *testing.T) {
	for _, text := range []string{
		"[resume]\nmax_concurrent = 1\nmax_windows = 1\nweekly_reserve = 99",
		"[history]\nmax_size = \"1MiB\"",
	} {
		load(t, text)
	}
	for _, name := range []string{"localhost:1", "127.0.0.1:8377", "[::1]:0"} {
		require.True(t, loopback(name), name)
	}
	for _, name := range []string{"", "localhost", "example.org:80", ":80", "0.0.0.0:80", "192.168.1.2:80"} {
		require.False(t, loopback(name), name)
	}
	for text, want := range map[string]string{`"a"`: "a", `'a'`: "a", `""`: "", `"`: `"`, `'a"`: `'a"`, `aba`: "aba", "": ""} {
		require.Equal(t, want, unquote(text), text)
	}
}

// What the engine is told of the settings.
func TestSettingsAreRules(t *testing.T) {
	rules := load(t, "").Rules()
	require.Nil(t, rules.NextAllowed, "at any hour")
	require.Equal(t, map[string]bool{}, rules.Parallel)
	require.Empty(t, rules.ByAgent)

	c := load(t, "[resume]\nhours = \"22:00-06:00\"\n[[agent]]\nname = \"codex\"\npolicy = \"outage\"\n"+mybot)
	rules = c.Rules()
	noon := time.Date(2026, 11, 15, 12, 0, 30, 5, time.Local)
	require.Equal(t, time.Date(2026, 11, 15, 22, 0, 0, 0, time.Local), rules.NextAllowed(noon))
	require.Equal(t, map[string]bool{"mybot": true}, rules.Parallel)
	require.Len(t, rules.ByAgent, 1)
	outage, _ := c.NamedPolicy(outagePolicy)
	require.Equal(t, resume.Policy{Name: outagePolicy, Policy: outage}, rules.ByAgent["codex"])
	require.Empty(t, c.Failovers())

	for retries, want := range map[int]int{0: unknownTries, 1: 1, unknownTries: unknownTries, 9: unknownTries} {
		c := load(t, fmt.Sprintf("[backoff]\nmax_retries = %d\nmax_elapsed = \"1h\"\n", retries))
		require.Equal(t, want, c.Policy("", limit.Unknown).MaxRetries, retries)
	}
}
