package soak

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/stretchr/testify/require"
)

// faults are what is made to fail besides the daemon's life.
type faults struct {
	calls bool // system calls, by strace
	disk  bool // the file system of its state is too small
	clock bool // the clock on the wall is set, back and forth
}

// wanted reads which faults are asked for. One that cannot be made here is said,
// loudly, and done without.
func (w *world) wanted(list string) (f faults) {
	for name := range strings.SplitSeq(list, ",") {
		switch name {
		case "":
		case "calls":
			err := exec.Command("strace", append(slices.Clone(traced), "true")...).Run()
			if f.calls = err == nil; err != nil {
				w.t.Logf("NOT TRIED: system calls that fail need strace: %v", err)
			}
		case "disk":
			err := w.mount("size=512k")
			if f.disk = err == nil; err != nil {
				w.t.Logf("NOT TRIED: a small disk needs root and a mount: %v", err)
			}
		case "clock":
			if f.clock = os.Getenv("SOAK_BINARY") == ""; !f.clock {
				w.t.Log("NOT TRIED: a clock that is set needs a build of the soak's own")
			}
		default:
			w.t.Fatalf("SOAK_FAULTS: %q is none of calls, disk, clock", name)
		}
	}
	return f
}

// mount puts a small file system where the daemon keeps its state.
func (w *world) mount(options string) error {
	state := filepath.Join(w.home, ".local/state/resumed")
	require.NoError(w.t, os.MkdirAll(state, 0o700))
	if err := exec.Command("mount", "-t", "tmpfs", "-o", "mode=0700,"+options, "none", state).Run(); err != nil {
		return err
	}
	w.t.Cleanup(func() { _ = exec.Command("umount", "-l", state).Run() })
	return nil
}

// traced is how strace runs the daemon: as our own child (-D), so that it is what is
// killed; what a resume starts is let go of (-b), for it must outlive the daemon.
var traced = []string{"-D", "-f", "-qq", "-o", os.DevNull, "-b", "execve"}

// faulty returns the command as it is run while things fail.
func (w *world) faulty(daemon *exec.Cmd) *exec.Cmd {
	w.failing = w.faults.disk
	if !w.faults.calls || w.dice.IntN(3) == 0 {
		return daemon
	}
	calls := []string{"fdatasync", "fsync", "pwrite64", "openat", "ftruncate", "flock"}
	errno := []string{"EIO", "ENOSPC", "EINTR"}
	call := calls[w.dice.IntN(len(calls))]
	inject := fmt.Sprintf("inject=%s:error=%s:when=%d+%d", call, errno[w.dice.IntN(len(errno))], 50+w.dice.IntN(400), 3+w.dice.IntN(40))
	daemon.Args = slices.Concat([]string{"strace"}, traced, []string{"-e", "trace=" + call, "-e", inject}, daemon.Args)
	path, err := exec.LookPath("strace")
	require.NoError(w.t, err)
	daemon.Path = path
	w.failing = true
	return daemon
}

// mend ends what fails: what was held up must go on.
func (w *world) mend() {
	w.faults.calls, w.failing = false, false
	if w.faults.disk {
		state := filepath.Join(w.home, ".local/state/resumed")
		require.NoError(w.t, exec.Command("mount", "-o", "remount,size=64m", state).Run())
	}
}

// strew puts files beside the transcripts that no agent writes.
func (w *world) strew() {
	w.write("logs/newlines.log", strings.Repeat("\n", 5<<20), 0o600)
	w.write("logs/endless.log", strings.Repeat("x", 5<<20), 0o600)
	w.write("logs/garbage.log", string(bytes.Repeat([]byte{0, 255, 10, 27, 128}, 100_000)), 0o600)
	w.write("logs/closed.log", "rate limited, retry in 0s\n", 0)
	w.write("logs/hole.log", "step 1\n", 0o600)
	require.NoError(w.t, os.Truncate(filepath.Join(w.home, "logs/hole.log"), 10<<30))
	require.NoError(w.t, os.Mkdir(filepath.Join(w.home, "logs/directory.log"), 0o700))
	require.NoError(w.t, os.Symlink("loop.log", filepath.Join(w.home, "logs/loop.log")))
	require.NoError(w.t, syscall.Mkfifo(filepath.Join(w.home, "logs/pipe.log"), 0o600))
}
