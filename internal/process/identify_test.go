package process_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/process"
	"resumed/internal/procfs"
	"resumed/internal/resume"
)

func TestWhatALiveProcessRunsIsTold(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"claude/versions", "bin", "shell"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, name), 0o700))
	}
	at := func(parts ...string) string { return filepath.Join(append([]string{dir}, parts...)...) }
	put := func(dir, name string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"), 0o700))
		return path
	}
	native := put(at("claude", "versions"), "2.1.325")
	script, node := put(at("bin"), "claude"), put(at("bin"), "node")
	bash, tmux, other := put(at("shell"), "bash"), put(at("shell"), "tmux"), put(at("shell"), "stand-in.test")

	cases := map[string]struct {
		exe     string
		argv    []string
		environ string
		want    resume.Program // zero: nothing is known for certain
	}{
		"a binary by its name":               {native, []string{"claude", "--resume"}, "", resume.Program{Path: native}},
		"a script of node":                   {node, []string{"node", script, "-p", "x"}, "", resume.Program{Path: script, Interpreter: node}},
		"with options of node":               {node, []string{"node", "--max-old-space-size=4096", "-r", "x.js", script}, "", resume.Program{Path: script, Interpreter: node}},
		"by a relative path":                 {node, []string{"node", "bin/claude"}, "", resume.Program{Path: script, Interpreter: node}},
		"a script of a shell":                {bash, []string{"/bin/bash", script}, "", resume.Program{Path: script, Interpreter: bash}},
		"under a title of its own":           {node, []string{"claude"}, "A=1\x00_=" + script + "\x00", resume.Program{Path: script, Interpreter: node}},
		"a title, and nobody says what runs": {node, []string{"claude"}, "_=/usr/bin/tmux\x00", resume.Program{}},
		"a file that was removed":            {native + " (deleted)", []string{"claude"}, "", resume.Program{}},
		"a script that was removed":          {node, []string{"node", at("gone", "claude")}, "", resume.Program{}},
		"a shell that calls itself so":       {bash, []string{"claude"}, "", resume.Program{}},
		"a shell that was given a command":   {bash, []string{"bash", "-c", "claude"}, "", resume.Program{}},
		"tmux":                               {tmux, []string{"tmux", "claude"}, "", resume.Program{}},
		"another program by that name":       {other, []string{"claude"}, "", resume.Program{}},
		"another program":                    {other, []string{other}, "", resume.Program{}},
		"a kernel thread":                    {native, []string{""}, "", resume.Program{}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			proc := t.TempDir()
			require.NoError(t, os.Mkdir(filepath.Join(proc, "7"), 0o700))
			file := func(name string) string { return filepath.Join(proc, "7", name) }
			require.NoError(t, os.Symlink(c.exe, file("exe")))
			require.NoError(t, os.Symlink(dir, file("cwd")))
			require.NoError(t, os.WriteFile(file("cmdline"), []byte(strings.Join(c.argv, "\x00")), 0o600))
			require.NoError(t, os.WriteFile(file("environ"), []byte(c.environ), 0o600))
			got, ok := process.At(procfs.FS(proc)).Program(7, func(path string) bool { return filepath.Base(path) == "claude" })
			require.Equal(t, c.want != resume.Program{}, ok, got)
			if ok {
				require.Equal(t, c.want, got)
			}
			_, ok = process.At(procfs.FS(proc)).Program(8, func(string) bool { return true })
			require.False(t, ok, "it has ended")
		})
	}
}
