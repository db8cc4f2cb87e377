package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

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
	for i := range c.Agents {
		a, key := &c.Agents[i], index("agent", i)
		r.paths(key+".roots", a.Roots)
		r.paths(key+".files", a.Files)
		r.path(key+".cwd", &a.Cwd)
		r.path(key+".env_file", &a.EnvFile)
		r.program(key+".command", &a.Command)
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
