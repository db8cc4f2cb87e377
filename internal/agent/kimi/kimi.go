// Package kimi supports Kimi Code: where the records of its sessions are, what they mean, which account is signed in,
// and how a session is continued.
package kimi

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/leash"
	"resumed/internal/resume"
)

// Name is Kimi Code's name in configuration, status and metrics.
const Name = "kimi"

// homeVariable names the home of Kimi Code.
const homeVariable = "KIMI_CODE_HOME"

// described is Kimi Code. It replaces its process title as soon as it runs: a resume of another session in the same
// directory cannot be distinguished from one of this session, so the session waits until it ends.
var described = agent.Description{
	About: agent.About{
		Name: Name, Program: "kimi", Is: agent.ProgramOf("kimi kimi-code", "main.mjs", "@moonshot-ai/kimi-code"), ByHand: "--session",
		Flags: flags, Variables: variables, Login: login, Keys: keys,
	},
	Title:    "Kimi Code",
	Remedies: agent.Remedies{SignIn: "run kimi login", Pay: "buy credits or raise the limit on the page of its provider", Shorten: "/compact"},

	Home: homeName, HomeVariables: []string{homeVariable},
	Dir:   "sessions",
	Files: agent.Source{Depth: 4, Match: isWire, Sift: sift},
	Glob:  "sessions/*/*/" + filepath.ToSlash(wireFile),
	IsID:  isID,

	Read:   read,
	Place:  place,
	Counts: `"` + measured + `"`,
	Choose: choose,
	Enough: func(had agent.RunSettings) bool { return had.Mode != "" },

	Resume: "--session",
	Line: agent.PromptFlags{
		Names:  [][]string{{"-S", "--session"}, {"-r", "--resume"}},
		Once:   []string{"-S", "--session", "-r", "--resume", "-c", "-C", "--continue", "-p", "--prompt", "--agent", "--agent-file"},
		Output: []string{"--output-format"},
		Field:  "session_id",
	},
}

// Builtin is the entry of Kimi Code in the list of agents.
var Builtin = described.Builtin()

// homeName is the name of the home, below the user's home directory.
const homeName = ".kimi-code"

// wireFile is written by the main agent of a session, below the session's directory. Subagents have their own files
// beside it.
var wireFile = filepath.Join("agents", "main", "wire.jsonl")

// isWire accepts WORKSPACE/SESSION/agents/main/wire.jsonl.
func isWire(rel string) bool {
	dir, found := strings.CutSuffix(rel, string(filepath.Separator)+wireFile)
	workspace, session := filepath.Split(dir)
	return found && isID(session) && strings.Count(workspace, string(filepath.Separator)) == 1
}

// sessionDir returns the directory of a file's session.
func sessionDir(wire string) string { return filepath.Dir(filepath.Dir(filepath.Dir(wire))) }

// isID reports whether a text is the id of a session.
func isID(text string) bool {
	id, found := strings.CutPrefix(text, "session_")
	return found && agent.IsUUID(id)
}

// neverAsks is the mode in which everything runs without asking. Every run without a terminal is in this mode,
// whatever the mode of the session.
const neverAsks = "auto"

// choose parks a session that asks: a run without a terminal never asks. Every session begins in the mode that asks
// before everything. It keeps its own model.
func choose(_ context.Context, _ *agent.Described, _ resume.Session, had agent.RunSettings) (c agent.Choice, err error) {
	c.Newer, c.Free = []string{"-m", "--model"}, true
	if had.Mode != neverAsks {
		c.Park = "it asks before it acts, and kimi -p never asks: go on in a terminal, where you can answer"
	}
	return c, nil
}

// flags are those of Kimi Code 2. A session keeps its mode, its model and its agent, so a run without a terminal does
// not get them again.
var flags = leash.Flags{
	{Effect: leash.Grants, Takes: leash.One | leash.Path, Names: `--add-dir`},
	{Effect: leash.Selects, Takes: leash.One, Names: `-m --model`},
	{Effect: leash.Selects, Takes: leash.One | leash.Path, Names: `--skills-dir`},
	{Effect: leash.Nothing, Takes: leash.One, Names: `--output-format`},
	{Effect: leash.Nothing, Takes: leash.Alone, Names: `-V --version -h --help`},
	{Effect: leash.Once, Takes: leash.Maybe, Names: `-S --session -r --resume`},
	{Effect: leash.Once, Takes: leash.One, Names: `-p --prompt --agent`},
	{Effect: leash.Once, Takes: leash.One | leash.Path, Names: `--agent-file`},
	{Effect: leash.Once, Takes: leash.Alone, Names: `-c -C --continue -y --yolo --yes --auto-approve --auto --plan`},
}

// keys are variables with a key. Each one decides which allowance is used.
var keys = []string{"KIMI_MODEL_API_KEY", "KIMI_API_KEY"}

var variables = leash.Variables{
	{Effect: leash.Nothing, Names: `KIMI_CODE_NO_AUTO_UPDATE KIMI_DISABLE_TELEMETRY KIMI_STARTUP_TRACE KIMI_LOG_* KIMI_CODE_UPDATE_*`},
	{Effect: leash.Account, Names: `KIMI_MODEL_* KIMI_API_KEY KIMI_BASE_URL KIMI_CODE_BASE_URL KIMI_OAUTH_HOST KIMI_CODE_OAUTH_HOST KIMI_CODE_CUSTOM_HEADERS`},
	{Effect: leash.Restricts, Names: `KIMI_*`},
}

// login returns the signed-in account of a process with these variables: the subject of the token that Kimi Code
// stores, which stays the same when the token is renewed. Empty: nobody is signed in, a key is used, or the token does
// not contain it.
func login(variable func(name string) string) string {
	if slices.ContainsFunc(keys, func(key string) bool { return variable(key) != "" }) {
		return ""
	}
	home := cmp.Or(variable(homeVariable), filepath.Join(variable("HOME"), homeName))
	var stored struct {
		Token string `json:"access_token"`
	}
	agent.ReadJSON(filepath.Join(home, "credentials", "kimi-code.json"), &stored)
	parts := strings.Split(stored.Token, ".")
	if len(parts) != 3 {
		return ""
	}
	var claims struct {
		Subject string `json:"sub"`
		User    string `json:"user_id"`
	}
	text, _ := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	_ = json.Unmarshal(text, &claims) // an unreadable token has no subject
	return cmp.Or(claims.Subject, claims.User)
}
