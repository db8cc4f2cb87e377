package qwen

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/leash"
	"resumed/internal/resume"
)

// Origin returns what the process was started with.
func (a *Agent) Origin(pid int, secrets bool) *resume.Origin {
	return a.OriginBy(slices.Concat(a.Base.Variables(), a.named(a.Processes.Cwd(pid))), pid, secrets)
}

// Variables are those that matter to Qwen Code, and those that its settings name.
func (a *Agent) Variables() leash.Variables { return slices.Concat(a.Base.Variables(), a.named("")) }

// envKey is how the settings name the variable that holds a provider's key.
var envKey = regexp.MustCompile(`"envKey"\s*:\s*"([A-Za-z_][A-Za-z0-9_]*)"`)

// named returns the variables that the settings name, of the homes and of a
// directory.
func (a *Agent) named(dir string) leash.Variables {
	homes := append([]string{a.Homes.Usual}, a.Homes.Roots...)
	if dir != "" {
		homes = append(homes, filepath.Join(dir, ".qwen"))
	}
	var names []string
	for _, home := range homes {
		text, _ := agent.ReadSettings(filepath.Join(home, "settings.json")) // what cannot be read names nothing
		for _, found := range envKey.FindAllSubmatch(text, -1) {
			names = append(names, string(found[1]))
		}
	}
	return leash.Variables{{Effect: leash.Account, Names: strings.Join(names, " ")}}
}

// spare says which variables a session does without that logs in so: the keys of
// others. nil: nobody knows.
func (a *Agent) spare(auth string, s resume.Session) func(string) bool {
	own, known := keysOf[auth]
	if !known {
		return nil
	}
	needed := slices.Concat(leash.Variables{{Names: own}}, a.named(s.Cwd))
	return func(name string) bool {
		return !needed.Has(name) && leash.Variables{{Names: providerVariables}}.Has(name)
	}
}
