package leash

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

var table = Flags{
	{Effect: Restricts, Takes: Many, Names: "--deny"},
	{Effect: Restricts, Takes: One | Path, Names: "--settings"},
	{Effect: Grants, Takes: Many | Path, Names: "--add-dir"},
	{Effect: Selects, Takes: One, Names: "-m --model"},
	{Effect: Account, Takes: One | Secret, Names: "--api-key"},
	{Effect: Mode, Takes: One, Names: "--mode"},
	{Effect: Nothing, Takes: Alone, Names: "--verbose"},
	{Effect: Once, Takes: One, Names: "-p --prompt"},
	{Effect: Attended, Takes: Alone, Names: "--ide"},
	{
		Takes: One, Names: "-c --config",
		By: func(value string) Effect {
			if strings.HasPrefix(value, "colour=") {
				return Nothing
			}
			return Restricts
		},
		Hides: func(value string) bool { return strings.HasPrefix(value, "cookie=") },
	},
}

func TestWhatOfACommandLineIsKept(t *testing.T) {
	line := []string{"-p", "my plans", "--deny", "a", "b", "--api-key", "hunter22", "--settings={\"api_key\":\"hunter2\"}", "--verbose", "do it"}
	kept := table.Storable(line, false)
	require.Equal(t, []string{"-p=" + Hidden, "--deny", "a", "b", "--api-key", Hidden, "--settings=" + Hidden, "--verbose"}, kept)
	require.NotContains(t, strings.Join(kept, " "), "hunter2")
	require.Contains(t, table.Carry(resume.Origin{Args: kept}).Args, "--deny", "what is left of a prompt does not swallow what follows it")
	require.Equal(t, []string{"--api-key", "hunter22"}, table.Storable([]string{"--api-key", "hunter22"}, true), "who wants secrets kept gets that")
}

func TestOfAPairTheKeyIsKept(t *testing.T) {
	for line, want := range map[string]string{
		"-c web=off":                "-c web=off",
		"-c cookie=x":               "-c cookie=" + Hidden,
		"-ccookie=x":                "-c=cookie=" + Hidden,
		"--config=cookie=x":         "--config=cookie=" + Hidden,
		"-c a.bearer_token=abcdefg": "-c a.bearer_token=" + Hidden,
	} {
		kept := table.Storable(strings.Fields(line), false)
		require.Equal(t, want, strings.Join(kept, " "))
		require.Equal(t, strings.Contains(want, Hidden), len(table.Carry(resume.Origin{Args: kept}).Missing) > 0, line)
	}
}

func TestWhatAResumeRepeats(t *testing.T) {
	for name, c := range map[string]struct {
		args, newer   []string
		repeated      []string
		left, missing []string
	}{
		"restrictions, grants and choices, as they were": {
			args:     []string{"--deny", "x", "y", "--add-dir", "/lib", "-m", "opus"},
			repeated: []string{"--deny", "x", "y", "--add-dir", "/lib", "-m", "opus"},
		},
		"a flag that nobody knows restricts":        {args: []string{"--new", "x", "--verbose", "--newer=y"}, repeated: []string{"--new", "x", "--newer=y"}},
		"one whose value may be a prompt":           {args: []string{"--new", "fix the tests"}, missing: []string{"--new"}},
		"never a prompt":                            {args: []string{"-p", "--verbose", "--prompt"}},
		"what has a newer value is the room's":      {args: []string{"-m", "opus", "--deny", "x"}, newer: []string{"-m", "--model"}, repeated: []string{"--deny", "x"}},
		"a mode is the room's":                      {args: []string{"--mode", "yolo"}},
		"a relative path is from where it began":    {args: []string{"--settings", "s.json", "--add-dir", "a", "/b"}, repeated: []string{"--settings", "/src/s.json", "--add-dir", "/src/a", "/b"}},
		"a document is no path":                     {args: []string{"--settings", `{"a":1}`}, repeated: []string{"--settings", `{"a":1}`}},
		"a secret that was not kept":                {args: []string{"--api-key", Hidden}, missing: []string{"--api-key " + Hidden}},
		"a grant that was not kept is done without": {args: []string{"--add-dir", Hidden}, left: []string{"--add-dir " + Hidden}},
		"what needs somebody at its other end":      {args: []string{"--ide"}, left: []string{"--ide"}},
		"by the value":                              {args: []string{"-c", "colour=red", "-ccolour=red", "--config=colour=red", "-cweb=off"}, repeated: []string{"-cweb=off"}},
	} {
		t.Run(name, func(t *testing.T) {
			what := func(all []Omission) (words []string) {
				for _, o := range all {
					words = append(words, o.What)
				}
				return words
			}
			got := table.Carry(resume.Origin{Args: c.args, Cwd: "/src", ArgsSeen: true}, c.newer...)
			require.Equal(t, c.repeated, got.Args)
			require.Equal(t, c.left, what(got.LeftOut))
			require.Equal(t, c.missing, what(got.Missing))
		})
	}
}

var surroundings = slices.Concat(Variables{
	{Effect: Nothing, Names: "BOT_ENTRYPOINT"},
	{Effect: Account, Names: "BOT_BASE_URL BOT_API_KEY"},
	{Effect: Restricts, Names: "BOT_*"},
}, Common)

// As yargs parses a command line, which several agents use.
func TestSwitchesAndClusters(t *testing.T) {
	flags := Flags{
		{Effect: Grants, Takes: Switch, Names: "-y --yolo"},
		{Effect: Restricts, Takes: Switch, Names: "-s --sandbox"},
		{Effect: Once, Takes: Maybe, Names: "-p --prompt"},
		{Effect: Nothing, Takes: Alone, Names: "-d"},
	}
	for line, want := range map[string]string{
		"--yolo false fix":         "--yolo false | fix",
		"--yolo fix":               "--yolo | fix",
		"--no-sandbox fix":         "--no-sandbox | fix",
		"-yp fix it":               "-y -p fix | it",
		"-dsy true":                "-d -s -y true |",
		"-yx fix":                  "-yx fix |",
		"--sandbox=true -s true x": "--sandbox=true -s true | x",
	} {
		parsed := flags.Parse(strings.Fields(line))
		got := strings.Join(parsed.Options(), " ") + " | " + strings.Join(parsed.Plain(), " ")
		require.Equal(t, want, strings.TrimSpace(got), line)
	}
	carried := flags.Carry(resume.Origin{Args: flags.Storable(strings.Fields("-yp secret --no-sandbox"), false), ArgsSeen: true})
	require.Equal(t, []string{"-y", "--no-sandbox"}, carried.Args)
}

// A name in the table is neither a cluster of letters nor a letter with its value.
func TestAShortNameOfSeveralLettersIsItself(t *testing.T) {
	table := Flags{
		{Effect: Restricts, Takes: Alone, Names: `-nt -nc`},
		{Effect: Once, Takes: One, Names: `-n`},
		{Effect: Once, Takes: Alone, Names: `-c`},
	}
	for _, name := range []string{"-nt", "-nc"} {
		line := table.Parse([]string{name, "-n", "x"})
		require.True(t, line.Has(name))
		require.Equal(t, "x", line.Value("-n"))
		require.Equal(t, []string{name}, table.Carry(resume.Origin{Args: []string{name, "-n", "x"}, ArgsSeen: true}).Args)
	}
}

func TestWhatOfAnEnvironmentIsKept(t *testing.T) {
	kept, salt := surroundings.Storable([]string{
		"BOT_API_KEY=sk-1234567890", "BOT_BASE_URL=http://x", "BOT_DENY=all", "BOT_ENTRYPOINT=cli", "EDITOR=vi",
		"HTTPS_PROXY=http://me:hunter2@proxy", "BOT_MAX_TOKENS=64000", "PATH=/bin", "", "BOT_DENY=twice",
	}, false)
	require.NotEmpty(t, salt)
	all := make(map[string]string)
	for _, v := range kept {
		all[v.Name] = v.Value
		require.True(t, (v.Value == "") != (v.Hash == ""), v.Name)
	}
	require.Equal(t, map[string]string{
		"BOT_API_KEY": "", "HTTPS_PROXY": "", "BOT_BASE_URL": "http://x", "BOT_DENY": "all", "BOT_MAX_TOKENS": "64000", "PATH": "/bin",
	}, all)
}

func TestTheEnvironmentOfAResumeIsTheOneThatTheSessionHad(t *testing.T) {
	had := []string{"BOT_API_KEY=sk-of-the-session", "BOT_DENY=all", "PATH=/mine"}
	kept, salt := surroundings.Storable(had, false)
	o := resume.Origin{Env: kept, Salt: salt, EnvSeen: true}

	env := surroundings.Carry(o, []string{"BOT_API_KEY=sk-of-the-daemon", "BOT_BASE_URL=http://elsewhere", "PATH=/usr/bin", "EDITOR=vi"}, nil)
	require.Len(t, env.Missing, 1)
	require.Contains(t, env.Missing[0].String(), "BOT_API_KEY: another account would be used")
	require.Equal(t, []string{"BOT_BASE_URL"}, env.Unset)
	require.NotContains(t, strings.Join(env.Set, " "), "daemon")

	env = surroundings.Carry(o, []string{"BOT_API_KEY=sk-of-the-daemon"}, []string{"BOT_API_KEY=sk-of-the-session", "BOT_COLOUR=red", "BOT_DENY=none"})
	require.Empty(t, env.Missing, "the user's own file has it")
	require.Equal(t, []string{"BOT_API_KEY=sk-of-the-session", "BOT_DENY=all", "PATH=/mine"}, env.Set)
	require.Empty(t, env.Unset, "what the user wants for resumed runs, and asks nobody else, stays")
}

func TestSecretsAreKnownBySight(t *testing.T) {
	for _, secret := range []string{
		"sk-ant-REDACTED", `{"env":{"ANTHROPIC_AUTH_TOKEN":"abcdef123"}}`, "http://u:p@host", "/bin:http://u:p@host", "proxy=http://u:p@host", "Authorization: Bearer abcdefgh",
		`{"headers":{"x-api-key":"a123456789"}}`, "mcp_servers.x.bearer_token=\"abcdefgh\"",
	} {
		require.True(t, IsSecret(secret), secret)
	}
	for _, plain := range []string{
		"", "opus", "never print the token anywhere", "ask for a password before you begin", "Bash(touch:*)", `{"permissions":{"deny":["Bash"]}}`, "http://host/path", "/bin:http://host/me@here", "model_max_output_tokens=128000", "/home/u/.keys/settings.json",
		`{"apiKeyHelper":"/bin/helper"}`, "git@github.com:x/y",
	} {
		require.False(t, IsSecret(plain), plain)
	}
}

func TestSecretsOfAWrapperAreHidden(t *testing.T) {
	line := []string{"podman", "run", "-e", "ANTHROPIC_API_KEY=abcdefgh", "--env=MY_TOKEN=abc", "-v", "/a:/b", "--proxy", "http://u:p@host", "-e", "COLOUR=red", "box", "bot"}
	shown := Hide(line)
	require.Equal(t, []string{"podman", "run", "-e", "ANTHROPIC_API_KEY=" + Hidden, "--env=MY_TOKEN=" + Hidden, "-v", "/a:/b", "--proxy", Hidden, "-e", "COLOUR=red", "box", "bot"}, shown)
	require.True(t, Hides(shown))
	require.False(t, Hides(line))
}

// A value is never read as a flag, whatever it begins with.
func TestNoValueIsReadAsAFlag(t *testing.T) {
	require.Equal(t, []string{"-c", "--", "--yolo"}, WithPrompt([]string{"-c"}, "--yolo"))
	require.Equal(t, []string{"-c", "go on"}, WithPrompt([]string{"-c"}, "go on"))
	require.Equal(t, []string{"--prompt=--yolo"}, WithValue(nil, "-p", "--prompt", "--yolo"))
	require.Equal(t, []string{"-p", "go on"}, WithValue(nil, "-p", "--prompt", "go on"))
	for _, model := range []string{"", "--yolo", "a b", "$(x)"} {
		require.Empty(t, WithModel(nil, model), model)
	}
	require.Equal(t, []string{"--model", "anthropic/opus-4.5:high"}, WithModel(nil, "anthropic/opus-4.5:high"))

	line := table.Parse([]string{"--model", "--verbose", "--deny", "x"})
	require.False(t, line.Has("--verbose"), "it is the model")
	require.Equal(t, []string{"--model", "--verbose", "--deny", "x"}, table.Carry(resume.Origin{Args: []string{"--model", "--verbose", "--deny", "x"}}).Args)
	require.Equal(t, "new", table.Parse([]string{"-m", "old", "--model", "new"}).Value("-m", "--model"), "the last one counts")
}

func TestAPromptLeavesNoTrace(t *testing.T) {
	flags := Flags{{Effect: Once, Takes: Many | Path, Names: "--files"}, {Effect: Restricts, Takes: One | Path, Names: "--settings"}}
	line := []string{"--files", "/a", "/b", "--settings", "s.json"}
	require.Equal(t, []string{"--files", "--settings", "s.json"}, flags.Storable(line, true))
	require.Equal(t, []string{"/src/s.json"}, flags.Files(line, "/src"), "a file of that one start may go")
}

func TestWhatOfAnEnvironmentIsSecret(t *testing.T) {
	long := strings.Repeat("x", longest+1)
	environ := []string{"BOT_DENY=" + long, "PATH=/home/sk-1234567890abc/bin", "BOT_TOKEN=short", "BOT_COOKIE=longer"}
	kept, salt := surroundings.Storable(environ, false)
	shown := make(map[string]string)
	for _, v := range kept {
		shown[v.Name] = v.Value
	}
	require.Equal(t, map[string]string{"BOT_DENY": "", "PATH": "", "BOT_TOKEN": "short", "BOT_COOKIE": ""}, shown)
	again, other := surroundings.Storable(environ, false)
	require.NotEqual(t, salt, other, "two sessions with one key cannot be told by it")
	require.NotEqual(t, kept, again)
}

// What only the program gives that started a session cannot be given again by a resume.
func TestAVariableOfAnotherProgramIsMissing(t *testing.T) {
	table := Variables{{Effect: Attended, Names: "IDE_PORT", Plain: true}, {Effect: Account, Names: "BOT_KEY"}}
	had, salt := table.Storable([]string{"IDE_PORT=7"}, false)
	env := table.Carry(resume.Origin{Env: had, Salt: salt}, []string{"IDE_PORT=7"}, []string{"BOT_KEY=of-the-user"})
	require.Len(t, env.Missing, 1)
	require.Equal(t, []string{"BOT_KEY"}, env.Unset, "a session without a key gets none, whoever configured it")

	require.Equal(t, Environment{Set: []string{"A=1"}, Unset: []string{"B"}}, Environment{Set: []string{"A=1", "HOME=/x"}, Unset: []string{"B", "PATH"}}.Without(Places))
	require.NotNil(t, table.Others(nil, salt), "none is known, which is not the same as not known")
}
