package process_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/process"
	"resumed/internal/procfs"
	"resumed/internal/resume"
)

func TestProcessesOfAProgramAreFound(t *testing.T) {
	root, work := t.TempDir(), t.TempDir()
	link := filepath.Join(t.TempDir(), "work")
	require.NoError(t, os.Symlink(work, link))
	add := func(pid, cmdline, environ string) {
		dir := filepath.Join(root, pid)
		require.NoError(t, os.Mkdir(dir, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "cmdline"), []byte(strings.ReplaceAll(cmdline, " ", "\x00")), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "environ"), []byte(environ), 0o600))
		require.NoError(t, os.Symlink(work, filepath.Join(dir, "cwd")))
	}
	add("1", "bot -p x ", "")
	add("2", "/usr/bin/node --require /a.js --inspect /usr/bin/bot -i ", "A=1\x00TMUX_PANE=%7\x00"+resume.MarkVariable+"=m\x00")
	add("3", "node /srv/other.js bot ", "")
	add("4", "node ", "") // no script at all
	add("5", "node --require", "")
	add("6", "", "") // a kernel thread, or a zombie
	require.NoError(t, os.Mkdir(filepath.Join(root, "7"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(root, "version"), nil, 0o600))

	isBot := func(program string) bool { return filepath.Base(program) == "bot" }
	found, err := process.At(procfs.FS(root)).Running(t.Context(), isBot)
	require.NoError(t, err)
	require.Len(t, found, 2)
	require.Equal(t, 1, found[0].PID)
	require.Equal(t, []string{"-p", "x"}, found[0].Args)
	require.Empty(t, found[0].Mark)
	require.Equal(t, []string{"-i"}, found[1].Args)
	require.Equal(t, "m", found[1].Mark)
	require.Equal(t, "%7", found[1].Pane)
	for dir, want := range map[string]bool{work: true, work + "/": true, link: true, filepath.Dir(work): false, "": false, "/no/such": false} {
		require.Equal(t, want, found[0].LivesIn(process.PlaceOf(dir)), dir)
	}

	_, err = process.At(procfs.FS(filepath.Join(root, "none"))).Running(t.Context(), isBot)
	require.ErrorIs(t, err, procfs.ErrUnseen, "a system that shows no processes")
}

func TestWhoIsOneOfSeveralIsAGuess(t *testing.T) {
	session := resume.Session{Key: resume.Key{ID: "abcd"}}
	kind := func(p process.Live) string { return p.Kind("-p") }
	one, other := process.Live{PID: 1}, process.Live{PID: 2, Args: []string{"-p", "--resume=abcd"}}
	require.Nil(t, process.OneOf(nil, session, kind))
	require.Equal(t, &resume.Owner{PID: 1, Kind: "interactive"}, process.OneOf([]process.Live{one}, session, kind))
	require.Equal(t, &resume.Owner{PID: 2, Kind: "headless"}, process.OneOf([]process.Live{one, other}, session, kind), "it names the session")
	require.True(t, process.OneOf([]process.Live{one, {PID: 3}}, session, kind).Guessed)
}

// Gemini CLI and Qwen Code start themselves again for more memory, and opencode's script starts
// its binary.
func TestAProgramThatBeganItselfAnewIsOne(t *testing.T) {
	const stat = "%d (node) S %d 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0"
	root := t.TempDir()
	at := func(pid, parent int, argv ...string) {
		dir := filepath.Join(root, fmt.Sprint(pid))
		require.NoError(t, os.MkdirAll(dir, 0o700))
		require.NoError(t, os.Symlink("/src", filepath.Join(dir, "cwd")))
		for name, text := range map[string]string{"cmdline": strings.Join(argv, "\x00") + "\x00", "stat": fmt.Sprintf(stat, pid, parent), "environ": ""} {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		}
	}
	owner := func() *resume.Owner {
		found, err := process.At(procfs.FS(root)).OwnerInDir(t.Context(), resume.Session{Cwd: "/src"},
			func(path string) bool { return filepath.Base(path) == "bot" }, "-p")
		require.NoError(t, err)
		return found
	}
	at(20, 1, "node", "/bin/bot", "-p", "x")
	at(10, 20, "/usr/bin/node", "--max-old-space-size=9", "/bin/bot", "-p", "x")
	require.Equal(t, &resume.Owner{PID: 20, Kind: "headless"}, owner())
	at(30, 20, "node", "/bin/bot", "-p", "y")
	require.True(t, owner().Guessed, "another one that it started")
}

func TestTheTestItselfIsFound(t *testing.T) {
	if _, err := os.Stat("/proc/self/cmdline"); err != nil {
		t.Skip("SKIPPED: this system has no /proc, so that processes cannot be found")
	}
	self, err := os.ReadFile("/proc/self/cmdline")
	require.NoError(t, err)
	name, _, _ := strings.Cut(string(self), "\x00")
	found, err := process.Here.Running(t.Context(), func(program string) bool { return program == name })
	require.NoError(t, err)
	here, err := os.Getwd()
	require.NoError(t, err)
	require.NotEmpty(t, found)
	require.True(t, found[0].LivesIn(process.PlaceOf(here)))
}
