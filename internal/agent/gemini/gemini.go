// Package gemini supports Gemini CLI: its chats, how a session is continued, and what must be removed after that.
package gemini

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"time"

	"resumed/internal/agent"
	"resumed/internal/lazy"
	"resumed/internal/leash"
	"resumed/internal/limit"
	"resumed/internal/lines"
	"resumed/internal/process"
	"resumed/internal/resume"
)

// Name is Gemini CLI's name in configuration, status and metrics.
const Name = "gemini"

// homeName is the name of every home of Gemini CLI: only its parent directory can be chosen, by homeVariable.
const homeName, homeVariable = ".gemini", "GEMINI_CLI_HOME"

const chatGlob = "tmp/*/chats/session-*.jsonl"

var described = agent.Description{
	About: agent.About{
		Name: Name, Program: "gemini", Is: isProgram, ByHand: "--resume", Flags: flags, Variables: variables, Settings: settingsFiles, Account: account,
		Keys: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"},
	},
	Title:    "Gemini CLI",
	Remedies: agent.Remedies{SignIn: "run gemini and type /auth", Pay: "look at plan and billing of its Google account", Shorten: "/compress", Switch: "/model"},

	CommandVariable: "GEMINI_CLI",

	Plugin: &agent.Plugin{
		Install: "gemini extensions install DIR/plugins/gemini",
		Version: func() string {
			const manifest = "extensions/resumed/gemini-extension.json"
			usual := agent.UsualHome(homeName, homeVariable)
			return agent.ManifestVersion(filepath.Join(usual, manifest), filepath.Join(usual, homeName, manifest))
		},
	},

	Home: homeName, HomeVariables: []string{homeVariable}, Around: true,
	Glob: chatGlob, Sift: sift, IsID: isID, PathID: shortID,

	Read:   read,
	Place:  place,
	Counts: `"tokens"`,
	Choose: choose,
	Enough: func(had agent.RunSettings) bool { return had.Model != "" },
	Tidy:   tidy,

	Starts: true,
	Resume: "--resume",
	Gone:   Name + " deletes chats that it cannot read; copies lie in the daemon's state directory",
	Line: agent.PromptFlags{
		Plain:       true,
		Subcommands: []string{"mcp", "extensions", "extension", "skills", "skill", "hooks", "hook", "gemma"},
		Terminal:    []string{"-i", "--prompt-interactive", "--list-sessions"},
		Names:       [][]string{{"--session-id"}, {"-r", "--resume"}},
		Once:        []string{"-r", "--resume", "--session-id", "-p", "--prompt"},
		Mode:        "--approval-mode",
		Modes:       modes,
		Output:      []string{"--output-format", "-o"},
		Field:       "session_id",
		Failed:      failedRun,
		Left:        left,
	},
}

// Builtin is the entry of Gemini CLI in the list of agents.
var Builtin = described.Builtin()

// isProgram accepts its command, its bundle, and the script of older versions.
var isProgram = agent.ProgramOf("gemini gemini.js", "index.js", "gemini-cli")

// byGoogle reports whether that home is signed in with a Google account.
func byGoogle(home string) bool {
	var settings struct {
		Security struct {
			Auth struct {
				Type string `json:"selectedType"`
			} `json:"auth"`
		} `json:"security"`
	}
	return agent.ReadJSON(filepath.Join(home, "settings.json"), &settings) && settings.Security.Auth.Type == "oauth-personal"
}

// account returns the signed-in Google account; empty: there is none, or another login is used.
func account(variable func(name string) string) string {
	home := filepath.Join(cmp.Or(variable(homeVariable), variable("HOME")), homeName)
	var accounts struct {
		Active string `json:"active"`
	}
	if !agent.ReadJSON(filepath.Join(home, "google_accounts.json"), &accounts) || !byGoogle(home) {
		return ""
	}
	return accounts.Active
}

// choose continues a session in the root of its project, with the model of the last answer. Chats do not contain the
// approval mode: if the start was not seen, the run gets what the user's settings allow, never more.
func choose(ctx context.Context, d *agent.Described, s resume.Session, had agent.RunSettings) (c agent.Choice, err error) {
	session, dir := place(lines.Line{Path: s.Transcript}) // the current values
	if session != s.Key.ID {
		c.Skip = agent.Parked("the transcript is not of session %s any more", s.Key.ID).Skip
		return c, nil
	}
	if c.Skip = agent.CheckDir(s, dir); c.Skip != nil {
		return c, nil
	}
	running, err := d.Processes.Running(ctx, isProgram)
	if err != nil {
		return c, err
	}
	if slices.ContainsFunc(running, func(p process.Live) bool { return p.Mark != "" && p.LivesIn(process.PlaceOf(dir)) }) {
		c.Skip = agent.SkipPlan("another resumed session works in " + dir).Skip // the start of this one may delete its chat
		return c, nil
	}
	chat, err := endingOf(ctx, s.Transcript)
	if err != nil {
		return c, err
	}
	if chat.lost != nil {
		if c.Prompt = chat.lost.again(); c.Prompt == "" {
			c.Skip = agent.Parked("%s took the last prompt back, and it cannot be given again on a command line", Name).Skip
		}
	}
	if c.Args = leash.WithModel(nil, had.Model); len(c.Args) > 0 {
		c.Newer = []string{"-m", "--model"}
	}
	if byGoogle(d.Homes.Of(s.Transcript)) { // then these keys are not needed
		c.Spare = leash.Variables{{Names: "GEMINI_API_KEY GOOGLE_API_KEY"}}.Has
	}
	c.Dir, c.Keep = dir, []string{s.Transcript}
	return c, nil
}

// ofADay matches Gemini CLI's text for a daily quota. It omits Google's reset time.
var ofADay = lazy.Regexp(`(?i)\bdaily\b[^.\n]{0,60}\bquota\b`)

// overlap is how long after midnight a refusal may still belong to the day before.
const overlap = 10 * time.Minute

// verdict returns the meaning of the refusal that ended a turn. Daily quotas are reset at the next midnight in Pacific
// time; shortly after midnight it is not known which one.
func verdict(limits limit.Reader, refusal limit.Refusal) limit.Verdict {
	v := agent.Failed(limits.Refusal(refusal))
	zone, err := time.LoadLocation("America/Los_Angeles")
	if v.Class != limit.UsageLimit || v.Reset.Stated() || !ofADay().MatchString(refusal.Text) || err != nil || limits.At.IsZero() {
		return v
	}
	year, month, day := limits.At.In(zone).Date()
	if limits.At.Sub(time.Date(year, month, day, 0, 0, 0, 0, zone)) >= overlap {
		v.Reset = limit.Reset{At: time.Date(year, month, day+1, 0, 0, 0, 0, zone), Source: limit.Words, Rough: true}
	}
	return v
}

// flags are those of Gemini CLI from 0.40 to 0.61, including hidden ones. Chats do not contain what a session may
// do without asking: the flags are repeated unchanged.
var flags = leash.Flags{
	{Effect: leash.Restricts, Takes: leash.Switch, Names: `-s --sandbox`},
	{Effect: leash.Restricts, Takes: leash.Maybe, Names: `--allowed-mcp-server-names -e --extensions`},
	{Effect: leash.Restricts, Takes: leash.Maybe | leash.Path, Names: `--policy --admin-policy`},
	{Takes: leash.Maybe, Names: `--approval-mode`, By: leash.ByValue(leash.Restricts, leash.Grants, "default", "plan")},
	{Effect: leash.Grants, Takes: leash.Switch, Names: `-y --yolo --skip-trust`},
	{Effect: leash.Grants, Takes: leash.Maybe, Names: `--allowed-tools`},
	{Effect: leash.Grants, Takes: leash.Maybe | leash.Path, Names: `--include-directories`},
	{Effect: leash.Selects, Takes: leash.Maybe, Names: `-m --model`},
	{Effect: leash.Selects, Takes: leash.Maybe | leash.Path, Names: `--fake-responses --fake-responses-non-strict --record-responses`},
	{Effect: leash.Nothing, Takes: leash.Switch, Names: `-d --debug --screen-reader --raw-output --accept-raw-output-risk -v --version -h --help`},
	{Effect: leash.Nothing, Takes: leash.Maybe, Names: `-o --output-format`},
	{Effect: leash.Once, Takes: leash.Maybe, Names: `-p --prompt -i --prompt-interactive -r --resume --session-id --session-file --delete-session -w --worktree`},
	{Effect: leash.Once, Takes: leash.Switch, Names: `-l --list-extensions --list-sessions`},
	{Effect: leash.Attended, Takes: leash.Switch, Names: `--acp --experimental-acp`},
}

var variables = leash.Variables{
	{Effect: leash.Nothing, Names: `GEMINI_CLI GEMINI_CLI_NO_RELAUNCH GEMINI_CLI_IDE_* GEMINI_CLI_SURFACE GEMINI_CLI_ACTIVITY_LOG_TARGET GEMINI_CLI_WORKTREE_HANDLED
		GEMINI_DEBUG_LOG_FILE GEMINI_PTY_INFO GEMINI_MEMORY_MONITOR_INTERVAL GEMINI_CONTEXT_TRACE_DIR`},
	{Effect: leash.Account, Names: `GEMINI_API_KEY GEMINI_API_KEY_AUTH_MECHANISM GEMINI_DEFAULT_AUTH_TYPE GEMINI_CLI_USE_COMPUTE_ADC GEMINI_CLI_CUSTOM_HEADERS
		GOOGLE_* CODE_ASSIST_* GCLOUD_PROJECT CLOUDSDK_CONFIG`},
	{Effect: leash.Restricts, Names: `GEMINI_* SANDBOX SANDBOX_* BUILD_SANDBOX SEATBELT_PROFILE`},
}
