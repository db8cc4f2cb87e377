package service

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"resumed/internal/agents"
	"resumed/internal/atomicfile"
	"resumed/internal/hint"
	"resumed/internal/sanitize"
)

// whyTemporary returns why the program at path will be removed soon, in words that follow "it", or "".
// A service with such a path works only until the next cleanup.
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

// isGoBuildDir recognizes the directories of go run: a temporary one the first time, then one in the
// build cache that is named by a hash, whatever GOCACHE is.
func isGoBuildDir(part string) bool {
	sum, isEntry := strings.CutSuffix(part, "-d")
	raw, err := hex.DecodeString(sum)
	return strings.HasPrefix(part, "go-build") || isEntry && err == nil && len(raw) == sha256.Size
}

// lastingPath returns where a temporary program is copied to.
func lastingPath() (string, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find the home: %w", err)
	}
	return filepath.Join(home, ".local", "bin", "resumed"), nil
}

// isResumed reports whether a file is a resumed or resumed-hub of any version.
func isResumed(path string) bool {
	text, err := os.ReadFile(path)
	return err == nil && bytes.Contains(text, buildMark())
}

// buildMark returns the start of the build info that the linker adds. It is searched as bytes, because
// debug/buildinfo would add half a megabyte. It is assembled at run time, so that a program that only
// searches for it does not contain it.
func buildMark() []byte {
	start, err := hex.DecodeString("3077af0c9274080241e1c107e6d618e6")
	if err != nil {
		panic(err) // it is a constant
	}
	return append(start, "path\tresumed/cmd/resumed"...) // also matches resumed-hub
}

// hubName is the fleet server. It is copied too if it is next to this program.
const hubName = "resumed-hub"

// copies returns the programs to copy, and their new paths.
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

// copyCommand is what a person types to copy a temporary program to where it stays, as more lines of a
// hint; empty: it stays.
func (s spec) copyCommand() string {
	if s.copyOf == "" {
		return ""
	}
	copying := "install -D -m 755 " + sanitize.ShellWord(s.copyOf) + " " + sanitize.ShellWord(s.program)
	if slices.ContainsFunc(strings.Split(s.copyOf, string(filepath.Separator)), isGoBuildDir) { // it may be gone by then
		copying = "go build -o " + sanitize.ShellWord(s.program) + " ./cmd/resumed"
	}
	return "\n  # first, because this program " + s.temporary + ":\n  " + copying + "\n  export PATH=\"" + filepath.Dir(s.program) + ":$PATH\""
}

// copyPrograms copies the programs for the service, if needed, and returns what it made.
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

// copyProgram copies a program, only over one of ours or to a new path, and returns what it made.
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

// sayIfNotInPath explains how to make the shell find the program: all printed commands need it.
func (i Installer) sayIfNotInPath(program string) {
	found, err := exec.LookPath("resumed")
	switch dir := filepath.Dir(program); {
	case err == nil && sameFile(found, program):
	case err == nil:
		fmt.Fprintf(i.Err, "The resumed that your shell finds is another one, %s; the service runs %s\n", found, program)
	case !slices.Contains(filepath.SplitList(os.Getenv("PATH")), dir):
		fmt.Fprintf(i.Err, "Your PATH does not have %s. Add this to\n~/.profile, ~/.bashrc or ~/.zshrc, and open a new terminal:\n  export PATH=\"%s:$PATH\"\n", dir, dir)
	}
}

func sameFile(a, b string) bool {
	first, errA := os.Stat(a)
	second, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(first, second)
}

// spec describes how a service manager runs the daemon.
type spec struct {
	program   string   // path of this program, or of its copy
	copyOf    string   // the program to copy to that path; "": none
	temporary string   // why it is copied
	config    string   // "": the service finds its own
	user      string   // the user that runs it
	variables []string // KEY=value
}

func (s spec) argv() []string {
	if s.config != "" {
		return []string{s.program, "--config", s.config, "run"}
	}
	return []string{s.program, "run"}
}

// dropIn returns the part of a unit that sets the program and its environment.
func (s spec) dropIn() string {
	var b strings.Builder
	b.WriteString("[Service]\n")
	for _, pair := range s.variables {
		fmt.Fprintf(&b, "Environment=%s\n", quoteForUnit(pair))
	}
	argv := s.argv()
	for i, arg := range argv {
		if filepath.IsAbs(arg) {
			argv[i] = strings.ReplaceAll(quoteForUnit(arg), `$`, `$$`) // systemd expands $ in commands
		}
	}
	fmt.Fprintf(&b, "ExecStart=\nExecStart=%s\n", strings.Join(argv, " "))
	return b.String()
}

// quoteForUnit quotes a word for systemd.
func quoteForUnit(word string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `%`, `%%`, "\n", `\n`).Replace(word) + `"`
}

// recordedPath returns the PATH in the drop-in of an installed service, or "".
func recordedPath(files []ownFile) string {
	for _, f := range present(files) {
		for line := range strings.Lines(f.text) {
			if value, ok := strings.CutPrefix(strings.TrimSpace(line), `Environment="PATH=`); ok {
				return strings.NewReplacer(`\\`, `\`, `\"`, `"`, `%%`, `%`, `\n`, "\n").Replace(strings.TrimSuffix(value, `"`))
			}
		}
	}
	return ""
}

// recordedVariables returns the variables that the daemon needs to find what this shell finds: a
// service gets none of the shell's.
func recordedVariables(getenv func(string) string) []string {
	all := []string{"PATH=" + usablePath(getenv("PATH"))}
	names := []string{"RESUMED_CONFIG", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"}
	for _, b := range agents.Builtin() {
		names = append(names, b.Variables...)
	}
	for _, name := range names {
		if value := getenv(name); value != "" {
			all = append(all, name+"="+value)
		}
	}
	return all
}

// usablePath removes relative and duplicate directories from a PATH.
func usablePath(path string) string {
	var dirs []string
	for _, dir := range filepath.SplitList(path) {
		if filepath.IsAbs(dir) && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	if len(dirs) == 0 {
		dirs = []string{"/usr/local/bin", "/usr/bin", "/bin"}
	}
	return strings.Join(dirs, string(filepath.ListSeparator))
}
