package config

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Known are the agents that are built in: their entries change them, and
// describe nothing.
type Known []Builtin

// Builtin is an agent that needs no entry.
type Builtin struct {
	Name   string
	Server bool // it can be reached through a server, which its entry may name
}

// names returns those of the agents that is picks.
func (k Known) names(is func(Builtin) bool) []string {
	var names []string
	for _, b := range k {
		if is(b) {
			names = append(names, b.Name)
		}
	}
	return names
}

func (c Config) validateAgents(found *problems, known Known) {
	builtin := known.names(func(Builtin) bool { return true })
	servers := known.names(func(b Builtin) bool { return b.Server })

	names := map[string]int{}
	for i, a := range c.Agents {
		key := index("agent", i)
		if found.name(key+".name", a.Name) {
			first, taken := names[a.Name]
			found.check(!taken, key+".name", a.Name, "must be unique: agent[%d] has it too", first)
			names[a.Name] = i
		}
		if a.Policy != "" {
			_, ok := c.NamedPolicy(a.Policy)
			found.check(ok, key+".policy", a.Policy, "%s", oneOf(a.Policy, c.PolicyNames()))
		}
		found.environment(key+".env", a.Env)
		if slices.Contains(builtin, a.Name) {
			a.validateBuiltin(found, key, servers)
		} else {
			a.validateCustom(found, key, builtin)
		}
	}
}

var envKey = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// environment checks KEY=value entries. Values are secrets: they are not shown.
func (ps *problems) environment(key string, env []string) {
	for i, kv := range env {
		name, _, found := strings.Cut(kv, "=")
		ok := found && envKey.MatchString(name) && !strings.ContainsRune(kv, 0)
		ps.check(ok, index(key, i), nil, `must be "KEY=value", the key of letters, digits and '_'`)
	}
}

// given is a key, and whether it has a value.
type given struct {
	key string
	set bool
}

// unused refuses keys that would have no effect where they stand.
func (ps *problems) unused(table, want string, keys []given) {
	for _, k := range keys {
		ps.check(!k.set, table+"."+k.key, nil, "%s", want)
	}
}

func (a Agent) validateBuiltin(found *problems, key string, servers []string) {
	found.check(a.Kind == "", key+".kind", a.Kind, "must not be set: %s is built in; for an agent of your own choose another name", a.Name)
	found.unused(key, "is for custom agents only: "+a.Name+" is built in", []given{
		{"files", a.Files != nil}, {"session", a.Session != ""}, {"cwd", a.Cwd != ""},
		{"limit", a.Limit != nil}, {"progress", a.Progress != nil}, {"resume", a.Resume != nil},
	})
	found.absolute(key+".roots", a.Roots)
	if a.Server != "" {
		found.check(slices.Contains(servers, a.Name), key+".server", a.Server, "is for %s only", strings.Join(servers, ", "))
		found.check(isWebURL(a.Server), key+".server", a.Server, "must be an http or https URL")
	}
}

func (a Agent) validateCustom(found *problems, key string, builtin []string) {
	if a.Kind != KindCustom {
		want := fmt.Sprintf(`must be "custom" for an agent that is not built in (%s)`, strings.Join(builtin, ", "))
		if near := nearest(a.Name, builtin); near != "" && a.Kind == "" {
			want += fmt.Sprintf("; did you mean the name %s?", near)
		}
		var value any
		if a.Kind != "" {
			value = a.Kind
		}
		found.add(key+".kind", value, "%s", want)
		if a.Kind == "" {
			return // what else it lacks follows from that
		}
	}
	found.unused(key, "is for built-in agents only", []given{
		{"roots", a.Roots != nil}, {"command", a.Command != ""}, {"server", a.Server != ""},
	})
	found.check(a.Files != nil, key+".files", nil, "must name the files that the agent writes")
	found.absolute(key+".files", a.Files)
	for i, pattern := range a.Files {
		_, err := filepath.Match(pattern, "")
		found.check(err == nil, index(key+".files", i), pattern, `must be a path or a pattern of *, ? and […], such as "~/logs/*.log"`)
		found.check(!strings.Contains(pattern, "**"), index(key+".files", i), pattern,
			"has **, which is not known here; name every level, such as \"~/logs/*.log\" and \"~/logs/*/*.log\"")
	}
	a.validatePatterns(found, key)
	a.validateResume(found, key)
}

func (a Agent) validatePatterns(found *problems, key string) {
	if a.Session == "" {
		found.add(key+".session", nil, "must be a regexp with a group that is the session's id")
	} else if re := found.pattern(key+".session", a.Session, "session", "cwd"); re != nil {
		found.check(re.NumSubexp() > 0, key+".session", a.Session, "must have a group that is the session's id, such as '([^/]+)\\.log$'")
		onlyCwd := re.NumSubexp() == 1 && re.SubexpIndex("cwd") > 0
		found.check(!onlyCwd, key+".session", a.Session, "must have a group that is the session's id, beside the group cwd")
	}
	found.check(a.Limit != nil, key+".limit", nil, "must have a regexp for the lines that say the agent is limited")
	for i, pattern := range a.Limit {
		at := index(key+".limit", i)
		if re := found.pattern(at, pattern, groups()...); re != nil {
			both := re.SubexpIndex("after") > 0 && re.SubexpIndex("at") > 0
			found.check(!both, at, pattern, "must have the group after or the group at, not both")
		}
	}
	for i, pattern := range a.Progress {
		found.pattern(index(key+".progress", i), pattern, groups()...)
	}
}

// groups returns the groups that mean something in a custom agent's regexps.
func groups() []string { return []string{"session", "cwd", "after", "at", "class"} }

// pattern compiles a regexp and refuses groups that mean nothing there. It
// returns nil for one that does not compile.
func (ps *problems) pattern(key, pattern string, allowed ...string) *regexp.Regexp {
	if pattern == "" {
		ps.add(key, pattern, "must not be empty: it would match every line")
		return nil
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		ps.add(key, pattern, "must be a regexp: %s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
		return nil
	}
	for _, name := range re.SubexpNames() {
		if name != "" && !slices.Contains(allowed, name) {
			ps.add(key, pattern, "has the group %s; groups here are %s", name, strings.Join(allowed, ", "))
		}
	}
	return re
}

// placeholders returns what stands for a session's own values in a command.
func placeholders() []string { return []string{"{session}", "{prompt}", "{cwd}"} }

var placeholder = regexp.MustCompile(`\{[A-Za-z_]+\}`)

func (a Agent) validateResume(found *problems, key string) {
	key += ".resume"
	if len(a.Resume) == 0 {
		found.add(key, nil, `must be the command that continues a session, such as ["mybot", "--resume", "{session}"]`)
		return
	}
	for i, arg := range a.Resume {
		at := index(key, i)
		if i == 0 {
			found.check(strings.TrimSpace(arg) != "", at, arg, "must be a program")
			found.check(!placeholder.MatchString(arg), at, arg, "must be a fixed program, without a placeholder")
			continue
		}
		found.check(!strings.ContainsRune(arg, 0), at, arg, "must not contain a NUL")
		for _, p := range placeholder.FindAllString(arg, -1) {
			if !slices.Contains(placeholders(), p) {
				found.add(at, arg, "has the placeholder %s; there are %s", p, strings.Join(placeholders(), ", "))
			}
		}
	}
}
