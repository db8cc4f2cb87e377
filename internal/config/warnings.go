package config

import (
	"fmt"
	"net"
	"os"
)

// Warnings returns what a person should know about a configuration that is
// otherwise good: secrets that others can read, files that are not there,
// variables that override nothing, a page that other machines can reach.
func Warnings(path string, c Config) []string {
	var found []string
	warn := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }

	if path != "" && c.holdsSecret() && readableByOthers(path) {
		warn("%s holds a secret and others can read it: chmod 600 %s", path, path)
	}
	for _, f := range c.secretFiles() {
		if _, err := os.Stat(f.path); err != nil {
			warn("%s: %v", f.key, err)
		} else if readableByOthers(f.path) {
			warn("%s: others can read %s: chmod 600 %s", f.key, f.path, f.path)
		}
	}
	for _, name := range unknownVariables(os.Environ()) {
		warn("the environment has %s, which overrides no key", name)
	}
	if c.HTTP.Listen != "" && !loopback(c.HTTP.Listen) {
		warn("http.listen = %q can be reached from other machines", c.HTTP.Listen)
	}
	return found
}

type secretFile struct{ key, path string }

func (c Config) secretFiles() []secretFile {
	var all []secretFile
	add := func(key, path string) {
		if path != "" {
			all = append(all, secretFile{key, path})
		}
	}
	for i, a := range c.Agents {
		add(index("agent", i)+".env_file", a.EnvFile)
	}
	for i, w := range c.Notify.Webhook {
		add(index("notify.webhook", i)+".url_file", w.URLFile)
		add(index("notify.webhook", i)+".secret_file", w.SecretFile)
	}
	for i, s := range c.Notify.Service {
		add(index("notify.service", i)+".url_file", s.URLFile)
	}
	return all
}

func readableByOthers(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().Perm()&0o044 != 0
}

func loopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
