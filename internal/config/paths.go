package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"resumed/internal/dirs"
	"resumed/internal/ownership"
)

// Find returns the file that is in force: the flag's, else $RESUMED_CONFIG,
// else the user's, else the system's; "" where there is none. A file that was
// named must be there.
func Find(flag string, getenv func(string) string) (string, error) {
	if flag != "" {
		return named(flag, "configuration")
	}
	if path := getenv("RESUMED_CONFIG"); path != "" {
		return named(path, "RESUMED_CONFIG")
	}
	return firstOf(places(getenv))
}

const (
	fileName   = "resumed/resumed.toml"
	systemPath = "/etc/" + fileName
)

// UserPath returns where the user's own file is or would be; "" where neither
// $XDG_CONFIG_HOME nor $HOME says.
func UserPath(getenv func(string) string) string {
	if dir := dirs.Config(getenv); dir != "" {
		return filepath.Join(dir, fileName)
	}
	return ""
}

// places returns where a file is looked for that nobody named, best first.
func places(getenv func(string) string) []string {
	if user := UserPath(getenv); user != "" {
		return []string{user, systemPath}
	}
	return []string{systemPath}
}

func named(path, by string) (string, error) {
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("%s: %w", by, unread(path, err))
	}
	return path, nil
}

// unreadError says in plain words why a file that was named cannot be read.
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

// firstOf returns the first path that exists, or "".
func firstOf(paths []string) (string, error) {
	for _, path := range paths {
		_, err := os.Stat(path)
		switch {
		case err == nil:
			return path, nil
		case !missing(err):
			return "", fmt.Errorf("look for configuration: %w", err)
		}
	}
	return "", nil
}

func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// resolver makes the paths of a file absolute.
type resolver struct {
	file  string
	found problems
}

// resolvePaths expands "~/" and makes paths absolute, from the directory of
// the file that names them.
func (c *Config) resolvePaths(file string) []*Problem {
	r := resolver{file: file}
	r.paths("resume.include", c.Resume.Include)
	r.paths("resume.exclude", c.Resume.Exclude)
	for i := range c.Resume.Priority {
		r.path(index("resume.priority", i)+".dir", &c.Resume.Priority[i].Dir)
	}
	r.path("fleet.credentials_file", &c.Fleet.CredentialsFile)
	r.path("fleet.ca_file", &c.Fleet.CAFile)
	for i := range c.Agents {
		a, key := &c.Agents[i], index("agent", i)
		r.paths(key+".roots", a.Roots)
		r.paths(key+".files", a.Files)
		r.path(key+".cwd", &a.Cwd)
		r.path(key+".about", &a.About)
		r.path(key+".env_file", &a.EnvFile)
		r.path(key+".own_key_file", &a.OwnKeyFile)
		r.commandLine(key+".command", &a.Command)
		r.argv(key+".resume", a.Resume)
	}
	for i := range c.Notify.Webhook {
		w, key := &c.Notify.Webhook[i], index("notify.webhook", i)
		r.path(key+".url_file", &w.URLFile)
		r.path(key+".secret_file", &w.SecretFile)
	}
	for i := range c.Notify.Service {
		r.path(index("notify.service", i)+".url_file", &c.Notify.Service[i].URLFile)
	}
	for i := range c.Notify.Command {
		r.argv(index("notify.command", i)+".run", c.Notify.Command[i].Run)
	}
	return r.found
}

func (r *resolver) paths(key string, list []string) {
	for i := range list {
		if list[i] == "" {
			r.found.add(index(key, i), "", "must not be empty")
			continue
		}
		r.path(index(key, i), &list[i])
	}
}

func (r *resolver) path(key string, p *string) {
	if *p == "" {
		return
	}
	full, err := r.absolute(*p)
	if err != nil {
		r.found.add(key, *p, "%s", err)
		return
	}
	*p = full
}

// argv resolves a command's program; its arguments are the program's matter.
func (r *resolver) argv(key string, argv []string) {
	if len(argv) > 0 {
		r.program(index(key, 0), &argv[0])
	}
}

// program leaves a plain name alone: that is looked up in PATH.
func (r *resolver) program(key string, p *string) {
	if strings.Contains(*p, "/") || strings.HasPrefix(*p, "~") {
		r.path(key, p)
	}
}

// commandLine resolves the program of a command line, or a path with spaces in it if that
// is a file. The other words are the program's matter, with slashes or without.
func (r *resolver) commandLine(key string, p *string) {
	program, rest, several := strings.Cut(strings.TrimSpace(*p), " ")
	if !several {
		r.program(key, p)
		return
	}
	if whole, err := r.absolute(*p); err == nil {
		if info, err := os.Stat(whole); err == nil && info.Mode().IsRegular() {
			*p = whole
			return
		}
	}
	r.program(key, &program)
	*p = program + " " + rest
}

func (r *resolver) absolute(p string) (string, error) {
	if rest, ok := strings.CutPrefix(p, "~"); ok {
		if rest != "" && rest[0] != '/' {
			return "", errors.New("~ stands for your own home only: write ~/… or the whole path")
		}
		home, err := os.UserHomeDir()
		if err != nil || !filepath.IsAbs(home) {
			return "", errors.New("~ is not known because HOME is not set: write the whole path")
		}
		return filepath.Join(home, rest), nil
	}
	if filepath.IsAbs(p) {
		return filepath.Clean(p), nil
	}
	dir, err := directory(r.file)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, p), nil
}

// directory returns where the relative paths of a file begin.
func directory(path string) (string, error) {
	full, err := filepath.Abs(path)
	return filepath.Dir(full), err
}

// Environment returns what is added to the environment of an agent's resumed
// runs: the lines of env_file, then env. It is read anew for every run, so a
// renewed token needs no reload.
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
		if !found || !envKey.MatchString(name) {
			return nil, fmt.Errorf("read env_file of agent %s: %s:%d: must be KEY=value", a.Name, a.EnvFile, n)
		}
		env = append(env, name+"="+unquote(value))
	}
	return append(env, a.Env...), nil
}

// unquote takes one pair of quotes off, as shells and systemd do.
func unquote(s string) string {
	if len(s) >= 2 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	return s
}

// Address returns the URL to post to, from url or url_file.
func (w Webhook) Address(trust ownership.Trust) (Secret, error) {
	return secretFrom(trust, w.URL, w.URLFile)
}

// Key returns the secret that signs bodies, from secret or secret_file; ""
// where they are not signed.
func (w Webhook) Key(trust ownership.Trust) (Secret, error) {
	return secretFrom(trust, w.Secret, w.SecretFile)
}

// Address returns the service's URL, from url or url_file.
func (s Service) Address(trust ownership.Trust) (Secret, error) {
	return secretFrom(trust, s.URL, s.URLFile)
}

// secretFrom leaves it to the caller to say which key of whom it reads.
func secretFrom(trust ownership.Trust, given Secret, file string) (Secret, error) {
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
