package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"

	"resumed/internal/dirs"
	"resumed/internal/lazy"
	"resumed/internal/ownership"
)

// Find returns the file in use: the flag's, else $RESUMED_CONFIG, else the user's, else the system's,
// or "" if there is none. A file that was named must exist.
func Find(flag string, getenv func(string) string) (string, error) {
	if flag != "" {
		return named(flag, "configuration")
	}
	if path := getenv("RESUMED_CONFIG"); path != "" {
		return named(path, "RESUMED_CONFIG")
	}
	for _, path := range Places(getenv) {
		_, err := os.Stat(path)
		switch {
		case err == nil:
			return path, nil
		case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR):
			return "", fmt.Errorf("look for configuration: %w", err)
		}
	}
	return "", nil
}

const (
	fileName   = "resumed/resumed.toml"
	systemPath = "/etc/" + fileName
)

// UserPath returns the path of the user's own file, which need not exist, or "" if neither
// $XDG_CONFIG_HOME nor $HOME is set.
func UserPath(getenv func(string) string) string {
	if dir := dirs.Config(getenv); dir != "" {
		return filepath.Join(dir, fileName)
	}
	return ""
}

// Places returns where a file is searched if none was named, best first.
func Places(getenv func(string) string) []string {
	return slices.DeleteFunc([]string{UserPath(getenv), systemPath}, func(path string) bool { return path == "" })
}

func named(path, by string) (string, error) {
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("%s: %w", by, unread(path, err))
	}
	return path, nil
}

// unreadError explains in plain words why a file that was named cannot be read.
type unreadError struct {
	words string
	error
}

func (e unreadError) Error() string { return e.words }
func (e unreadError) Unwrap() error { return e.error }

func unread(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return unreadError{"there is no file " + path, err}
	case errors.Is(err, fs.ErrPermission):
		return unreadError{"you may not read " + path, err}
	case errors.Is(err, syscall.EISDIR):
		return unreadError{path + " is a directory: name a file in it", err}
	default:
		return err
	}
}

type namedPath struct {
	key   string
	leads string // the tag "path" of its key
	value *string
}

// paths returns the paths with one of these tags. Of a command only the program is a path.
func (c *Config) paths(leadTo ...string) []namedPath {
	var all []namedPath
	visit(step{}, reflect.ValueOf(c).Elem(), func(at step, f field, v reflect.Value) {
		leads := f.tag.Get("path")
		element := strings.HasSuffix(at.key, "]")
		switch {
		case !f.scalar() || !slices.Contains(leadTo, leads):
		case leads == "argv" && !strings.HasSuffix(at.key, "[0]"):
		case element || v.String() != "":
			all = append(all, namedPath{at.key, leads, v.Addr().Interface().(*string)})
		}
	})
	return all
}

// resolvePaths expands "~/" and makes paths absolute, relative to the directory of the file.
func (c *Config) resolvePaths(file string) []*Problem {
	var found problems
	for _, p := range c.paths("dir", "pattern", "file", "secret", "command", "argv") {
		resolve := absolute
		switch p.leads {
		case "command":
			resolve = commandLine
		case "argv":
			resolve = program
		}
		full, err := resolve(file, *p.value)
		if err != nil {
			found.add(p.key, *p.value, "%s", err)
			continue
		}
		*p.value = full
	}
	return found
}

// program does not change a plain name, which is looked up in PATH.
func program(file, name string) (string, error) {
	if strings.Contains(name, "/") || strings.HasPrefix(name, "~") {
		return absolute(file, name)
	}
	return name, nil
}

// commandLine resolves the program of a command line, or the whole line if it is a file with spaces in
// its name. The other words are arguments.
func commandLine(file, line string) (string, error) {
	name, rest, several := strings.Cut(strings.TrimSpace(line), " ")
	if !several {
		return program(file, line)
	}
	if whole, err := absolute(file, line); err == nil {
		if info, err := os.Stat(whole); err == nil && info.Mode().IsRegular() {
			return whole, nil
		}
	}
	name, err := program(file, name)
	return name + " " + rest, err
}

func absolute(file, path string) (string, error) {
	if path == "" {
		return "", errors.New("must not be empty")
	}
	if rest, ok := strings.CutPrefix(path, "~"); ok {
		if rest != "" && rest[0] != '/' {
			return "", errors.New("~ stands for your own home only: write ~/… or the whole path")
		}
		home, err := os.UserHomeDir()
		if err != nil || !filepath.IsAbs(home) {
			return "", errors.New("~ is not known because HOME is not set: write the whole path")
		}
		return filepath.Join(home, rest), nil
	}
	if filepath.IsAbs(path) {
		return filepath.Clean(path), nil
	}
	dir, err := directory(file)
	return filepath.Join(dir, path), err
}

func directory(path string) (string, error) {
	full, err := filepath.Abs(path)
	return filepath.Dir(full), err
}

// Environment returns the variables that are added to an agent's resumes: the lines of env_file, then
// env. The file is read for every resume, so a renewed token needs no reload.
func (a Agent) Environment(trust ownership.Trust) ([]string, error) {
	if a.EnvFile == "" {
		return a.Env, nil
	}
	data, err := readTrusted(trust, a.EnvFile)
	if err != nil {
		return nil, fmt.Errorf("read env_file of agent %s: %w", a.Name, err)
	}
	var env []string
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, found := strings.Cut(strings.TrimPrefix(line, "export "), "=")
		if !found || !envKey().MatchString(name) {
			return nil, fmt.Errorf("read env_file of agent %s: %s:%d: must be KEY=value", a.Name, a.EnvFile, n)
		}
		env = append(env, name+"="+unquote(value))
	}
	return append(env, a.Env...), nil
}

// unquote removes one pair of quotes, as shells and systemd do.
func unquote(s string) string {
	if len(s) >= 2 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	return s
}

// ReadSecret returns a secret, from the file if one is named. The caller adds the name of the key to an
// error.
func ReadSecret(trust ownership.Trust, given Secret, file string) (Secret, error) {
	if file == "" {
		return given, nil
	}
	data, err := readTrusted(trust, file)
	if err != nil {
		return "", err
	}
	text := strings.TrimSpace(string(data))
	if text == "" {
		return "", fmt.Errorf("%s is empty", file)
	}
	return Secret(text), nil
}

// largestFile is far more than a person writes: a path that leads to a log or a device is refused
// before it fills the memory.
const largestFile = 1 << 20

// ReadFile reads a configuration that only the user or root can have written: other trusted users are
// named in the file itself.
func ReadFile(path string) ([]byte, error) { return readTrusted(ownership.Trust{}, path) }

func readTrusted(trust ownership.Trust, path string) ([]byte, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() { // whoever may write to it
		return nil, unread(path, &fs.PathError{Op: "read", Path: path, Err: syscall.EISDIR})
	}
	f, err := trust.Open(path)
	if err != nil {
		return nil, unread(path, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, largestFile+1))
	if err != nil {
		return nil, unread(path, err)
	}
	if len(data) > largestFile {
		return nil, fmt.Errorf("%s: larger than %s: not a configuration file", path, Size(largestFile))
	}
	return data, nil
}

var envKey = lazy.Regexp(`^[A-Za-z_][A-Za-z0-9_]*$`)

// foreignFiles returns problems for secret files that another user can have written. Files that cannot
// be read are reported when they are read.
func (c *Config) foreignFiles() []*Problem {
	var found problems
	for _, f := range c.paths("secret") {
		if wrong, ok := errors.AsType[*ownership.Error](c.Resume.Trust().Check(*f.value)); ok {
			found.add(f.key, *f.value, "is not obeyed: %s", wrong)
		}
	}
	return found
}
