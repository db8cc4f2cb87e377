// Package agents is the list of all agents, and makes them from a configuration.
package agents

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"resumed/internal/agent"
	"resumed/internal/agent/claude"
	"resumed/internal/agent/codex"
	"resumed/internal/agent/copilot"
	"resumed/internal/agent/custom"
	"resumed/internal/agent/gemini"
	"resumed/internal/agent/kimi"
	"resumed/internal/agent/opencode"
	"resumed/internal/agent/pi"
	"resumed/internal/agent/qwen"
	"resumed/internal/config"
	"resumed/internal/resume"
	"resumed/internal/usage"
)

// builtin are the built-in agents. A new one is a directory under internal/agent and a line here.
var builtin = []agent.Builtin{
	claude.Builtin,
	codex.Builtin,
	opencode.Builtin,
	opencode.Kilo,
	copilot.Builtin,
	gemini.Builtin,
	qwen.Builtin,
	kimi.Builtin,
	pi.Builtin,
}

// Builtin returns the built-in agents.
func Builtin() []agent.Builtin { return slices.Clone(builtin) }

func named(name string) agent.Builtin {
	for _, b := range builtin {
		if b.Name == name {
			return b
		}
	}
	return agent.Builtin{}
}

// Known returns the built-in agents for the configuration.
func Known() config.Known {
	var known config.Known
	for _, b := range builtin {
		known = append(known, config.Builtin{Name: b.Name, Models: b.Models})
	}
	return known
}

// Titles returns the titles of the built-in agents, by name. A custom agent has only its name.
func Titles() map[string]string {
	titles := make(map[string]string)
	for _, b := range builtin {
		titles[b.Name] = b.Title
	}
	return titles
}

// StatusLine parses the input of a status line command: the session, and the use of its account's allowances.
func StatusLine(said []byte, now time.Time) (session string, readings []usage.Reading) {
	for _, b := range builtin {
		if b.StatusLine != nil && session == "" {
			session, readings = b.StatusLine(said, now)
		}
	}
	return session, readings
}

// ofPlugin is the name under which the plugin that several agents share calls `resumed hook`.
const ofPlugin = "plugin"

// byVariable tells these agents apart: each sets its own variable and those of the agents after it.
var byVariable = []struct{ name, variable string }{
	{copilot.Name, "COPILOT_PLUGIN_ROOT"}, {codex.Name, "PLUGIN_ROOT"}, {claude.Name, "CLAUDE_PLUGIN_ROOT"}, {qwen.Name, ""},
}

// ReadHook parses what an agent tells its hook, and returns its name; "": there is no such agent.
func ReadHook(name string, said []byte, getenv func(string) string) (agentName string, call agent.HookCall) {
	for _, by := range byVariable {
		if name == ofPlugin && (by.variable == "" || getenv(by.variable) != "") {
			name = by.name
		}
	}
	if !CallsHooks(name) {
		return "", agent.HookCall{}
	}
	return name, agent.ReadHook(said, named(name).Plugin.Requests)
}

// CallsHooks reports whether there is an agent of that name, and a plugin with which it calls hooks.
func CallsHooks(name string) bool { return named(name).Plugin != nil }

// RunBy returns the agent whose program a process seems to run: one of these, or a built-in one; "": none.
func RunBy(made map[string]agent.Agent, pid int) string {
	for _, name := range sorted(made) {
		if made[name].Runs(pid) {
			return name
		}
	}
	for _, a := range usual() {
		if a.Runs(pid) {
			return a.Name()
		}
	}
	return ""
}

// usual are the built-in agents as they are without a configuration.
var usual = sync.OnceValue(func() (all []agent.Agent) {
	for _, b := range builtin {
		if a, err := b.New(agent.Options{}); err == nil {
			all = append(all, a)
		}
	}
	return all
})

// CommandVariables are those that built-in agents set for the commands that they run, by the agent.
func CommandVariables() map[string]string {
	variables := make(map[string]string)
	for _, b := range builtin {
		if b.CommandVariable != "" {
			variables[b.Name] = b.CommandVariable
		}
	}
	return variables
}

// StartOf returns what a live process of a built-in agent runs and was started with; nil: not known.
func StartOf(name string, pid int) *resume.Origin {
	b := named(name)
	if b.New == nil {
		return nil
	}
	a, err := b.New(agent.Options{})
	if err != nil {
		return nil
	}
	return a.Origin(pid, false)
}

// SessionOf returns the session that a live process of a built-in agent has open; false: not known.
func SessionOf(pid int) (resume.Key, bool) {
	for _, a := range usual() {
		if registrar, tells := a.(agent.SessionFinder); tells {
			if session := registrar.SessionOf(pid); session != "" {
				return resume.Key{Agent: a.Name(), ID: session}, true
			}
		}
	}
	return resume.Key{}, false
}

// Make makes every enabled agent, by name.
func Make(cfg config.Config) (map[string]agent.Agent, error) {
	entries := slices.DeleteFunc(slices.Clone(cfg.Agents), func(a config.Agent) bool { return a.Kind != config.KindCustom })
	for _, b := range builtin {
		entries = append(entries, cfg.Agent(b.Name))
	}
	made := make(map[string]agent.Agent)
	for _, entry := range entries {
		if !entry.Enabled {
			continue
		}
		a, err := build(entry, cfg.Resume.Grace)
		if err != nil {
			return nil, fmt.Errorf("agent %s: %w", entry.Name, err)
		}
		made[entry.Name] = a
	}
	return made, nil
}

func build(entry config.Agent, grace time.Duration) (agent.Agent, error) {
	if entry.Kind != config.KindCustom {
		return named(entry.Name).New(agent.Options{
			Roots: entry.Roots, Command: entry.Command, Env: entry.Env, Grace: grace, Model: entry.FallbackModel,
		})
	}
	return custom.New(custom.Options{
		Name: entry.Name, Files: entry.Files, Session: entry.Session, Cwd: entry.Cwd, About: entry.About, Program: entry.Program,
		Limit: entry.Limit, Progress: entry.Progress, Resume: entry.Resume, Start: entry.Start, Env: entry.Env, Grace: grace,
	})
}

// MakeAll makes all agents, also disabled ones: disabling an agent concerns the daemon only.
func MakeAll(cfg config.Config) (map[string]agent.Agent, error) {
	cfg.Agents = slices.Clone(cfg.Agents)
	for i := range cfg.Agents {
		cfg.Agents[i].Enabled = true
	}
	return Make(cfg)
}

func sorted(made map[string]agent.Agent) []string { return slices.Sorted(maps.Keys(made)) }
