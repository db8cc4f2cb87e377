package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/procfs"
	"resumed/internal/resume"
)

// kernel is a /proc that a test makes.
type kernel struct {
	procfs.FS
	t *testing.T
}

func newKernel(t *testing.T) kernel { return kernel{procfs.FS(t.TempDir()), t} }

func (k kernel) write(pid int, name, text string) {
	path := k.Path(pid, name)
	require.NoError(k.t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(k.t, os.WriteFile(path, []byte(text), 0o600))
}

func (k kernel) link(pid int, name, target string) {
	path := k.Path(pid, name)
	require.NoError(k.t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(k.t, os.Symlink(target, path))
}

// begin adds a process, with its state, parent and terminal.
func (k kernel) begin(pid int, state string, parent, tty int, argv ...string) {
	k.write(pid, "stat", fmt.Sprintf("%d (x) %s %d 1 1 %d 1 0 0 0 0 0 0 0 0 0 0 0 0 0 5 0", pid, state, parent, tty))
	k.write(pid, "cmdline", strings.Join(argv, "\x00")+"\x00")
}

func TestWhichRunsMayHoldASession(t *testing.T) {
	s := resume.Session{Key: resume.Key{ID: "abcd"}, Run: &resume.Run{Mark: "m"}}
	for rule, c := range map[string]struct {
		process Live
		kind    string
		cannot  bool
	}{
		"what a person started may":               {Live{}, "headless", false},
		"its own run is not another one":          {Live{Mark: "m", Args: []string{"--resume=abcd"}}, "headless", true},
		"its own run in a terminal is not either": {Live{Mark: "m"}, "interactive", true},
		"the run of another session cannot":       {Live{Mark: "other", Args: []string{"--resume=ef"}}, "headless", true},
		"one that names the session may":          {Live{Mark: "other", Args: []string{"--resume=abcd"}}, "headless", false},
		"one in a terminal that a run opened may": {Live{Mark: "other"}, "interactive", false},
		"one that hides its arguments may":        {Live{Mark: "other", titled: true}, "headless", false},
	} {
		require.Equal(t, c.cannot, c.process.CannotHold(s, c.kind), rule)
	}
}

func TestWhichProcessIsTheRunOfASession(t *testing.T) {
	k := newKernel(t)
	k.write(7, "environ", "A=1\x00"+resume.MarkVariable+"=m\x00")
	k.write(8, "environ", "A=1\x00")
	table := At(k.FS)
	require.True(t, table.IsRun(7, resume.Session{Run: &resume.Run{Mark: "m"}}))
	require.False(t, table.IsRun(7, resume.Session{Run: &resume.Run{Mark: "later"}}), "an earlier run")
	require.False(t, table.IsRun(7, resume.Session{}))
	require.False(t, table.IsRun(8, resume.Session{Run: &resume.Run{}}), "a run without a mark has no process that is known")
}

// A number is given to another process when its process has ended.
func TestAProcessIsKnownByItsStartToo(t *testing.T) {
	k := newKernel(t)
	k.begin(7, "S", 1, 0, "bot")
	k.begin(8, "Z", 1, 0, "bot")
	table := At(k.FS)
	require.True(t, table.Lives(resume.Process{PID: 7, Start: 5}))
	require.False(t, table.Lives(resume.Process{PID: 7, Start: 4}), "it is another one of that number")
	require.False(t, table.Lives(resume.Process{PID: 8, Start: 5}), "it has ended, and nobody has asked how")
	require.False(t, table.Lives(resume.Process{PID: 9, Start: 5}))
}

func TestWhoNamesASessionHoldsItFromAnyDirectory(t *testing.T) {
	k := newKernel(t)
	k.begin(7, "S", 1, 1, "bot", "--resume", "abcd")
	k.link(7, "cwd", "/elsewhere")
	k.begin(8, "S", 1, 1, "bot")
	k.link(8, "cwd", "/elsewhere")
	owner, err := At(k.FS).OwnerInDir(t.Context(), resume.Session{Key: resume.Key{ID: "abcd"}, Cwd: "/src"}, called("bot"))
	require.NoError(t, err)
	require.Equal(t, &resume.Owner{PID: 7, Kind: "interactive"}, owner)
}

func TestWhatHidesItsArgumentsIsAPersonsIfItHasATerminal(t *testing.T) {
	require.Equal(t, "interactive", Live{titled: true}.Kind("-p"))
	require.Equal(t, "headless", Live{titled: true, detached: true}.Kind("-p"))
	require.Equal(t, "interactive", Live{detached: true}.Kind("-p"))
}

func TestWhoOnlyReadsAFileDoesNotWriteIt(t *testing.T) {
	k := newKernel(t)
	for pid, flags := range map[int]string{7: "0100000", 8: "0100001", os.Getpid(): "0100002"} {
		k.link(pid, "fd/3", "/src/log")
		k.write(pid, "fdinfo/3", "pos:\t0\nflags:\t"+flags+"\n")
	}
	writers, err := At(k.FS).Writers(t.Context(), "/src/log")
	require.NoError(t, err)
	require.Equal(t, []int{8}, writers, "and what this process has open itself does not count")
}

func TestAProcessThatHidesItsWorldIsInASandbox(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("NOT TESTED: nothing can be hidden from root; run the tests as another user too")
	}
	k := newKernel(t)
	k.link(7, "ns/mnt", "mnt:[1]")
	require.NoError(t, os.Chmod(k.Path(7, "ns"), 0))
	defer func() { require.NoError(t, os.Chmod(k.Path(7, "ns"), 0o700)) }()
	words, err := At(k.FS).Sandbox(7)
	require.NoError(t, err)
	require.Contains(t, words, "hides its namespaces")
}

// Another user can run a program of any name.
func TestTheProgramOfAnotherUserIsNotRepeated(t *testing.T) {
	if os.Geteuid() != 0 {
		require.Empty(t, os.Getenv("CI_ROOT"), "this run was to be root's")
		t.Skip("NOT TESTED: only root can give files to another user; run the tests as root too")
	}
	k, program := newKernel(t), filepath.Join(t.TempDir(), "bot")
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700))
	k.begin(7, "S", 1, 0, "bot")
	k.link(7, "exe", program)
	_, known := At(k.FS).Program(7, called("bot"))
	require.True(t, known)
	require.NoError(t, os.Chown(k.Path(7), 65534, 65534))
	_, known = At(k.FS).Program(7, called("bot"))
	require.False(t, known)
}

func TestWhatDoesNotStandBeforeTheAgent(t *testing.T) {
	through := func(childTTY, tty int, exe string, argv ...string) []string {
		k := newKernel(t)
		k.begin(8, "S", 7, childTTY, "bot")
		k.begin(7, "S", 1, tty, argv...)
		k.link(7, "exe", exe)
		k.link(7, "cwd", "/src")
		_, through, _ := At(k.FS).Wrapper(8, nil, "bot", false)
		return through
	}
	const bwrap = "/usr/bin/bwrap"
	require.Equal(t, []string{bwrap, "bot"}, through(1, 1, bwrap, "bwrap", "bot"))
	require.Equal(t, []string{bwrap, "bot"}, through(0, 2, bwrap, "bwrap", "bot"), "the agent has no terminal")
	require.Empty(t, through(1, 2, bwrap, "bwrap", "bot"), "a program in another terminal shows the agent")
	require.Empty(t, through(1, 1, "/usr/bin/dbus-run-session", "dbus-run-session", "sh", "-c", "exec ./bot"), "a shell reads that")
}
