package agents_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/agents"
	"resumed/internal/config"
	"resumed/internal/headless"
)

func TestWhoReadsTheListFindsEveryAgent(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	made, err := agents.Make(config.Default())
	require.NoError(t, err)
	require.NotEmpty(t, agents.Builtin())
	require.Len(t, made, len(agents.Builtin()), "no two have one name")
	require.Len(t, agents.Known(), len(made))
	for i, b := range agents.Builtin() {
		require.Equal(t, b.Name, made[b.Name].Name())
		require.Equal(t, b.Name, agents.Known()[i].Name)
		require.NotEmpty(t, agents.Titles()[b.Name])
		_, reads := made[b.Name].(agent.FileAgent)
		_, follows := made[b.Name].(agent.DatabaseAgent)
		require.NotEqual(t, reads, follows, "%s is read or followed", b.Name)
		_, exec := made[b.Name].(headless.CommandLine)
		require.Equal(t, b.Headless != "", exec, "what %s is said to continue, it can", b.Name)
	}
}

// known is an agent with nothing but its options.
type known struct {
	agent.Agent
	options agent.Options
}

func TestAnAgentIsMadeOfWhatItsEntrySays(t *testing.T) {
	var failure error
	agents.Add(t, agent.Builtin{Name: "parrot", New: func(o agent.Options) (agent.Agent, error) { return known{options: o}, failure }})
	t.Setenv("HOME", t.TempDir())
	cfg := config.Default()
	cfg.Resume.Grace = time.Hour
	cfg.Agents = []config.Agent{{
		Name: "parrot", Enabled: true, Roots: []string{"/cage"}, Command: "/bin/parrot", Env: []string{"IS_SANDBOX=1"},
	}}
	made, err := agents.Make(cfg)
	require.NoError(t, err)
	require.Equal(t, agent.Options{
		Roots: []string{"/cage"}, Command: "/bin/parrot", Env: []string{"IS_SANDBOX=1"}, Grace: time.Hour,
	}, made["parrot"].(known).options)

	cfg.Agents[0].Enabled = false
	made, err = agents.Make(cfg)
	require.NoError(t, err)
	require.NotContains(t, made, "parrot")
	made, err = agents.MakeAll(cfg)
	require.NoError(t, err)
	require.Contains(t, made, "parrot", "also what is switched off")

	failure = errors.New("the cage is locked")
	_, err = agents.MakeAll(cfg)
	require.EqualError(t, err, "agent parrot: the cage is locked")
}

func TestASurveySaysWhatIsThereOfAnAgent(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("CLAUDE_CONFIG_DIR", "")
	program, logs := filepath.Join(home, "mybot"), filepath.Join(home, "logs")
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\n"), 0o755))
	require.NoError(t, os.Mkdir(logs, 0o755))
	for _, name := range []string{"a.log", "b.log", "notes.txt"} {
		require.NoError(t, os.WriteFile(filepath.Join(logs, name), nil, 0o644))
	}
	cfg := config.Default()
	cfg.Agents = []config.Agent{{
		Name: "mybot", Kind: config.KindCustom, Enabled: true,
		Files: []string{filepath.Join(logs, "*.log")}, Session: `(\w+)\.log`, Limit: []string{"limit"}, Resume: []string{program, "{session}"},
	}}
	found, err := agents.Survey(t.Context(), cfg, "")
	require.NoError(t, err)
	byName := make(map[string]agents.Finding)
	for _, f := range found {
		byName[f.Name] = f
	}
	mybot := byName["mybot"]
	require.True(t, mybot.Configured && mybot.Custom)
	require.Equal(t, program, mybot.Program)
	require.Equal(t, agents.Home{Account: "mybot:default", Root: logs, Transcripts: 2, Directories: 1}, mybot.Homes[0])

	claude := byName["claude-code"]
	require.False(t, claude.Configured || claude.Custom)
	require.True(t, claude.Homes[0].Missing)
	require.Equal(t, filepath.Join(home, ".claude", "projects"), claude.Homes[0].Root)
}
