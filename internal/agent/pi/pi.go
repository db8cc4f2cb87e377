// Package pi supports pi: where its sessions are, what their entries mean, and how a session is continued.
package pi

import (
	"context"
	"path/filepath"
	"regexp"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/headless"
	"resumed/internal/leash"
	"resumed/internal/resume"
)

// Name is pi's name in configuration, status and metrics.
const Name = "pi"

// The home of pi, below the user's home directory, and the variable that names another one.
const home, homeVariable = ".pi/agent", "PI_CODING_AGENT_DIR"

// described is pi. It replaces its process title as soon as it runs, so its flags are known only from a start that was
// recorded.
var described = agent.Description{
	About: agent.About{
		Name: Name, Program: "pi", Is: agent.ProgramOf("pi", "cli.js", "pi-coding-agent"), ByHand: "--session",
		Flags: flags, Variables: variables,
	},
	Title:    "pi",
	Remedies: agent.Remedies{SignIn: "run pi and type /login", Pay: "buy credits or raise the limit on the page of its provider", Shorten: "/compact"},

	Home: home, HomeVariables: []string{homeVariable},
	Dir:   "sessions",
	Files: agent.Source{Depth: 1, Match: isSession, Sift: sift},
	Glob:  "sessions/*/*.jsonl",
	IsID:  isID,

	Read:   read,
	Place:  place,
	Counts: `"totalTokens"`,
	Choose: choose,
	Enough: func(had agent.RunSettings) bool { return had.Model != "" && had.Login != "" },
	Named:  named,

	Starts: true,
	Resume: "--session",
	Line: agent.PromptFlags{
		Names:  [][]string{{"--session"}, {"--session-id"}},
		Gives:  []string{"--session-id", "--session", "-c", "--continue", "-r", "--resume", "--fork", "--no-session"},
		Once:   []string{"--session", "--session-id", "-c", "--continue", "-r", "--resume", "--fork", "-n", "--name", "-p", "--print"},
		Output: []string{"--mode"},
		Stream: true,
		Field:  "id",
		Say:    say,
		Left:   left,
	},
}

// Builtin is the entry of pi in the list of agents.
var Builtin = described.Builtin()

// say appends a prompt: pi takes one that begins with - for an option, and one that begins with @ for a file.
func say(args []string, prompt string) []string {
	switch {
	case strings.HasPrefix(prompt, "-"):
		return append(args, "-p", "--", prompt)
	case strings.HasPrefix(prompt, "@"):
		prompt = " " + prompt
	}
	return append(args, "-p", prompt)
}

// left adds the file of a session. One that is begun elsewhere is continued without it.
func left(_ context.Context, d *agent.Described, t headless.Trail, _ headless.Ended, _ string) headless.Trail {
	if t.Transcript == "" && isID(t.Session) {
		t.Transcript = d.Homes.File("sessions/*/*_" + t.Session + ".jsonl")
	}
	return t
}

var sessionID = regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$`)

// isID reports whether a text is the id of a session. pi takes a text that ends with .jsonl for a path.
func isID(text string) bool { return sessionID.MatchString(text) && !strings.HasSuffix(text, ".jsonl") }

// isSession accepts DIRECTORY/TIME_SESSION.jsonl.
func isSession(rel string) bool {
	dir, name := filepath.Split(rel)
	return strings.Count(dir, string(filepath.Separator)) == 1 && idOf(name) != ""
}

// idOf returns the session in the name of a file, or "".
func idOf(path string) string {
	name, found := strings.CutSuffix(filepath.Base(path), ".jsonl")
	if _, id, named := strings.Cut(name, "_"); found && named && isID(id) {
		return id
	}
	return ""
}

// choose names the provider and the model of the session. Without them pi continues with any other model if it does
// not find that one, or no key for it. If the flags of the start are not known, the session gets the tools that it had
// last: older versions would give it all. It keeps its thinking level by itself.
func choose(ctx context.Context, _ *agent.Described, s resume.Session, had agent.RunSettings) (c agent.Choice, err error) {
	model := leash.WithModel(nil, had.Model)
	if len(model) == 0 || !providerName.MatchString(had.Login) {
		c.Park = "its model is not known, and pi would continue with any other: go on there"
		return c, nil
	}
	c.Args = append(model, "--provider", had.Login)
	c.Newer = []string{"--provider", "--model", "--models", "--thinking"}
	if o := s.StartedWith(); o == nil || !o.ArgsSeen {
		tools, known, err := toolsOf(ctx, s.Transcript)
		switch {
		case err != nil:
			return c, err
		case known && len(tools) == 0:
			c.Args = append(c.Args, "--no-tools")
		case known:
			c.Args = append(c.Args, "--tools", strings.Join(tools, ","))
		}
	}
	return c, nil
}

var providerName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// variableIn matches a variable in pi's configuration of models: "$NAME" or "${NAME}".
var variableIn = regexp.MustCompile(`\$\{?([A-Za-z_][A-Za-z0-9_]*)`)

// named returns the variables in the configuration of models. It has keys and addresses.
func named(d *agent.Described, _ string) leash.Variables {
	var names []string
	for _, dir := range append([]string{d.Homes.Usual}, d.Homes.Roots...) {
		text, _ := agent.ReadSettings(filepath.Join(dir, "models.json")) // an unreadable file names none
		for _, found := range variableIn.FindAllSubmatch(text, -1) {
			names = append(names, string(found[1]))
		}
	}
	return leash.Variables{{Effect: leash.Account, Names: strings.Join(names, " ")}}
}

// flags are those of pi from 0.87 to 1.5. An extension may restrict the session, and a list of tools too: both are
// repeated unchanged.
var flags = leash.Flags{
	{Effect: leash.Restricts, Takes: leash.Alone, Names: `-nt --no-tools -nbt --no-builtin-tools -ne --no-extensions --no-mcp -ns --no-skills
		-np --no-prompt-templates -nc --no-context-files -na --no-approve --offline`},
	{Effect: leash.Restricts, Takes: leash.One, Names: `-t --tools -xt --exclude-tools -e --extension --system-prompt --append-system-prompt`},
	{Effect: leash.Grants, Takes: leash.Alone, Names: `-a --approve`},
	{Effect: leash.Selects, Takes: leash.One, Names: `--provider --model --models --thinking`},
	{Effect: leash.Selects, Takes: leash.One | leash.Path, Names: `--skill --prompt-template --session-dir`},
	{Effect: leash.Account, Takes: leash.One | leash.Secret, Names: `--api-key`},
	{Takes: leash.One, Names: `--mode`, By: leash.ByValue(leash.Attended, leash.Nothing, "rpc")},
	{Effect: leash.Nothing, Takes: leash.One, Names: `--theme --use-theme --tui-mode`},
	{Effect: leash.Nothing, Takes: leash.Alone, Names: `--no-themes --verbose -h --help -v --version`},
	{Effect: leash.Once, Takes: leash.Maybe, Names: `-p --print --list-models`},
	{Effect: leash.Once, Takes: leash.One, Names: `--session --session-id --fork -n --name --export`},
	{Effect: leash.Once, Takes: leash.Alone, Names: `-c --continue -r --resume --no-session`},
}

var variables = leash.Variables{
	{Effect: leash.Nothing, Names: `AI_AGENT PI_CODING_AGENT PI_SESSION_ID PI_SESSION_FILE PI_PROVIDER PI_MODEL PI_REASONING_LEVEL PI_SKIP_VERSION_CHECK
		PI_SELF_UPDATE_COMMAND PI_TELEMETRY PI_SHARE_VIEWER_URL PI_CLEAR_ON_SHRINK PI_HARDWARE_CURSOR PI_CLIPBOARD_OSC52 PI_HYPERLINKS
		PI_PROGRAM_STATUS PI_IMAGE_PROTOCOL PI_TRUE_COLOR PI_TUI_ESC_TIMEOUT`},
	{Effect: leash.Account, Names: `ANTHROPIC_* ANT_LING_API_KEY OPENAI_* AZURE_OPENAI_* DEEPSEEK_API_KEY NVIDIA_API_KEY GEMINI_API_KEY GOOGLE_* GROQ_API_KEY
		CEREBRAS_API_KEY XAI_API_KEY FIREWORKS_API_KEY TOGETHER_API_KEY BASETEN_API_KEY OPENROUTER_API_KEY AI_GATEWAY_API_KEY ZAI_* MISTRAL_API_KEY
		MINIMAX_* MOONSHOT_* OPENCODE_API_KEY KIMI_API_KEY META_API_KEY CLOUDFLARE_* QWEN_TOKEN_PLAN_* XIAOMI_* HF_TOKEN COPILOT_GITHUB_TOKEN AWS_*`},
	{Effect: leash.Restricts, Names: `PI_*`},
}
