package service

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"resumed/internal/atomicfile"
	"resumed/internal/hint"
)

// whyTemporary says why the program at path will not be there for long, in words that follow "it";
// "": it stays. A service that names such a path works until the next cleaning.
func whyTemporary(path, tempDir string) string {
	if direct, err := filepath.EvalSymlinks(path); err == nil {
		path = direct
	}
	inside := func(dir string) bool {
		if direct, err := filepath.EvalSymlinks(dir); err == nil {
			dir = direct
		}
		return strings.HasPrefix(path, filepath.Clean(dir)+string(filepath.Separator))
	}
	parts := strings.Split(path, string(filepath.Separator))
	switch {
	case !exists(path):
		return "was removed while it ran"
	case slices.ContainsFunc(parts, isGoBuildDir):
		return "is in Go's build cache, where go run put it"
	case slices.Contains(parts, "_npx"):
		return "is in the cache of npx"
	case slices.ContainsFunc([]string{tempDir, "/tmp", "/var/tmp", "/private/tmp", "/dev/shm", "/run"}, inside):
		return "is in a temporary directory"
	}
	if dir, err := os.UserCacheDir(); err == nil && inside(dir) {
		return "is in a cache"
	}
	return ""
}

// isGoBuildDir knows the directories that go run starts programs from: a temporary one the first time,
// then the one in the build cache that is named by a sum, whatever GOCACHE is called.
func isGoBuildDir(part string) bool {
	sum, isEntry := strings.CutSuffix(part, "-d")
	raw, err := hex.DecodeString(sum)
	return strings.HasPrefix(part, "go-build") || isEntry && err == nil && len(raw) == sha256.Size
}

// lastingPath returns where a program is copied to that is in a temporary place.
func lastingPath() (string, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find the home: %w", err)
	}
	return filepath.Join(home, ".local", "bin", "resumed"), nil
}

// isResumed reports whether a file is a program of ours, of any version.
func isResumed(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return contains(f, buildMark())
}

// buildMark is how the linker has a program of ours begin to say what it is made of. It is searched as
// bytes: debug/buildinfo brings the readers of all formats of programs with it, half a megabyte for
// one question. It is put together here, so that a program that only searches does not contain it.
func buildMark() []byte {
	start, err := hex.DecodeString("3077af0c9274080241e1c107e6d618e6")
	if err != nil {
		panic(err) // it is a constant
	}
	return append(start, "path\tresumed/cmd/resumed"...) // and -hub
}

// contains reports whether a text is in what a reader gives.
func contains(r io.Reader, text []byte) bool {
	buf := make([]byte, 1<<20)
	kept := 0 // the end of the block before: the text may have begun in it
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

// hubName is the program of a fleet's server. It is copied too if it is beside this program.
const hubName = "resumed-hub"

// copies returns which programs have to be copied, and where to.
func (s spec) copies() (from, to []string) {
	if s.copyOf == "" {
		return nil, nil
	}
	from, to = []string{s.copyOf}, []string{s.program}
	if hub := filepath.Join(filepath.Dir(s.copyOf), hubName); isResumed(hub) {
		from, to = append(from, hub), append(to, filepath.Join(filepath.Dir(s.program), hubName))
	}
	return from, to
}

// copyPrograms copies the programs to where the service will find them, if it has to, and returns what it
// made.
func (i Installer) copyPrograms(s spec) (made []string, err error) {
	from, to := s.copies()
	for n, path := range to {
		fresh, err := copyProgram(from[n], path)
		made = append(made, fresh...)
		if err != nil {
			return made, hint.With(
				fmt.Errorf("this program %s, and cannot be copied to %s: %w", s.temporary, path, err),
				"put it where it stays, such as /usr/local/bin, and run it from there",
			)
		}
	}
	if len(to) > 0 {
		fmt.Fprintf(i.Err, "This program %s, so this copy is used: %s\n", s.temporary, s.program)
		i.sayIfNotInPath(s.program)
	}
	return made, nil
}

// copyProgram copies a program over one of ours or to where there is none, and returns what was not there before.
func copyProgram(from, to string) (made []string, err error) {
	there := exists(to)
	if there && !isResumed(to) {
		return nil, errors.New("another program is there")
	}
	if made, err = makeDirs(filepath.Dir(to)); err != nil {
		return made, err
	}
	program, err := os.Open(from)
	if err != nil {
		return made, err
	}
	defer program.Close()
	if err := atomicfile.Copy(to, program, 0o755); err != nil {
		return made, err
	}
	if !there {
		made = append(made, to)
	}
	return made, nil
}

// sayIfNotInPath says what makes a shell find the program: every command that is printed anywhere
// begins with its name.
func (i Installer) sayIfNotInPath(program string) {
	found, err := exec.LookPath("resumed")
	switch dir := filepath.Dir(program); {
	case err == nil && sameFile(found, program):
	case err == nil:
		fmt.Fprintf(i.Err, "The resumed that your shell finds is another one, %s; the service runs %s\n", found, program)
	case !slices.Contains(filepath.SplitList(os.Getenv("PATH")), dir):
		fmt.Fprintf(i.Err, "Your PATH does not have %s. Add this to ~/.profile, ~/.bashrc or ~/.zshrc, and open a new terminal:\n  export PATH=\"%s:$PATH\"\n", dir, dir)
	}
}

func sameFile(a, b string) bool {
	first, errA := os.Stat(a)
	second, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(first, second)
}
