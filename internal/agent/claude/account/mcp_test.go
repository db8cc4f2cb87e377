package account

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent/claude/startup"
	"resumed/internal/resume"
)

func TestAServerOfTheProjectGetsNoKey(t *testing.T) {
	const named = `{"mcpServers":{"x":{"command":"x","env":{"KEY":"${ANTHROPIC_API_KEY}"}}}}`
	const project, home = "/src/app/", "/home/"
	for name, c := range map[string]struct {
		file, text string
		args       []string
		free       bool
	}{
		"in its environment":            {file: project + ".mcp.json", text: named},
		"with another value in reserve": {file: project + ".mcp.json", text: `{"mcpServers":{"x":{"env":{"KEY":"${ANTHROPIC_API_KEY:-none}"}}}}`},
		"through a shell":               {file: project + ".mcp.json", text: `{"mcpServers":{"x":{"command":"sh","args":["-c","x $ANTHROPIC_API_KEY"]}}}`},
		"in an address":                 {file: project + ".mcp.json", text: `{"mcpServers":{"x":{"type":"http","url":"https://x.example/?k=${ANTHROPIC_API_KEY}"}}}`},
		"in a header":                   {file: project + ".mcp.json", text: `{"mcpServers":{"x":{"url":"https://x.example","headers":{"X-Key":"${ANTHROPIC_API_KEY}"}}}}`},
		"by its name":                   {file: project + ".mcp.json", text: `{"mcpServers":{"x":{"env":{"ANTHROPIC_API_KEY":""}}}}`},
		"in other letters":              {file: project + ".mcp.json", text: `{"mcpServers":{"x":{"env":{"KEY":"${ANTHROPIC\u005fAPI_KEY}"}}}}`},
		"from a directory above":        {file: "/src/.mcp.json", text: named},
		"by the project's settings":     {file: project + ".claude/settings.json", text: named},
		"by a hook of the project":      {file: project + ".claude/settings.local.json", text: `{"hooks":{"Stop":[{"hooks":[{"command":"x $ANTHROPIC_API_KEY"}]}]}}`},
		"by what its user set up there": {file: home + ".claude.json", text: `{"projects":{"DIR":{"mcpServers":{"x":{"env":{"KEY":"${ANTHROPIC_API_KEY}"}}}}}}`},
		"or everywhere":                 {file: home + ".claude.json", text: named},
		"by a flag":                     {file: project + "own.json", text: named, args: []string{"--mcp-config", "other.json", "own.json"}},
		"in a flag":                     {args: []string{"--mcp-config=" + named}},
		"where nobody knows":            {file: project + ".mcp.json", text: `{"mcpServers":`},

		"that names no key":     {file: project + ".mcp.json", text: `{"mcpServers":{"x":{"command":"x","env":{"TOKEN":"${X_TOKEN}","HTTPS_PROXY":"http://p"}}}}`, free: true},
		"of a project below":    {file: project + "sub/.mcp.json", text: named, free: true},
		"of another project":    {file: home + ".claude.json", text: `{"projects":{"/elsewhere":{"mcpServers":{"x":{"env":{"KEY":"${ANTHROPIC_API_KEY}"}}}}}}`, free: true},
		"of what is remembered": {file: home + ".claude.json", text: `{"projects":{"DIR":{"history":[{"display":"what is ANTHROPIC_API_KEY?"}]}}}`, free: true},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			dir := filepath.Join(root, project)
			require.NoError(t, os.MkdirAll(filepath.Join(dir, ".claude"), 0o700))
			file := filepath.Join(root, c.file)
			if c.file != "" {
				require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
				require.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(c.text, "DIR", dir)), 0o600))
			}
			s := resume.Session{
				Transcript: filepath.Join(root, home, "projects", "-app", "x.jsonl"),
				Origin:     &resume.Origin{Cwd: dir, Args: startup.Flags.Storable(c.args, false), ArgsSeen: true, SeenAt: time.Now()},
			}
			why := newPerson(filepath.Join(root, home)).WhyNotOwnKey(s, dir, nil)
			switch {
			case c.free:
				require.Empty(t, why)
			case strings.HasSuffix(c.text, ":"):
				require.Equal(t, file+" cannot be read, and might say to whom your own key is shown", why)
			case c.file == "":
				require.Equal(t, "--mcp-config names ANTHROPIC_API_KEY: your own key would be given to what it starts or asks", why)
			default:
				require.Equal(t, file+" names ANTHROPIC_API_KEY: your own key would be given to what it starts or asks", why)
			}
		})
	}
}
