package app

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/agents"
	"resumed/internal/config"
	"resumed/internal/notify"
)

// usual is a configuration with two desktops, a webhook, a custom agent and all built-in agents.
func usual(t *testing.T) config.Config {
	t.Helper()
	h := newHouse(t)
	h.configure(t, "1h", "on")
	cfg, err := config.Load(h.path("config.toml"), agents.Known())
	require.NoError(t, err)
	for i := range cfg.Agents {
		cfg.Agents[i].Enabled = true
	}
	cfg.Notify = config.Notify{
		Desktop: []config.Desktop{{Channel: config.Channel{Name: "desk"}}, {Channel: config.Channel{Name: "couch"}}},
		Webhook: []config.Webhook{{Channel: config.Channel{Name: "hook"}, URL: "https://example.com/"}},
	}
	return cfg
}

// changed returns a copy of a configuration with a change in it.
func changed(cfg config.Config, change func(*config.Config)) config.Config {
	cfg.Agents, cfg.Notify.Desktop = slices.Clone(cfg.Agents), slices.Clone(cfg.Notify.Desktop)
	change(&cfg)
	return cfg
}

func entry(cfg *config.Config, name string) *config.Agent {
	return &cfg.Agents[slices.IndexFunc(cfg.Agents, func(a config.Agent) bool { return a.Name == name })]
}

// Unchanged agents keep their caches, and their feeds are not restarted.
func TestAReloadMakesOnlyTheAgentsAnewThatChanged(t *testing.T) {
	cfg := usual(t)
	all := []string{"bot", "claude-code", "codex", "copilot", "gemini", "kilo", "kimi", "opencode", "pi", "qwen-code"}
	for name, c := range map[string]struct {
		change func(*config.Config)
		anew   []string
		gone   string
	}{
		"nothing":              {change: func(*config.Config) {}},
		"something else":       {change: func(c *config.Config) { c.Backoff.MaxRetries++; c.Resume.Prompt = "go on" }},
		"one that is built in": {change: func(c *config.Config) { entry(c, "codex").Roots = []string{"/elsewhere"} }, anew: []string{"codex"}},
		"one of the user's":    {change: func(c *config.Config) { entry(c, "bot").Limit = []string{"enough"} }, anew: []string{"bot"}},
		"one is switched off":  {change: func(c *config.Config) { entry(c, "gemini").Enabled = false }, gone: "gemini"},
		"how all read clocks":  {change: func(c *config.Config) { c.Resume.Grace++ }, anew: all},
	} {
		t.Run(name, func(t *testing.T) {
			before, err := maker{}.make(cfg, nil)
			require.NoError(t, err)
			require.Equal(t, all, before.agentNames())
			after, err := maker{}.make(changed(cfg, c.change), before)
			require.NoError(t, err)
			require.Equal(t, slices.DeleteFunc(slices.Clone(all), func(name string) bool { return name == c.gone }), after.agentNames())
			for _, name := range after.agentNames() {
				require.Equal(t, slices.Contains(c.anew, name), before.agents[name] != after.agents[name], name)
			}
			require.Len(t, before.agents, len(all), "what was in force is not touched")
		})
	}
}

// The buttons on a desktop still work; other channels have no state to keep.
func TestAReloadKeepsTheDesktopsThatDidNotChange(t *testing.T) {
	cfg := usual(t)
	before, err := maker{}.make(cfg, nil)
	require.NoError(t, err)
	channel := func(s *settings, name string) *notify.Channel {
		return s.channels[slices.Index(s.channelNames(), name)]
	}
	for name, c := range map[string]struct {
		change func(*config.Config)
		anew   []string
	}{
		"nothing":      {func(*config.Config) {}, []string{"hook"}},
		"their order":  {func(c *config.Config) { slices.Reverse(c.Notify.Desktop) }, []string{"hook"}},
		"one of them":  {func(c *config.Config) { c.Notify.Desktop[0].Events = []string{"recovered"} }, []string{"desk", "hook"}},
		"another name": {func(c *config.Config) { c.Notify.Desktop[0].Name = "floor" }, []string{"floor", "hook"}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := changed(cfg, c.change)
			after, err := maker{}.make(cfg, before)
			require.NoError(t, err)
			require.Equal(t, []string{cfg.Notify.Desktop[0].Name, cfg.Notify.Desktop[1].Name, "hook"}, after.channelNames())
			for _, name := range after.channelNames() {
				kept := slices.Contains(before.channelNames(), name) && channel(before, name) == channel(after, name)
				require.NotEqual(t, slices.Contains(c.anew, name), kept, name)
			}
		})
	}
}

func TestWhatCannotBeMadeIsSaidWithItsPlace(t *testing.T) {
	cfg := usual(t)
	for want, change := range map[string]func(*config.Config){
		"agent bot: limit: error parsing regexp: missing closing ): `(`": func(c *config.Config) { entry(c, "bot").Limit = []string{"("} },
		"notify.webhook[0].url": func(c *config.Config) {
			c.Notify.Webhook = []config.Webhook{{Channel: config.Channel{Name: "hook"}, URL: "ftp://x"}}
		},
	} {
		made, err := maker{path: "/etc/resumed.toml"}.make(changed(cfg, change), nil)
		require.ErrorContains(t, err, want)
		require.Nil(t, made)
	}
}
