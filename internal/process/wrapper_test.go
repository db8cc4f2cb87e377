package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/procfs"
)

func TestWhatStandsBeforeTheAgent(t *testing.T) {
	work := t.TempDir()
	script := filepath.Join(work, "bin", "bot")
	require.NoError(t, os.MkdirAll(filepath.Join(work, "src", "bot"), 0o700))
	require.NoError(t, os.MkdirAll(filepath.Dir(script), 0o700))
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\n"), 0o700))

	const none = ""
	for rule, c := range map[string]struct {
		args           string   // of the agent
		forebears      []string // its ancestors, the nearest first: the program of each, and its arguments
		through, given string
	}{
		"nothing":                                      {"-y x", nil, none, "-y x"},
		"a shell in which it was typed":                {"-y x", []string{"/bin/bash -bash"}, none, "-y x"},
		"the launcher that npm installs":               {"-y x", []string{"/usr/bin/node node /usr/bin/bot -y x"}, none, "-y x"},
		"a sandbox":                                    {"-y x", []string{"/usr/bin/bwrap bwrap --ro-bind / / bot -y x"}, "/usr/bin/bwrap --ro-bind / / bot", "-y x"},
		"one that names the agent's own directory":     {"-y", []string{"/usr/bin/bwrap bwrap --bind /src/bot /src/bot /usr/bin/bot -y"}, "/usr/bin/bwrap --bind /src/bot /src/bot /usr/bin/bot", "-y"},
		"a sandbox before npm's launcher":              {"x", []string{"/usr/bin/node node /usr/bin/bot x", "/usr/bin/firejail firejail bot x"}, "/usr/bin/firejail bot", "x"},
		"a script of its name, which adds to it":       {"-y --deny x", []string{"/bin/sh sh WORK/bin/bot -y x"}, "WORK/bin/bot", "-y x"},
		"a script in a sandbox":                        {"--deny x", []string{"/bin/sh sh bin/bot x", "/usr/bin/bwrap bwrap WORK/bin/bot x"}, "/usr/bin/bwrap WORK/bin/bot", "x"},
		"a tool that works on a directory of its name": {"-y x", []string{"/usr/bin/go go test ./src/bot"}, none, "-y x"},
		"the same, and no arguments":                   {"", []string{"/usr/bin/vim vim src/bot"}, none, ""},
		"one that was given something else":            {"-y x", []string{"/usr/bin/bwrap bwrap bot -y z"}, none, "-y x"},
		"our own run":                                  {"-y x", []string{"/usr/bin/resumed resumed exec -- bot -y x"}, none, "-y x"},
	} {
		t.Run(rule, func(t *testing.T) {
			root := t.TempDir()
			line := func(text string) []string { return strings.Fields(strings.ReplaceAll(text, "WORK", work)) }
			put := func(pid int, exe string, argv ...string) {
				dir := filepath.Join(root, strconv.Itoa(pid))
				require.NoError(t, os.MkdirAll(dir, 0o700))
				stat := fmt.Sprintf("%d (x) S %d 1 1 0 1 0 0 0 0 0 0 0 0 0 0 0 0 0 5 0", pid, pid-1)
				require.NoError(t, os.WriteFile(filepath.Join(dir, "stat"), []byte(stat), 0o600))
				require.NoError(t, os.WriteFile(filepath.Join(dir, "cmdline"), []byte(strings.Join(argv, "\x00")+"\x00"), 0o600))
				require.NoError(t, os.Symlink(exe, filepath.Join(dir, "exe")))
				require.NoError(t, os.Symlink(work, filepath.Join(dir, "cwd")))
			}
			const pid = 100
			put(pid, "/usr/bin/bot", append([]string{"bot"}, line(c.args)...)...)
			for i, forebear := range c.forebears {
				words := line(forebear)
				put(pid-1-i, words[0], words[1:]...)
			}
			p := At(procfs.FS(root))
			_, through, given := p.Wrapper(pid, line(c.args), "bot", false)
			require.Equal(t, line(c.through), append([]string{}, through...))
			require.Equal(t, line(c.given), append([]string{}, given...))
		})
	}
}
