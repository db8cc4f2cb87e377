// Package configs holds the commented configuration file that `resumed config init` writes, and
// descriptions of agents that are not built in.
package configs

import (
	"embed"
	"path"
	"strings"
)

// Template is a configuration file with every key at its default.
//
//go:embed resumed.toml
var Template string

//go:embed agents/*.toml
var recipes embed.FS

// Recipes returns the names of the agents that have a description, sorted.
func Recipes() []string {
	entries, _ := recipes.ReadDir("agents") // embedded
	var names []string
	for _, entry := range entries {
		names = append(names, strings.TrimSuffix(entry.Name(), ".toml"))
	}
	return names
}

// Recipe returns the description of an agent, as a part of a configuration file.
func Recipe(name string) (string, bool) {
	text, err := recipes.ReadFile(path.Join("agents", name+".toml"))
	return string(text), err == nil
}
