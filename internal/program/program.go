// Package program finds the program of an agent on this machine: as configured, as a session ran
// it, in PATH, or in the usual directories.
package program

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"resumed/internal/lazy"
	"resumed/internal/resume"
)

// Way is how a program was found.
type Way uint8

// The ways, the best first.
const (
	ByConfig  Way = iota + 1 // set by the user
	BySession                // the session's own process ran it
	ByPath                   // in PATH, which `install` stores for the service
	ByPlace                  // in a directory where such programs usually are
)

// String returns it as text for people.
func (w Way) String() string {
	return [...]string{
		0:         "not found",
		ByConfig:  "as configured",
		BySession: "as the session's own process ran it",
		ByPath:    "found in PATH",
		ByPlace:   "found where such programs are usually put",
	}[w]
}

// Found is a program that was found.
type Found struct {
	resume.Program
	Way     Way
	Through []string // replaces the program at the beginning of the command line; empty: nothing does
}

// Search is how the program of an agent is found.
type Search struct {
	Name    string   // the name of the program
	Command string   // its name or path, set by the user; empty: it is searched
	Places  []string // the usual directories
}

// Find returns the program: the configured one, else the one that the session was run with if it
// still exists, else the one in PATH, else the one in the first of the usual directories. If one
// is configured, no other is tried.
func (s Search) Find(recorded resume.Program) (Found, error) {
	if s.Command != "" {
		return configured(s.Command)
	}
	if usable(recorded) {
		return Found{Program: recorded, Way: BySession}, nil
	}
	path, err := lookUp(s.Name)
	if err == nil {
		return Found{Program: resume.Program{Path: path}, Way: ByPath}, nil
	}
	for _, place := range s.Places {
		if path, err := lookUp(filepath.Join(place, s.Name)); err == nil {
			return Found{Program: resume.Program{Path: path}, Way: ByPlace}, nil
		}
	}
	return Found{}, err
}

// configured returns the program that the user set: by its name, by its path, or by a command line
// that ends with it, such as "podman exec box claude".
func configured(command string) (Found, error) {
	path, err := lookUp(command)
	words := strings.Fields(command)
	if err == nil || len(words) < 2 {
		return Found{Program: resume.Program{Path: path}, Way: ByConfig}, err
	}
	path, err = lookUp(words[0])
	words[0] = path
	return Found{Program: resume.Program{Path: path}, Way: ByConfig, Through: words}, err
}

// lookUp finds a program in PATH, or by its path. ~/ is the user's home directory.
func lookUp(name string) (string, error) {
	file := name
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("find program %s: %w", name, err)
		}
		file = filepath.Join(home, rest)
	}
	path, err := exec.LookPath(file)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return "", fmt.Errorf("find program %s: %w", name, err)
	}
	return path, nil
}

// usable reports whether a recorded program can still be run. Another user may have replaced it.
func usable(p resume.Program) bool {
	if p.Interpreter == "" {
		return IsExecutable(p.Path) && isOurs(p.Path)
	}
	info, err := os.Stat(p.Path)
	return err == nil && info.Mode().IsRegular() && isOurs(p.Path) && IsExecutable(p.Interpreter) && isOurs(p.Interpreter)
}

func isOurs(path string) bool {
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm()&0o002 != 0 {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && (stat.Uid == 0 || int(stat.Uid) == os.Getuid())
}

// IsExecutable reports whether the file is a program.
func IsExecutable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

// Argv returns the beginning of the program's command line: its path, preceded by its interpreter
// if a script cannot be run by itself.
func (p Found) Argv() []string {
	if len(p.Through) > 0 {
		return p.Through
	}
	if p.Interpreter == "" || IsExecutable(p.Path) && asksFor(p.Path, p.Interpreter) {
		return []string{p.Path}
	}
	return []string{p.Interpreter, p.Path}
}

// Files returns the programs and scripts that a command in that directory runs; none if its user has named them.
func (p Found) Files(dir string) []string {
	var files []string
	if p.Way == ByConfig {
		return nil
	}
	for _, word := range append([]string{p.Path, p.Interpreter}, p.Through...) {
		switch {
		case !strings.ContainsRune(word, filepath.Separator):
			continue // it is searched in PATH
		case !filepath.IsAbs(word):
			word = filepath.Join(dir, word)
		}
		if info, err := os.Stat(word); err == nil && info.Mode().IsRegular() {
			files = append(files, word)
		}
	}
	return files
}

func asksFor(script, interpreter string) bool {
	asked := strings.Fields(firstLine(script))
	if len(asked) > 1 && filepath.Base(asked[0]) == "env" {
		asked = slices.DeleteFunc(asked[1:], func(word string) bool { return strings.HasPrefix(word, "-") })
	}
	if len(asked) == 0 {
		return false
	}
	if target, err := filepath.EvalSymlinks(asked[0]); err == nil && target == interpreter {
		return true
	}
	// By name: python3 may be python3.11.
	return strings.HasPrefix(filepath.Base(interpreter), filepath.Base(asked[0]))
}

// IsOwnScript reports whether the program is a shell script that belongs to this user.
func IsOwnScript(path string) bool {
	var stat syscall.Stat_t
	return syscall.Stat(path, &stat) == nil && int(stat.Uid) == os.Getuid() &&
		slices.ContainsFunc([]string{"sh", "bash", "dash", "zsh", "ksh", "fish"}, func(shell string) bool { return asksFor(path, shell) })
}

// firstLine returns the text after #! at the beginning of a script.
func firstLine(script string) string {
	f, err := os.Open(script)
	if err != nil {
		return ""
	}
	defer f.Close()
	head := make([]byte, 256)
	n, _ := f.Read(head) // an empty file has no first line
	line, _, _ := strings.Cut(string(head[:n]), "\n")
	rest, ok := strings.CutPrefix(line, "#!")
	if !ok {
		return ""
	}
	return rest
}

// Environment returns env with a PATH that has what the program needs: the directory of its
// interpreter, and its own directory, because a script installed by npm needs the node beside it.
// If the interpreter is known, the program's directory comes last: it may contain many other
// programs of a project. A PATH that env sets stays unchanged, and so does that of a program without a path.
func (p Found) Environment(env []string) []string {
	env = slices.Clone(env)
	if !filepath.IsAbs(p.Path) || slices.ContainsFunc(env, func(pair string) bool { return strings.HasPrefix(pair, "PATH=") }) {
		return env
	}
	had := slices.DeleteFunc(filepath.SplitList(os.Getenv("PATH")), func(dir string) bool { return dir == "" })
	path := slices.Clone(had)
	if p.Interpreter == "" {
		path = withDir(path, filepath.Dir(p.Path), 0)
	} else {
		if dir := filepath.Dir(p.Interpreter); len(had) == 0 || had[0] != dir {
			path = slices.Insert(path, 0, dir)
		}
		path = withDir(path, filepath.Dir(p.Path), len(path))
	}
	if slices.Equal(path, had) {
		return env
	}
	return append(env, "PATH="+strings.Join(path, string(filepath.ListSeparator)))
}

func withDir(dirs []string, dir string, at int) []string {
	if slices.Contains(dirs, dir) {
		return dirs
	}
	return slices.Insert(dirs, at, dir)
}

// UsualPlaces returns the directories where npm and similar tools install programs for the user of
// that home directory: a service often does not have the PATH of the user's shell.
func UsualPlaces(home string) []string {
	var places []string
	for _, dir := range []string{
		".local/bin", ".npm-global/bin", ".npm/bin", ".local/share/pnpm", ".bun/bin", ".volta/bin", ".asdf/shims", ".local/share/mise/shims",
	} {
		places = append(places, filepath.Join(home, dir))
	}
	places = append(places, "/usr/local/bin", "/opt/homebrew/bin")
	for _, pattern := range []string{".nvm/versions/node/*/bin", ".local/share/fnm/node-versions/*/installation/bin"} {
		found, _ := filepath.Glob(filepath.Join(home, pattern)) // fails only for an invalid pattern
		slices.SortFunc(found, newestFirst)
		places = append(places, found...)
	}
	return places
}

var number = lazy.Regexp(`\d+`)

// newestFirst orders paths by the version numbers in them: v22 before v9.
func newestFirst(a, b string) int {
	pad := func(s string) string {
		return number().ReplaceAllStringFunc(s, func(n string) string {
			return strings.Repeat("0", max(0, 12-len(n))) + n
		})
	}
	return strings.Compare(pad(b), pad(a))
}

// Version runs a program with its version flag, and returns its path with the first line of
// output. A program that does not know the flag has an unknown version.
func Version(ctx context.Context, env []string, program, flag string) string {
	const patience = 10 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, flag)
	cmd.Env = append(os.Environ(), env...)
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if err != nil || line == "" {
		return program + " (version unknown)"
	}
	return program + " (" + line + ")"
}
