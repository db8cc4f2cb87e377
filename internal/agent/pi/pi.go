// Package pi supports pi: where its sessions are, what their entries mean, and how a session is continued.
package pi

import (
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/headless"
	"resumed/internal/lazy"
	"resumed/internal/leash"
	"resumed/internal/limit"
	"resumed/internal/lines"
	"resumed/internal/resume"
)

// Name is pi's name in configuration, status and metrics.
const Name = "pi"

// The home of pi, below the user's home directory, and the variable that names another one.
const home, homeVariable = ".pi/agent", "PI_CODING_AGENT_DIR"

// described is pi. It replaces its process title, so its flags are known only from a start that was recorded.
var described = agent.Description{
	About: agent.About{
		Name: Name, Program: "pi", Is: agent.ProgramOf("pi", "cli.js", "pi-coding-agent"), ByHand: "--session",
		Flags: flags, Variables: variables,
	},
	Title:    "pi",
	Remedies: agent.Remedies{SignIn: "run pi and type /login", Pay: "buy credits or raise the limit on the page of its provider", Shorten: "/compact", Switch: "/model"},

	CommandVariable: "PI_CODING_AGENT",

	Home: home, HomeVariables: []string{homeVariable},
	Glob: "sessions/*/*.jsonl", Sift: sift, IsID: isID, PathID: pathID,

	Read:   read,
	Place:  place,
	Counts: `"totalTokens"`,
	Choose: choose,
	Enough: func(had agent.RunSettings) bool { return had.Model != "" && had.Login != "" },
	Named: func(d *agent.Described, _ string) leash.Variables {
		return leash.Variables{agent.VariablesIn(variableIn(), d.Homes.Files("models.json")...)}
	},

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
func left(_ context.Context, d *agent.Described, t headless.Continuation, _ headless.Ended, _ string) headless.Continuation {
	if t.Transcript == "" && isID(t.Session) {
		t.Transcript = d.Homes.File("sessions/*/*_" + t.Session + ".jsonl")
	}
	return t
}

var sessionID = lazy.Regexp(`^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$`)

// isID reports whether a text is the id of a session. pi takes a text that ends with .jsonl for a path.
func isID(id string) bool { return sessionID().MatchString(id) && !strings.HasSuffix(id, ".jsonl") }

// pathID returns the session in the name of a file: TIME_SESSION.jsonl.
func pathID(path string) string {
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
	if len(model) == 0 || !providerName().MatchString(had.Login) {
		c.Skip = agent.Parked("its model is not known, and pi would continue with any other: go on there").Skip
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

var providerName = lazy.Regexp(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// variableIn matches a variable in pi's configuration of models, for a key or an address: "$NAME" or "${NAME}".
var variableIn = lazy.Regexp(`\$\{?([A-Za-z_][A-Za-z0-9_]*)`)

// flags are those of pi from 0.87 to 1.5. Extensions and lists of tools may restrict: they are repeated unchanged.
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

type entry struct {
	Type      string  `json:"type"`
	Version   int     `json:"version"`
	ID        string  `json:"id"` // of the session, in the first line
	Timestamp string  `json:"timestamp"`
	Cwd       string  `json:"cwd"`
	Message   message `json:"message"`

	// of a change of the model
	Provider string `json:"provider"`
	Model    string `json:"modelId"`
}

// message is a prompt, an answer of the model, or the result of a tool.
type message struct {
	Role       string      `json:"role"`
	Content    agent.Parts `json:"content"`
	Provider   string      `json:"provider"`
	StopReason string      `json:"stopReason"`
	Error      string      `json:"errorMessage"`
	CallID     string      `json:"toolCallId"` // of a result
	Usage      struct {
		Total int64 `json:"totalTokens"`
	} `json:"usage"`

	// of a change of the tools that the model is offered
	Added   []tool `json:"toolsAdded"`
	Removed []tool `json:"toolsRemoved"`
}

type tool struct {
	Name string `json:"name"`
}

var sift = agent.SiftByType([]string{"message"}, []string{"branch_summary"})

// read returns what an entry means. pi tries again by itself after a failure: as long as its process is alive it owns
// the session, and its next entries tell more.
func read(line lines.Line, limits func(time.Time) limit.Reader) (agent.Record, bool) {
	e, ok := lines.Parse[entry](line.Data)
	if !ok {
		return agent.Record{}, false
	}
	said := agent.Record{}
	said.At = agent.Written(e.Timestamp, line.ModTime)
	switch {
	case e.Type == "model_change":
		said.Model, said.Login = e.Model, e.Provider
	case e.Type == "branch_summary": // a person went back to an earlier entry
		said.Event = resume.Cancelled{At: said.At}
	case e.Type == "message" && e.Message.Role == "user":
		said.Event, said.Prompt = resume.Prompted{At: said.At}, e.Message.Content.Text()
	case e.Type == "message" && e.Message.Role == "assistant":
		e.Message.answer(&said, limits)
	case e.Type == "message" && e.Message.Role == "toolResult":
		said.Done = []string{e.Message.CallID}
	}
	return said, true
}

// answer adds what an answer of the model, or its failure, says.
func (m message) answer(said *agent.Record, limits func(time.Time) limit.Reader) {
	said.Provider, said.Tokens = m.Provider, m.Usage.Total
	moved := strings.TrimSpace(m.Content.Text()) != ""
	for _, p := range m.Content {
		if p.Type == "toolCall" {
			moved = true
			said.Calls = append(said.Calls, agent.Call{ID: p.ID, Tool: p.Name, Use: agent.UseOf(p.Arguments)})
		}
	}
	switch {
	case m.StopReason == "error":
		said.Event = resume.Limited{At: said.At, Verdict: verdict(limits(said.At), m.Error), Text: agent.Clip(m.Error)}
	case m.StopReason == "aborted":
		said.Event = resume.Cancelled{At: said.At}
	case moved:
		said.Event = resume.Progressed{At: said.At}
	}
}

// status matches the HTTP status at the beginning of a failure's text.
var status = lazy.Regexp(`^([1-5][0-9]{2}):? `)

// verdict returns the meaning of the text of a failed request.
func verdict(limits limit.Reader, text string) limit.Verdict {
	refusal := limit.Refusal{Text: text}
	if found := status().FindStringSubmatch(text); found != nil {
		refusal.Status, _ = strconv.Atoi(found[1]) // three digits
		refusal.Text = strings.TrimPrefix(text, found[0])
	}
	return agent.Failed(limits.Refusal(refusal))
}

// toolsOf returns the tools that the session's model was offered last, or false if the session does not say.
func toolsOf(ctx context.Context, path string) (tools []string, known bool, err error) {
	decided := make(map[string]bool) // by newer entries
	err = lines.Back(ctx, path, func(line lines.Line) bool {
		e, ok := lines.Parse[entry](line.Data)
		if !ok || e.Message.Role != "system" {
			return true
		}
		known = true
		for _, t := range e.Message.Removed {
			decided[t.Name] = true
		}
		for _, t := range e.Message.Added {
			if !decided[t.Name] && toolName().MatchString(t.Name) {
				tools = append(tools, t.Name)
			}
			decided[t.Name] = true
		}
		return true
	})
	slices.Sort(tools)
	return tools, known, err
}

var toolName = lazy.Regexp(`^[A-Za-z0-9_][A-Za-z0-9_.:-]*$`)

// IsHeader reports whether a line is the first one of a session.
func IsHeader(line []byte) bool {
	e, ok := lines.Parse[entry](line)
	return ok && e.Type == "session" && e.Version > 0 && e.Cwd != "" && isID(e.ID)
}

// place returns the session of a file and its directory; without its beginning, the session in its name.
func place(line lines.Line) (session, cwd string) {
	if e, ok := lines.Parse[entry](line.First()); ok && e.Type == "session" && isID(e.ID) {
		return e.ID, e.Cwd
	}
	return pathID(line.Path), ""
}
