package config

import (
	"maps"
	"os"
	"slices"
	"strings"
)

const envPrefix = "RESUMED_"

// override is a value that the environment gives to a key.
type override struct {
	name  string // of the variable
	text  string // as it is there
	value any    // as the key holds it
}

// envName returns the variable that overrides a key, or "" where none does:
// only single values of a section can be overridden.
func envName(f field) string {
	if !f.scalar() || strings.Contains(f.path, "[]") || strings.Count(f.path, ".") != 1 {
		return ""
	}
	return envPrefix + strings.ToUpper(strings.ReplaceAll(f.path, ".", "_"))
}

// readEnvironment returns what the environment says, by key. An empty variable
// says nothing.
func readEnvironment() (map[string]override, []*Problem) {
	found := map[string]override{}
	var bad []*Problem
	for _, path := range slices.Sorted(maps.Keys(schema())) {
		name := envName(schema()[path])
		if name == "" {
			continue
		}
		text := os.Getenv(name)
		if text == "" {
			continue
		}
		value, want := schema()[path].fromText(text)
		if want != "" {
			bad = append(bad, &Problem{Env: name, Key: path, Value: display(text), Want: want})
			continue
		}
		found[path] = override{name, text, value}
	}
	return found, bad
}

// unknownVariables returns the variables that look like overrides and are
// none. Others that begin with RESUMED_ belong to somebody else.
func unknownVariables(environ []string) []string {
	known := map[string]bool{}
	var sections []string
	for path, f := range schema() {
		known[envName(f)] = true
		if f.kind == kindTable && path != "" && !strings.ContainsAny(path, ".[") {
			sections = append(sections, envPrefix+strings.ToUpper(path)+"_")
		}
	}
	var unknown []string
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		inSection := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
		if !known[name] && slices.ContainsFunc(sections, inSection) {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	return unknown
}
