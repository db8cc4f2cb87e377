//go:build !windows

package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"resumed/internal/atomicfile"
)

// fleeting says why the program at path will not be there for long, in words that
// follow "it"; empty: it stays. A service that names such a path works until the
// next cleaning, and is gone in the night.
func fleeting(path, tempDir string) string {
	if direct, err := filepath.EvalSymlinks(path); err == nil {
		path = direct
	}
	parts := strings.Split(path, string(filepath.Separator))
	switch {
	case !exists(path):
		return "was removed while it ran"
	case slices.ContainsFunc(parts, ofGoRun):
		return "is in Go's build cache, where go run put it"
	case slices.Contains(parts, "_npx"):
		return "is in the cache of npx"
	}
	for _, dir := range []string{tempDir, "/tmp", "/var/tmp", "/private/tmp", "/dev/shm", "/run"} {
		if below(path, dir) {
			return "is in a temporary directory"
		}
	}
	if dir, err := os.UserCacheDir(); err == nil && below(path, dir) {
		return "is in a cache"
	}
	return ""
}

// below reports whether a path without links is in a directory, by whatever name.
func below(path, dir string) bool {
	if direct, err := filepath.EvalSymlinks(dir); err == nil {
		dir = direct
	}
	return strings.HasPrefix(path, filepath.Clean(dir)+string(filepath.Separator))
}

// ofGoRun knows the directories that go run starts programs from: a temporary one the first
// time, then the one in the build cache that is named by a sum, whatever GOCACHE is called.
func ofGoRun(part string) bool {
	sum, isEntry := strings.CutSuffix(part, "-d")
	raw, err := hex.DecodeString(sum)
	return strings.HasPrefix(part, "go-build") || isEntry && err == nil && len(raw) == sha256.Size
}

// lasting returns where a program is put that would not last where it is.
func lasting() (string, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find the home: %w", err)
	}
	return filepath.Join(home, ".local", "bin", "resumed"), nil
}

// isResumed reports whether a file is a program of ours, of whatever version.
func isResumed(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return holds(f, ofResumed())
}

// ofResumed is how the linker has a program of ours begin to say what it is made of. It is
// looked for as it is: debug/buildinfo brings the readers of all formats of programs with
// it, half a megabyte for one question. It is put together here: a program that only asks
// does not hold it.
func ofResumed() []byte {
	start, err := hex.DecodeString("3077af0c9274080241e1c107e6d618e6")
	if err != nil {
		panic(err) // it is a constant
	}
	return append(start, "path\tresumed/cmd/resumed\n"...)
}

// holds reports whether a text is in what a reader gives.
func holds(r io.Reader, text []byte) bool {
	buf := make([]byte, 1<<20)
	kept := 0 // the end of what was looked at: the text may have begun in it
	for {
		n, err := io.ReadFull(r, buf[kept:])
		seen := buf[:kept+n]
		if bytes.Contains(seen, text) {
			return true
		}
		if err != nil {
			return false
		}
		kept = copy(buf, seen[len(seen)-len(text)+1:])
	}
}

// settle copies the program to where the service will find it, if it has to, and
// returns what it made.
func (c *cli) settle(s service) (made []string, err error) {
	if s.copyOf == "" {
		return nil, nil
	}
	refuse := func(err error) error {
		return hinted{
			fmt.Errorf("this program %s, and cannot be copied to %s: %w", s.fleeting, s.program, err),
			"put it where it stays, such as /usr/local/bin, and run it from there",
		}
	}
	there := exists(s.program)
	if there && !isResumed(s.program) {
		return nil, refuse(errors.New("another program is there"))
	}
	made, err = makeDirs(filepath.Dir(s.program))
	if err != nil {
		return nil, refuse(err)
	}
	from, err := os.Open(s.copyOf)
	if err != nil {
		return nil, refuse(err)
	}
	defer from.Close()
	if err := atomicfile.Copy(s.program, from, 0o755); err != nil {
		return nil, refuse(err)
	}
	if !there {
		made = append(made, s.program)
	}
	fmt.Fprintf(c.err, "This program %s, so this copy is used: %s\n", s.fleeting, s.program)
	c.sayIfNotInPath(s.program)
	return made, nil
}

// sayIfNotInPath says what makes a shell find the program: every command that is printed
// anywhere begins with its name.
func (c *cli) sayIfNotInPath(program string) {
	found, err := exec.LookPath("resumed")
	if err == nil && sameFile(found, program) {
		return
	}
	dir := filepath.Dir(program)
	switch {
	case err == nil:
		fmt.Fprintf(c.err, "The resumed that your shell finds is another one, %s; the service runs %s\n", found, program)
	case !slices.Contains(filepath.SplitList(os.Getenv("PATH")), dir):
		fmt.Fprintf(c.err, "Your PATH does not have %s. Add this to ~/.profile, ~/.bashrc or ~/.zshrc, and open a new terminal:\n  export PATH=\"%s:$PATH\"\n", dir, dir)
	}
}

func sameFile(a, b string) bool {
	first, errA := os.Stat(a)
	second, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(first, second)
}

// howToStart says how a daemon that does not run is started.
func howToStart() string {
	if dir, err := unitDir(); err == nil && runtime.GOOS == "linux" && (exists(filepath.Join(dir, unitName)) || packaged(dir)) {
		return "systemctl --user start resumed, and if it does not stay: journalctl --user -u resumed -n 20"
	}
	return "resumed install (as a service), or resumed run (in this terminal)"
}

// removeMade removes what install made, unless others use it: directories that
// are empty, and its copy of the program.
func (c *cli) removeMade(made []string) {
	for _, path := range slices.Backward(made) {
		info, err := os.Lstat(path)
		if err != nil || !info.IsDir() && !isResumed(path) {
			continue
		}
		if os.Remove(path) == nil && info.Mode().IsRegular() { // a directory that is not empty stays
			fmt.Fprintln(c.out, "removed", path)
		}
	}
}

// unsupervised is what a person can do where no systemd starts the daemon.
func unsupervised(program string) string {
	return strings.ReplaceAll(`one of these instead, which start it without systemd
  tmux new-session -d -s resumed 'PROGRAM run'                                  # now, until the machine stops
  (crontab -l 2>/dev/null; echo '@reboot PROGRAM run >/dev/null 2>&1') | crontab -    # at every start of the machine
  mkdir -p ~/service/resumed && printf '#!/bin/sh\nexec PROGRAM run 2>&1\n' >~/service/resumed/run && chmod +x ~/service/resumed/run && runsvdir ~/service    # runit`,
		"PROGRAM", program)
}

// packaged reports whether a unit of a package was enabled, in the user's manager
// or for the user in the system's: then nothing needs to be installed.
func packaged(dir string) bool {
	return exists(filepath.Join(dir, "default.target.wants", unitName)) ||
		exists(filepath.Join("/etc/systemd/system/multi-user.target.wants", "resumed@"+userName()+".service"))
}

// systemdRuns reports whether systemd is what started this machine.
func systemdRuns() bool {
	_, err := os.Stat("/run/systemd/system")
	return !errors.Is(err, fs.ErrNotExist)
}
