package config

import (
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"resumed/internal/lazy"
)

func (c Config) validateAgents(found *problems, known Known) {
	builtin := known.names(func(Builtin) bool { return true })
	names := map[string]string{}
	var policies []string
	for i := range c.Backoff.Policies {
		policies = append(policies, index("backoff.policy", i)+".name")
	}
	for i, a := range c.Agents {
		key := index("agent", i)
		found.uniqueName(key, a.Name, names)
		if a.Policy != "" {
			_, ok := c.NamedPolicy(a.Policy)
			found.check(ok, key+".policy", a.Policy, "%s", oneOf(a.Policy, c.PolicyNames()))
			found.follow(key+".policy", policies...)
		}
		found.environment(key+".env", a.Env)
		if a.Account != "" {
			found.wellNamed(key+".account", a.Account)
		}
		if slices.Contains(builtin, a.Name) {
			a.validateBuiltin(found, key, known)
		} else {
			a.validateCustom(found, key, builtin)
		}
	}
}

// environment checks KEY=value entries. Values are secrets: they are not shown.
func (ps *problems) environment(key string, env []string) {
	for i, kv := range env {
		name, _, found := strings.Cut(kv, "=")
		ok := found && envKey().MatchString(name) && !strings.ContainsRune(kv, 0)
		ps.check(ok, index(key, i), nil, `must be "KEY=value", the key of letters, digits and '_'`)
	}
}

// unused refuses keys that are for the other sort of agents: they would have no effect.
func (a Agent) unused(found *problems, key, sort, want string) {
	for name, f := range fieldsOf(reflect.TypeFor[Agent]()) {
		set := f.Tag.Get("for") == sort && !reflect.ValueOf(a).FieldByIndex(f.Index).IsZero()
		found.check(!set, key+"."+name, nil, "%s", want)
	}
}

func (a Agent) validateBuiltin(found *problems, key string, known Known) {
	found.check(a.Kind == "", key+".kind", a.Kind, "must not be set: %s is built in; for an agent of your own choose another name", a.Name)
	a.unused(found, key, "custom", "is for custom agents only: "+a.Name+" is built in")
	if models := known.names(func(b Builtin) bool { return b.Models }); a.FallbackModel != "" {
		found.check(slices.Contains(models, a.Name), key+".fallback_model", a.FallbackModel,
			"is for %s only: no other program has such a flag", strings.Join(models, ", "))
		found.check(modelNames().MatchString(a.FallbackModel), key+".fallback_model", a.FallbackModel,
			`must be the name of a model, such as "sonnet", or several with commas between them`)
	}
}

func (a Agent) validateCustom(found *problems, key string, builtin []string) {
	if a.Kind != KindCustom {
		switch near := nearest(a.Name, builtin); {
		case a.Kind != "":
			found.add(key+".kind", a.Kind, `must be "custom" for an agent of your own`)
		case a.Name == "": // reported already
		case near != "":
			found.add(key+".name", a.Name, `is not built in; did you mean %s? An agent of your own needs kind = "custom"`, near)
		default:
			found.add(key+".name", a.Name, `is not built in; these are: %s. An agent of your own needs kind = "custom"`, strings.Join(builtin, ", "))
		}
		found.follow(key+".name", key+".kind")
		if a.Kind == "" {
			return // the other problems follow from this one
		}
	}
	a.unused(found, key, "built-in", "is for built-in agents only")
	found.check(a.Files != nil, key+".files", nil, "must name the files that the agent writes")
	for i, pattern := range a.Files {
		_, err := filepath.Match(pattern, "")
		found.check(err == nil, index(key+".files", i), pattern, `must be a path or a pattern of *, ? and […], such as "~/logs/*.log"`)
		found.check(!strings.Contains(pattern, "**"), index(key+".files", i), pattern,
			"has **, which is not known here; name every level, such as \"~/logs/*.log\" and \"~/logs/*/*.log\"")
	}
	if a.About != "" {
		_, err := filepath.Match(a.About, "")
		found.check(err == nil && strings.Contains(a.About, "{session}"), key+".about", a.About,
			`must be the path of a session's file, such as "~/sessions/*/{session}.jsonl"`)
	}
	for i, word := range a.Program {
		found.check(word != "" && !strings.ContainsAny(word, "/ "), index(key+".program", i), word,
			`must be the name of a program, or a word of its command line, such as "mybot"`)
	}
	a.validatePatterns(found, key)
	found.check(len(a.Resume) > 0, key+".resume", nil, `must be the command that continues a session, such as ["mybot", "--resume", "{session}"]`)
	found.command(key+".resume", a.Resume)
	a.validateStart(found, key)
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

// groups returns the group names that a custom agent's regexps may use.
func groups() []string {
	return append([]string{"session", "cwd", "after", "at", "class", "time", "zone", "text"}, classNames()...)
}

// pattern compiles a regexp and refuses unknown groups. It returns nil if the regexp does not compile.
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

// placeholders returns the words that are replaced by a session's values in a command.
func placeholders() []string { return []string{"{session}", "{prompt}", "{cwd}"} }

// validateStart checks the command that starts a session. Without the id in it, it would be unknown
// which session was started.
func (a Agent) validateStart(found *problems, key string) {
	if a.Start == nil {
		return
	}
	key += ".start"
	found.command(key, a.Start)
	for _, needed := range []string{"{session}", "{prompt}"} {
		has := slices.ContainsFunc(a.Start, func(arg string) bool { return strings.Contains(arg, needed) })
		found.check(has, key, nil, `must have the placeholder %s, as in ["mybot", "--session", "{session}", "{prompt}"]`, needed)
	}
}

func (ps *problems) command(key string, argv []string) {
	for i, arg := range argv {
		at := index(key, i)
		if i == 0 {
			ps.check(strings.TrimSpace(arg) != "", at, arg, "must be a program")
			ps.check(!placeholder().MatchString(arg), at, arg, "must be a fixed program, without a placeholder")
			continue
		}
		ps.check(!strings.ContainsRune(arg, 0), at, arg, "must not contain a NUL")
		for _, p := range placeholder().FindAllString(arg, -1) {
			if !slices.Contains(placeholders(), p) {
				ps.add(at, arg, "has the placeholder %s; valid here: %s", p, strings.Join(placeholders(), ", "))
			}
		}
	}
}

// modelNames matches model names that can be passed as one argument.
var modelNames = lazy.Regexp(`^[0-9A-Za-z][0-9A-Za-z._:@/\[\]-]*(,[0-9A-Za-z][0-9A-Za-z._:@/\[\]-]*)*$`)

var placeholder = lazy.Regexp(`\{[A-Za-z_]+\}`)
