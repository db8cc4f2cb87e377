package program_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/program"
	"resumed/internal/resume"
)

func script(t testing.TB, dir, name string) string {
	path := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"), 0o700))
	return path
}

func found(t testing.TB, s program.Search, recorded resume.Program) program.Found {
	t.Helper()
	p, err := s.Find(recorded)
	require.NoError(t, err)
	return p
}

func TestAProgramIsFoundByTheBestWayThereIs(t *testing.T) {
	inPath, usual, ran, named := t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir()
	t.Setenv("PATH", inPath)
	search := program.Search{Name: "bot", Places: []string{usual}}
	recorded := resume.Program{Path: filepath.Join(ran, "bot")}

	_, err := search.Find(recorded)
	require.ErrorContains(t, err, "find program bot")

	there := script(t, usual, "bot")
	require.Equal(t, program.Found{Program: resume.Program{Path: there}, Way: program.ByPlace}, found(t, search, recorded), "what was recorded is gone")
	here := script(t, inPath, "bot")
	require.Equal(t, program.Found{Program: resume.Program{Path: here}, Way: program.ByPath}, found(t, search, recorded))
	script(t, ran, "bot")
	require.Equal(t, program.Found{Program: recorded, Way: program.BySession}, found(t, search, recorded))
	search.Command = script(t, named, "bot")
	require.Equal(t, program.Found{Program: resume.Program{Path: search.Command}, Way: program.ByConfig}, found(t, search, recorded))

	t.Setenv("HOME", named)
	search.Command = "~/bot"
	require.Equal(t, filepath.Join(named, "bot"), found(t, search, recorded).Path)
	search.Command = filepath.Join(named, "none")
	_, err = search.Find(recorded)
	require.ErrorContains(t, err, search.Command, "what is configured is not guessed at")
}

func TestAProgramThatCannotBeRunAnyMoreIsPassedOver(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	inPath, script, node := script(t, dir, "bot"), script(t, t.TempDir(), "bot"), script(t, t.TempDir(), "node")
	recorded := resume.Program{Path: script, Interpreter: node}
	search := program.Search{Name: "bot"}
	require.Equal(t, script, found(t, search, recorded).Path)
	require.NoError(t, os.Remove(node))
	require.Equal(t, inPath, found(t, search, recorded).Path, "its node was removed")
	recorded.Interpreter = ""
	require.NoError(t, os.Chmod(script, 0o600))
	require.Equal(t, inPath, found(t, search, recorded).Path)
}

// In a directory such as /tmp, other users must not be able to choose the program that is run.
func TestAProgramThatOthersMayHavePutThereIsPassedOver(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	inPath := script(t, dir, "bot")
	for name, change := range map[string]func(path string) error{
		"anybody may write it": func(path string) error { return os.Chmod(path, 0o777) },
		"it is another user's": func(path string) error { return os.Chown(path, 4242, 4242) },
	} {
		t.Run(name, func(t *testing.T) {
			script, node := script(t, t.TempDir(), "bot"), script(t, t.TempDir(), "node")
			search, recorded := program.Search{Name: "bot"}, resume.Program{Path: script, Interpreter: node}
			require.Equal(t, script, found(t, search, recorded).Path)
			for _, path := range []string{node, script} {
				if err := change(path); errors.Is(err, os.ErrPermission) {
					t.Skip("SKIPPED: only root can give a file away")
				} else {
					require.NoError(t, err)
				}
				require.Equal(t, inPath, found(t, search, recorded).Path)
				require.NoError(t, errors.Join(os.Chmod(path, 0o700), os.Chown(path, os.Getuid(), os.Getgid())))
			}
		})
	}
}

func TestAScriptIsRunAsItWasRun(t *testing.T) {
	t.Setenv("PATH", "/usr/bin:/bin")
	dir := t.TempDir()
	node := script(t, dir, "node")
	cases := map[string]struct {
		first string
		mode  os.FileMode
		alone bool // run by its own path
	}{
		"a script that asks for it":   {"#!/usr/bin/env node", 0o755, true},
		"with options":                {"#!/usr/bin/env -S node --no-warnings", 0o755, true},
		"by its path":                 {"#!" + node, 0o755, true},
		"one that asks for another":   {"#!/usr/bin/env bun", 0o755, false},
		"one that asks for none":      {"console.log(1)", 0o755, false},
		"one that cannot be executed": {"#!/usr/bin/env node", 0o644, false},
		"one that is empty":           {"", 0o755, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			script := filepath.Join(t.TempDir(), "bot")
			require.NoError(t, os.WriteFile(script, []byte(c.first+"\n"), 0o600))
			require.NoError(t, os.Chmod(script, c.mode))
			p := found(t, program.Search{Name: "bot"}, resume.Program{Path: script, Interpreter: node})
			want := []string{node, script}
			if c.alone {
				want = []string{script}
			}
			require.Equal(t, want, p.Argv())
			require.Equal(t, []string{"PATH=" + dir + ":/usr/bin:/bin:" + filepath.Dir(script)}, p.Environment(nil))
		})
	}
}

func TestAProgramOutsidePathBringsItsDirectory(t *testing.T) {
	t.Setenv("PATH", "/usr/bin:/bin")
	at := func(path, interpreter string) program.Found {
		return program.Found{Program: resume.Program{Path: path, Interpreter: interpreter}}
	}
	require.Equal(t, []string{"A=1", "PATH=/opt/node/bin:/usr/bin:/bin"}, at("/opt/node/bin/bot", "").Environment([]string{"A=1"}))
	require.Equal(t, []string{"A=1"}, at("/usr/bin/bot", "").Environment([]string{"A=1"}))
	require.Equal(t, []string{"PATH=/x"}, at("/opt/node/bin/bot", "").Environment([]string{"PATH=/x"}))
	require.Equal(t, []string{"PATH=/bin:/usr/bin:/bin"}, at("/usr/bin/bot", "/bin/node").Environment(nil),
		"another node in PATH must not come first")
	require.Equal(t, []string{"PATH=/opt/node/bin:/usr/bin:/bin:/src/node_modules/.bin"},
		at("/src/node_modules/.bin/bot", "/opt/node/bin/node").Environment(nil), "a project's programs must not come first")
	t.Setenv("PATH", "")
	require.Equal(t, []string{"PATH=/opt/node/bin"}, at("/opt/node/bin/bot", "").Environment(nil),
		"an empty part of PATH is the session's directory")
}

func TestOfSeveralNodesTheNewestIsLookedIntoFirst(t *testing.T) {
	home := t.TempDir()
	var want []string
	for _, version := range []string{"v22.3.0", "v20.10.0", "v20.9.0", "v9.11.2"} {
		want = append(want, filepath.Join(home, ".nvm", "versions", "node", version, "bin"))
		require.NoError(t, os.MkdirAll(want[len(want)-1], 0o700))
	}
	places := program.UsualPlaces(home)
	require.Equal(t, want, places[len(places)-len(want):])
	require.Equal(t, filepath.Join(home, ".local", "bin"), places[0])
}

func TestWhatACommandRuns(t *testing.T) {
	dir := t.TempDir()
	claude, node := script(t, dir, "claude"), script(t, dir, "node")
	found := program.Found{Program: resume.Program{Path: claude, Interpreter: node}, Through: []string{"/bin/sh", dir, "./claude", "claude", "./none"}}
	require.Equal(t, []string{claude, node, "/bin/sh", claude}, found.Files(dir))
	found.Way = program.ByConfig
	require.Empty(t, found.Files(dir), "its user has named it")
}
