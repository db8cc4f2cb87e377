package program_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/program"
)

func TestWhichProgramsLieInAProject(t *testing.T) {
	home := t.TempDir()
	at := func(name string) string { return filepath.Join(home, name) }
	for _, dir := range []string{"app/bin", "app/sub", "apps", ".local/bin", "bin"} {
		require.NoError(t, os.MkdirAll(at(dir), 0o700))
	}
	for _, file := range []string{"app/bin/claude", "apps/claude", ".local/bin/claude", "bin/claude"} {
		script(t, filepath.Dir(at(file)), "claude")
	}
	for link, target := range map[string]string{
		"bin/linked": "../app/bin/claude", "app/out": "../bin/claude", "bin/twice": at("app/out"), "tools": "app/bin", "work": "app", "loop": "loop",
	} {
		require.NoError(t, os.Symlink(target, at(link)))
	}
	for rule, c := range map[string]struct {
		path, dir string
		want      bool
	}{
		"below the directory": {at("app/bin/claude"), at("app"), true},
		"beside it":           {at("bin/claude"), at("app"), false},
		"a directory whose name begins as its own":   {at("apps/claude"), at("app"), false},
		"above the session's directory":              {at("app/bin/claude"), at("app/sub"), false},
		"a link that leads into it":                  {at("bin/linked"), at("app"), true},
		"a link in it that leads out":                {at("app/out"), at("app"), true},
		"a link that leads through it":               {at("bin/twice"), at("app"), true},
		"a directory that is a link":                 {at("tools/claude"), at("app"), true},
		"the session's directory is a link":          {at("app/bin/claude"), at("work"), true},
		"both are the same link":                     {at("work/bin/claude"), at("work"), true},
		"a path that goes back":                      {at("bin/../app/bin/claude"), at("app"), true},
		"a link that leads nowhere":                  {at("loop"), at("app"), true},
		"a missing file in a missing directory":      {at("none/bin/claude"), at("none"), true},
		"of a session in the home":                   {at("bin/claude"), home, true},
		"installed in that home":                     {at(".local/bin/claude"), home, false},
		"the session is where it is installed":       {at(".local/bin/claude"), at(".local"), true},
		"of a session in the root directory":         {at("app/bin/claude"), "/", true},
		"installed beside the home":                  {"/usr/bin/claude", "/", false},
		"installed in the home, session in the root": {at(".local/bin/claude"), "/", false},
	} {
		require.Equal(t, c.want, program.InProject(c.path, c.dir, home), rule)
	}
}

func TestAChangedFileHasAnotherFingerprint(t *testing.T) {
	dir := t.TempDir()
	path := script(t, dir, "claude")
	was, info := program.Fingerprint(path), func() os.FileInfo { i, err := os.Stat(path); require.NoError(t, err); return i }()
	require.Equal(t, was, program.Fingerprint(path))
	require.Eventually(t, func() bool { // the clock of a file system is coarse
		require.NoError(t, os.WriteFile(path, []byte("#!/bin/ed\n"), 0o700))
		require.NoError(t, os.Chtimes(path, info.ModTime(), info.ModTime()))
		return program.Fingerprint(path) != was
	}, time.Minute, time.Millisecond, "as long as before, and as old")
	other := script(t, dir, "other")
	require.NoError(t, os.Rename(other, path))
	require.NotEqual(t, was, program.Fingerprint(path))
	require.NoError(t, os.Remove(path))
	require.Contains(t, program.Fingerprint(path), "is gone")
}
