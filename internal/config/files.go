package config

import (
	"fmt"
	"os"
	"strings"
)

// Environment returns what is added to the environment of an agent's resumed
// runs: the lines of env_file, then env. It is read anew for every run, so a
// renewed token needs no reload.
func (a Agent) Environment() ([]string, error) {
	if a.EnvFile == "" {
		return a.Env, nil
	}
	data, err := os.ReadFile(a.EnvFile)
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
func (w Webhook) Address() (Secret, error) { return secretFrom(w.URL, w.URLFile) }

// Key returns the secret that signs bodies, from secret or secret_file; ""
// where they are not signed.
func (w Webhook) Key() (Secret, error) {
	return secretFrom(w.Secret, w.SecretFile)
}

// Address returns the service's URL, from url or url_file.
func (s Service) Address() (Secret, error) { return secretFrom(s.URL, s.URLFile) }

// secretFrom leaves it to the caller to say which key of whom it reads.
func secretFrom(given Secret, file string) (Secret, error) {
	if file == "" {
		return given, nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	text := strings.TrimSpace(string(data))
	if text == "" {
		return "", fmt.Errorf("%s is empty", file)
	}
	return Secret(text), nil
}
