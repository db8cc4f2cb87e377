package opencode

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/agent/opencode/processes"
	"resumed/internal/leash"
	"resumed/internal/process"
	"resumed/internal/resume"
)

// Origin returns what the process that works on the session was started with. If the process only shows
// sessions of a server, that is the server.
func (a *Agent) Origin(pid int, secrets bool) *resume.Origin {
	args := process.ProgramArgs(a.Processes.Argv(pid))
	if url := processes.AttachedTo(args); url != "" {
		if pid = a.finder().ServerAt(url); pid == 0 {
			return nil
		}
		args = process.ProgramArgs(a.Processes.Argv(pid))
	}
	table := a.Variables()
	for dir := a.Processes.Cwd(pid); len(dir) > 1; dir = filepath.Dir(dir) {
		table = append(table, envIn(a.brand.configsOf(dir)...))
	}
	o := a.OriginBy(table, pid, secrets)
	if o != nil {
		o.Server = processes.IsServer(args)
	}
	return o
}

// Variables are those that matter to the agent, and those that its configuration names.
func (a *Agent) Variables() leash.Variables {
	global := filepath.Join(os.Getenv("XDG_CONFIG_HOME"), a.brand.program)
	if !filepath.IsAbs(global) {
		global = filepath.Join(a.UserDir, ".config", a.brand.program)
	}
	files := a.brand.configsIn(global, os.Getenv(a.brand.variable("CONFIG_DIR")))
	return append(a.Base.Variables(), envIn(append(files, os.Getenv(a.brand.variable("CONFIG")))...))
}

// reference matches a reference to an environment variable in a configuration.
var reference = regexp.MustCompile(`\{env:([A-Za-z_][A-Za-z0-9_]*)\}`)

// maxConfig is larger than any configuration.
const maxConfig = 1 << 20

// envIn returns the variables that configuration files name.
func envIn(files ...string) leash.Row {
	var names []string
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil || !info.Mode().IsRegular() || info.Size() > maxConfig {
			continue
		}
		text, _ := agent.ReadSettings(file) // an unreadable file names none
		for _, found := range reference.FindAllSubmatch(text, -1) {
			names = append(names, string(found[1]))
		}
	}
	return leash.Row{Effect: leash.Account, Names: strings.Join(names, " ")}
}

// spare returns which variables a session with this provider does not need: the keys of other providers. nil:
// not known.
func (a *Agent) spare(provider, dir string) func(string) bool {
	own, known := keysOf[provider]
	if !known {
		return nil
	}
	configured := a.Variables()[len(a.Base.Variables()):]
	configured = append(configured, envIn(a.brand.configsOf(dir)...))
	return func(name string) bool {
		needed := slices.Concat(leash.Variables{{Names: own}}, configured)
		return !needed.Has(name) && leash.Variables{{Names: providerVariables}}.Has(name)
	}
}
