// Package qwen knows Qwen Code: where its chats are, what a line of them means,
// and how a session is continued.
package qwen

import (
	"context"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/leash"
	"resumed/internal/resume"
)

// Name is Qwen Code's name in configuration, status and metrics.
const Name = "qwen-code"

// homeVariable names the home of Qwen Code.
const homeVariable = "QWEN_HOME"

// described is Qwen Code.
var described = agent.Description{
	About: agent.About{
		Name: Name, Program: "qwen", Is: agent.ProgramOf("qwen", "cli.js index.js", "qwen-code"), ByHand: "--resume",
		Flags: flags, Variables: variables, Keys: []string{"OPENAI_API_KEY"},
	},
	Title:    "Qwen Code",
	Remedies: agent.Remedies{SignIn: "run qwen and type /auth", Pay: "buy credits or raise the limit on the page of its provider", Shorten: "/compress"},

	Home: ".qwen", HomeVariables: []string{"QWEN_RUNTIME_DIR", homeVariable},
	Dir:   "projects",
	Files: agent.Source{Depth: 2, Match: isChat, Sift: sift},
	Glob:  "projects/*/chats/*.jsonl",
	IsID:  agent.IsUUID,

	Read:   read,
	Counts: `"usageMetadata"`,
	Choose: choose,
	Enough: func(had agent.RunSettings) bool { return had.Model != "" },
	Named:  named,

	Resume: "--resume",
	Line: agent.PromptFlags{
		Plain:       true,
		Subcommands: []string{"mcp", "extensions", "extension", "skills", "skill", "hooks", "hook", "auth", "channel"},
		Terminal:    []string{"-i", "--prompt-interactive"},
		Names:       [][]string{{"--session-id"}, {"-r", "--resume"}},
		IsName:      agent.IsDashedID,
		Once:        []string{"-r", "--resume", "--session-id", "-c", "--continue", "-p", "--prompt", "--input-format"},
		Mode:        "--approval-mode",
		Output:      []string{"--output-format", "-o"},
		Field:       "session_id",
	},
}

// Builtin is Qwen Code in the list of agents.
var Builtin = described.Builtin(func(o agent.Options) (agent.Agent, error) { return New(o) })

// Options says which Qwen Code is meant: without Roots its home is
// $QWEN_RUNTIME_DIR, $QWEN_HOME, else ~/.qwen.
type Options = agent.Options

// Agent is Qwen Code with its homes.
type Agent = agent.Telling

// New returns the agent. It looks at the environment, not at any file.
func New(o Options) (*Agent, error) {
	a := &Agent{}
	return a, a.Describe(described, o)
}

// isChat accepts PROJECT/chats/SESSION.jsonl.
func isChat(rel string) bool {
	parts := strings.Split(rel, string(filepath.Separator))
	return len(parts) == 3 && parts[1] == "chats" && strings.HasSuffix(parts[2], ".jsonl") && agent.IsUUID(strings.TrimSuffix(parts[2], ".jsonl"))
}

var kindOfLogin = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

// choose returns what the session asked with last.
func choose(_ context.Context, d *agent.Described, s resume.Session, had agent.RunSettings) (c agent.Choice, err error) {
	if c.Args = leash.WithModel(nil, had.Model); len(c.Args) > 0 {
		c.Newer = append(c.Newer, "-m", "--model")
	}
	if kindOfLogin.MatchString(had.Login) {
		c.Args, c.Newer = append(c.Args, "--auth-type", had.Login), append(c.Newer, "--auth-type")
	}
	c.Spare = spare(d, had.Login, s)
	return c, nil
}

// envKey is how the settings name the variable that holds a provider's key.
var envKey = regexp.MustCompile(`"envKey"\s*:\s*"([A-Za-z_][A-Za-z0-9_]*)"`)

// named returns the variables that the settings name, of the homes and of a
// directory.
func named(d *agent.Described, dir string) leash.Variables {
	homes := append([]string{d.Homes.Usual}, d.Homes.Roots...)
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
// other providers. nil: it is not known.
func spare(d *agent.Described, login string, s resume.Session) func(string) bool {
	own, known := keysOf[login]
	if !known {
		return nil
	}
	needed := slices.Concat(leash.Variables{{Names: own}}, named(d, s.Cwd))
	return func(name string) bool {
		return !needed.Has(name) && leash.Variables{{Names: providerVariables}}.Has(name)
	}
}
