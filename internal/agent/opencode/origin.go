package opencode

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/agent/opencode/processes"
	"resumed/internal/childenv"
	"resumed/internal/dirs"
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
		table = append(table, agent.VariablesIn(reference, a.brand.configsOf(dir)...))
	}
	o := a.OriginBy(table, pid, secrets)
	if o != nil {
		o.Server = processes.IsServer(args)
	}
	return o
}

// Variables are those that matter to the agent, and those that its configuration names.
func (a *Agent) Variables() leash.Variables {
	files := a.brand.configsIn(filepath.Join(dirs.Config(os.Getenv), a.brand.program), os.Getenv(a.brand.variable("CONFIG_DIR")))
	return append(a.Base.Variables(), agent.VariablesIn(reference, append(files, os.Getenv(a.brand.variable("CONFIG")))...))
}

// reference matches a reference to an environment variable in a configuration.
var reference = regexp.MustCompile(`\{env:([A-Za-z_][A-Za-z0-9_]*)\}`)

// spare returns which variables a session with this provider does not need: the keys of other providers. nil:
// not known.
func (a *Agent) spare(provider, dir string) func(string) bool {
	own, known := keysOf[provider]
	switch {
	case slices.Contains(strings.Fields(plainProviders), provider):
		own = strings.ToUpper(provider) + "_*"
	case !known:
		return nil
	}
	configured := a.Variables()[len(a.Base.Variables()):]
	return agent.Spare(append(configured, agent.VariablesIn(reference, a.brand.configsOf(dir)...), leash.Row{Names: own}), providerVariables)
}

// Identity returns the stored credential of the session's provider, which identifies the account on
// every machine: its key, or the account id of its login.
func (a *Agent) Identity(s resume.Session, environ []string) string {
	at := slices.IndexFunc(a.homes.Roots, func(root string) bool { return a.homes.Account(root) == s.Account })
	instead := childenv.Value(environ, a.brand.variable("AUTH_CONTENT")) != "" // it replaces the file
	if at < 0 || a.server != nil || s.Provider == "" || instead {
		return ""
	}
	var stored map[string]struct {
		Type    string `json:"type"`
		Key     string `json:"key"`
		Account string `json:"accountId"`
	}
	agent.ReadJSON(filepath.Join(a.homes.Roots[at], "auth.json"), &stored)
	switch login := stored[s.Provider]; {
	case login.Type == "api" && login.Key != "":
		return "key " + login.Key
	case login.Type == "oauth" && login.Account != "":
		return "login " + login.Account
	default:
		return ""
	}
}
