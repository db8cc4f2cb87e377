package config

import (
	"cmp"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Warnings returns advice about a valid configuration: secrets that others can read, missing files,
// variables that override nothing, a page that other machines can reach.
func Warnings(path string, c Config) []string {
	var found []string
	warn := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }

	if path != "" && c.holdsSecret() && readableByOthers(path) {
		warn("%s holds a secret and others can read it: chmod 600 %s", path, path)
	}
	for _, f := range c.paths("secret") {
		if _, err := os.Stat(*f.value); err != nil {
			warn("%s: %v", f.key, unread(*f.value, err))
		} else if readableByOthers(*f.value) {
			warn("%s: others can read %s: chmod 600 %s", f.key, *f.value, *f.value)
		}
	}
	for _, d := range c.paths("dir", "pattern") {
		dir := *d.value
		if d.leads == "pattern" {
			dir = filepath.Dir(dir)
		}
		if c.disabled(d.key) || strings.ContainsAny(dir, `*?[`) && d.leads == "pattern" {
			continue
		}
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			warn("%s: there is no directory %s%s", d.key, dir, besideFile(path, dir))
		}
	}
	for _, p := range c.paths("command", "argv") {
		name := *p.value
		if p.leads == "command" && !runnable(name) { // else it may be a path with spaces
			name, _, _ = strings.Cut(name, " ")
		}
		where := "in PATH: write its full path"
		if strings.Contains(name, "/") {
			where = "that can be run"
		}
		if !c.disabled(p.key) && !runnable(name) {
			warn("%s: there is no program %s %s", p.key, name, where)
		}
	}
	found = append(found, c.Resume.strangers()...)
	if c.Notify.DigestAt != Default().Notify.DigestAt && !c.Notify.tells("digest") {
		warn(`notify.digest_at = %q has no effect: add "digest" to notify.events`, c.Notify.DigestAt)
	}
	found = append(found, unknownVariables(os.Environ())...)
	if c.HTTP.Listen != "" && !loopback(c.HTTP.Listen) {
		_, port, _ := net.SplitHostPort(c.HTTP.Listen)
		warn("http.listen = %q can be reached from other machines: write 127.0.0.1:%s for this one alone", c.HTTP.Listen, port)
	}
	return found
}

// besideFile explains a path that was most likely written without its beginning.
func besideFile(file, path string) string {
	dir, err := directory(file)
	if file == "" || err != nil || !strings.HasPrefix(path, dir+"/") {
		return ""
	}
	return ", beside this file: write the full path, or begin with ~/"
}

func (c Config) disabled(key string) bool {
	for i, a := range c.Agents {
		if !a.Enabled && strings.HasPrefix(key, index("agent", i)+".") {
			return true
		}
	}
	return false
}

func runnable(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}

// strangers reports trusted users and groups that do not exist here: they may be misspelt.
func (r Resume) strangers() []string {
	var unknown []string
	look := func(key, what string, names []string, lookup func(string) error) {
		for i, name := range names {
			if _, err := strconv.Atoi(name); name != "*" && err != nil && lookup(name) != nil {
				unknown = append(unknown, fmt.Sprintf("%s: there is no %s %s here", index(key, i), what, name))
			}
		}
	}
	look("resume.trusted_users", "user", r.TrustedUsers, func(name string) error { _, err := user.Lookup(name); return err })
	look("resume.trusted_groups", "group", r.TrustedGroups, func(name string) error { _, err := user.LookupGroup(name); return err })
	return unknown
}

func (n Notify) tells(event string) bool {
	for _, ch := range n.channels() {
		if slices.Contains(ch.Events, event) {
			return true
		}
	}
	return false
}

func readableByOthers(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().Perm()&0o044 != 0
}

// unknownVariables returns warnings about variables that look like overrides and are not: they name a
// section, a key without its section, a list, or are misspelt. Others that begin with RESUMED_ belong to
// other programs.
func unknownVariables(environ []string) []string {
	known, bare := []string{"RESUMED_CONFIG"}, map[string]string{}
	var lists, sections []string
	for path, f := range schema() {
		_, key, _ := strings.Cut(path, ".")
		switch name := envName(f); {
		case name != "":
			known = append(known, name)
			bare[envVariable(key)] = name
		case f.kind == kindList:
			lists = append(lists, envVariable(path))
		case f.kind == kindTable && path != "" && !strings.ContainsAny(path, ".["):
			sections = append(sections, envVariable(path)+"_")
		}
	}
	slices.Sort(known)
	var unknown []string
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		if !strings.HasPrefix(name, envPrefix) || slices.Contains(known, name) {
			continue
		}
		warning := fmt.Sprintf("the environment has %s, which overrides no key", name)
		inSection := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
		switch meant := cmp.Or(closest(strings.ToLower(name), known, 3), bare[name]); {
		case meant != "":
			unknown = append(unknown, warning+": did you mean "+meant+"?")
		case slices.Contains(lists, name):
			unknown = append(unknown, warning+": a list is set in the file only")
		case slices.ContainsFunc(sections, inSection):
			unknown = append(unknown, warning)
		}
	}
	slices.Sort(unknown)
	return unknown
}
