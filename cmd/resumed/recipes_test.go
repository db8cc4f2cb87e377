package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/configs"
	"resumed/internal/agents"
	"resumed/internal/config"
)

// understood is what the description finds out about a session.
type understood struct {
	Session   string     `json:"session"`
	Class     string     `json:"class"`
	WaitHelps bool       `json:"wait_helps"`
	Cwd       string     `json:"cwd"`
	Reset     *time.Time `json:"reset_at"`
}

// Every description of an agent is valid, and understands that agent's files. Some lines of
// Droid's log are made up: from its screen, from the start of another session, and refusals of Factory's own models, by what is read in the program.
func TestEveryRecipeReadsWhatItsAgentWrote(t *testing.T) {
	t.Parallel()
	require.NotEmpty(t, configs.Recipes())
	for _, name := range configs.Recipes() {
		t.Run(name, func(t *testing.T) {
			b := newBox(t)
			from := filepath.Join("testdata", "recipes", name)
			require.NoError(t, os.CopyFS(b.path(), os.DirFS(filepath.Join(from, "home"))))
			b.write("bin/"+name, "#!/bin/sh\n") // else there is a warning that the program is missing
			_, errOut, code := b.run("config", "init", "--agent", name)
			require.Zero(t, code, errOut)
			out, errOut, code := b.run("config", "check")
			require.Zero(t, code, errOut)
			require.Empty(t, errOut, "nor a warning")
			require.Contains(t, out, ": ok")

			var want struct {
				File     string       `json:"file"` // below the home
				Sessions []understood `json:"sessions"`
			}
			text, err := os.ReadFile(filepath.Join(from, "want.json"))
			require.NoError(t, err)
			require.NoError(t, json.Unmarshal(text, &want))
			out, errOut, code = b.run("explain", "--agent", name, "--json", b.path(want.File))
			require.Zero(t, code, errOut)
			var got []understood
			for said := json.NewDecoder(strings.NewReader(out)); said.More(); {
				var one understood
				require.NoError(t, said.Decode(&one))
				got = append(got, one)
			}
			require.ElementsMatch(t, want.Sessions, got)
		})
	}
}

// A resume may do without asking only what the session might, so no description adds a flag that allows
// more.
func TestNoRecipeAllowsMore(t *testing.T) {
	for _, name := range configs.Recipes() {
		recipe, ok := configs.Recipe(name)
		require.True(t, ok)
		require.Regexp(t, `^# .+\n# (Tried|Not tried): `, recipe, "it says first what was tried")
		path := filepath.Join(t.TempDir(), "resumed.toml")
		require.NoError(t, os.WriteFile(path, []byte(recipe), 0o600))
		cfg, err := config.Load(path, agents.Known())
		require.NoError(t, err)
		require.Len(t, cfg.Agents, 1)
		require.Equal(t, name, cfg.Agents[0].Name)
		allows := regexp.MustCompile(`(?i)yolo|danger|unsafe|skip|bypass|allow|approve|--yes|--auto|--force|trust`)
		for _, arg := range cfg.Agents[0].Resume {
			require.False(t, allows.MatchString(arg), "%s: %s", name, arg)
		}
	}
}

func TestARecipeIsAddedToWhatIsThere(t *testing.T) {
	b := newBox(t)
	_, errOut, code := b.run("config", "init", "--agent", "nosuch")
	require.Equal(t, 2, code)
	require.Contains(t, errOut, `--agent "nosuch": there is no description of it`)
	require.Contains(t, errOut, "Try: one of: droid")
	require.NoFileExists(t, b.path(configFile))

	const mine = "# mine\n[resume]\nprompt = \"go on\"\n"
	b.write(configFile, mine)
	require.NoError(t, os.Chmod(b.path(configFile), 0o640))
	out, errOut, code := b.run("config", "init", "--agent", "droid")
	require.Zero(t, code, errOut)
	require.Contains(t, out, "added droid to ")
	recipe, _ := configs.Recipe("droid")
	require.Equal(t, mine+"\n"+recipe, b.read(configFile))
	info, err := os.Stat(b.path(configFile))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o640), info.Mode().Perm())

	_, errOut, code = b.run("config", "init", "--agent", "droid")
	require.Equal(t, 1, code)
	require.Contains(t, errOut, "already has an [[agent]] named droid, and was not changed")
	require.Equal(t, mine+"\n"+recipe, b.read(configFile))

	b.write(configFile, "nonsense = 1\n")
	_, errOut, code = b.run("config", "init", "--agent", "droid")
	require.Equal(t, 2, code)
	require.Contains(t, errOut, "nonsense")
	require.Equal(t, "nonsense = 1\n", b.read(configFile), "a file that is wrong is not made longer")
	require.Equal(t, configs.Recipes(), b.offered("config", "init", "--agent", ""))
}
