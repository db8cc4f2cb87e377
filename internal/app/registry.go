package app

import (
	"fmt"
	"maps"
	"slices"

	"resumed/internal/agent"
	"resumed/internal/agent/claude"
	"resumed/internal/agent/codex"
	"resumed/internal/agent/custom"
	"resumed/internal/agent/gemini"
	"resumed/internal/agent/opencode"
	"resumed/internal/agent/qwen"
	"resumed/internal/config"
)

// maker builds one agent from what the user says about it.
type maker func(config.Agent, config.Config) (agent.Agent, error)

// builtin is every agent that needs no description. Adding one is a folder
// under internal/agent and a line here.
var builtin = map[string]maker{
	claude.Name: func(entry config.Agent, cfg config.Config) (agent.Agent, error) {
		return claude.New(claude.Options{
			Roots: entry.Roots, Command: entry.Command, Grace: cfg.Resume.Grace,
		})
	},
	codex.Name: func(entry config.Agent, cfg config.Config) (agent.Agent, error) {
		return codex.New(codex.Options{
			Roots: entry.Roots, Command: entry.Command, Grace: cfg.Resume.Grace,
		})
	},
	gemini.Name: func(entry config.Agent, cfg config.Config) (agent.Agent, error) {
		return gemini.New(gemini.Options{
			Roots: entry.Roots, Command: entry.Command, Grace: cfg.Resume.Grace,
		})
	},
	opencode.Name: func(entry config.Agent, cfg config.Config) (agent.Agent, error) {
		return opencode.New(opencode.Options{
			Roots: entry.Roots, Command: entry.Command, Server: entry.Server, Grace: cfg.Resume.Grace,
		})
	},
	qwen.Name: func(entry config.Agent, cfg config.Config) (agent.Agent, error) {
		return qwen.New(qwen.Options{
			Roots: entry.Roots, Command: entry.Command, Grace: cfg.Resume.Grace,
		})
	},
}

func makeCustom(entry config.Agent, cfg config.Config) (agent.Agent, error) {
	return custom.New(custom.Options{
		Name: entry.Name, Files: entry.Files, Session: entry.Session, Cwd: entry.Cwd,
		Limit: entry.Limit, Progress: entry.Progress, Resume: entry.Resume,
		Grace: cfg.Resume.Grace,
	})
}

// Agents builds every agent that the configuration knows and has not switched
// off.
func Agents(cfg config.Config) (map[string]agent.Agent, error) {
	agents := make(map[string]agent.Agent)
	add := func(entry config.Agent, build maker) error {
		if !entry.Enabled {
			return nil
		}
		a, err := build(entry, cfg)
		if err != nil {
			return fmt.Errorf("agent %s: %w", entry.Name, err)
		}
		agents[entry.Name] = a
		return nil
	}
	for _, name := range sortedKeys(builtin) {
		entry, _ := cfg.Agent(name)
		if err := add(entry, builtin[name]); err != nil {
			return nil, err
		}
	}
	for _, entry := range cfg.Agents {
		if entry.Kind != config.KindCustom {
			continue
		}
		if err := add(entry, makeCustom); err != nil {
			return nil, err
		}
	}
	return agents, nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
