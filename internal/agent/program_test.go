package agent_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
)

func program(t testing.TB, dir, name string) string {
	path := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"), 0o700))
	return path
}

func TestAProgramIsFoundInPathThenInTheUsualPlaces(t *testing.T) {
	inPath, usual := t.TempDir(), t.TempDir()
	t.Setenv("PATH", inPath)

	_, err := agent.FindProgram("bot", usual)
	require.ErrorContains(t, err, "bot")

	there := program(t, usual, "bot")
	got, err := agent.FindProgram("bot", usual)
	require.NoError(t, err)
	require.Equal(t, there, got)

	here := program(t, inPath, "bot")
	got, err = agent.FindProgram("bot", usual)
	require.NoError(t, err)
	require.Equal(t, here, got)

	got, err = agent.FindProgram(there)
	require.NoError(t, err)
	require.Equal(t, there, got)
	t.Setenv("HOME", usual)
	got, err = agent.FindProgram("~/bot")
	require.NoError(t, err)
	require.Equal(t, there, got)
	_, err = agent.FindProgram(filepath.Join(inPath, "none"), usual)
	require.Error(t, err, "a path is that very file")
}

func TestAProgramOutsidePathBringsItsDirectory(t *testing.T) {
	t.Setenv("PATH", "/usr/bin:/bin")
	require.Equal(t, []string{"A=1", "PATH=/opt/node/bin:/usr/bin:/bin"}, agent.WithPath([]string{"A=1"}, "/opt/node/bin/bot"))
	require.Equal(t, []string{"A=1"}, agent.WithPath([]string{"A=1"}, "/usr/bin/bot"))
	require.Equal(t, []string{"PATH=/x"}, agent.WithPath([]string{"PATH=/x"}, "/opt/node/bin/bot"))
}

func TestADirectoryIsCheckedBeforeItIsWorkedIn(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, agent.CheckDir(dir))
	require.ErrorContains(t, agent.CheckDir(filepath.Join(dir, "none")), "is gone")
	require.ErrorContains(t, agent.CheckDir(program(t, dir, "file")), "is not a directory")
	require.ErrorContains(t, agent.CheckDir(""), "not known")
	require.ErrorContains(t, agent.CheckDir("src"), "not an absolute path")
}

func TestOfSeveralNodesTheNewestIsLookedIntoFirst(t *testing.T) {
	home := t.TempDir()
	var want []string
	for _, version := range []string{"v22.3.0", "v20.10.0", "v20.9.0", "v9.11.2"} {
		want = append(want, filepath.Join(home, ".nvm", "versions", "node", version, "bin"))
		require.NoError(t, os.MkdirAll(want[len(want)-1], 0o700))
	}
	places := agent.UsualPlaces(home)
	require.Equal(t, want, places[len(places)-len(want):])
	require.Equal(t, filepath.Join(home, ".local", "bin"), places[0])
}
