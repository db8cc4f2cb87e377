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
	"time"

	"resumed/internal/agent"
	"resumed/internal/leash"
	"resumed/internal/limit"
	"resumed/internal/lines"
	"resumed/internal/resume"
)

// Name is Kimi Code's name in configuration, status and metrics.
const Name = "kimi"

// The home of Kimi Code, below the user's home directory, and the variable that names another one.
const homeName, homeVariable = ".kimi-code", "KIMI_CODE_HOME"

// described is Kimi Code. It replaces its process title as soon as it runs: a resume of another session in the same
// directory cannot be distinguished from one of this session, so the session waits until it ends.
var described = agent.Description{
	About: agent.About{
		Name: Name, Program: "kimi", Is: agent.ProgramOf("kimi kimi-code", "main.mjs", "@moonshot-ai/kimi-code"), ByHand: "--session",
		Flags: flags, Variables: variables, Login: login, Keys: keys,
	},
	Title:    "Kimi Code",
	Remedies: agent.Remedies{SignIn: "run kimi login", Pay: "buy credits or raise the limit on the page of its provider", Shorten: "/compact", Switch: "/model"},

	Home: homeName, HomeVariables: []string{homeVariable},
	Glob: "sessions/*/*/" + wireFile, Sift: sift, IsID: isID, PathID: pathID,

	Read:   read,
	Place:  place,
	Counts: `"token_counting.measured"`,
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

// wireFile is written by the main agent of a session. Subagents have their own files beside it.
const wireFile = "agents/main/wire.jsonl"

// sessionDir returns the directory of a file's session.
func sessionDir(wire string) string { return filepath.Dir(filepath.Dir(filepath.Dir(wire))) }

func pathID(path string) string {
	if id := filepath.Base(sessionDir(path)); isID(id) {
		return id
	}
	return ""
}

func isID(text string) bool {
	id, found := strings.CutPrefix(text, "session_")
	return found && agent.IsUUID(id)
}

// neverAsks is the mode of every run without a terminal, whatever the mode of the session.
const neverAsks = "auto"

// choose parks a session that asks: a run without a terminal never asks. Every session begins in the mode that asks
// before everything. It keeps its own model.
func choose(_ context.Context, _ *agent.Described, _ resume.Session, had agent.RunSettings) (c agent.Choice, err error) {
	c.Newer, c.Free = []string{"-m", "--model"}, true
	if had.Mode != neverAsks {
		c.Skip = agent.Parked("it asks before it acts, and kimi -p never asks: go on in a terminal, where you can answer").Skip
	}
	return c, nil
}

// flags are those of Kimi Code 2. A session keeps its mode, its model and its agent by itself.
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

type record struct {
	Type   string  `json:"type"`
	Time   float64 `json:"time"` // in milliseconds
	Reason string  `json:"reason"`

	// of the end of a turn
	Error failure `json:"error"`

	// of a request that will be retried
	Delay   float64 `json:"delayMs"`
	Name    string  `json:"errorName"`
	Message string  `json:"errorMessage"`
	Status  int     `json:"statusCode"`

	// of a prompt
	Input  agent.Parts `json:"input"`
	Origin struct {
		Kind string `json:"kind"`
	} `json:"origin"`

	Event  step   `json:"event"`
	Mode   string `json:"mode"`
	Tokens int64  `json:"tokens"`
}

type step struct {
	Type string     `json:"type"`
	Part agent.Part `json:"part"`
}

type failure struct {
	Code    string `json:"code"`
	Name    string `json:"name"`
	Message string `json:"message"`
	Details struct {
		Status int `json:"statusCode"`
	} `json:"details"`
	Cause struct {
		Code string `json:"code"`
	} `json:"cause"`
}

// sift ignores bookkeeping and requests.
var sift = agent.SiftByType([]string{"context.append_loop_event"}, []string{"turn.ended", "turn.prompt", "turn.steer", "turn.step.retrying", "context.undo", "context.clear"})

// read returns what a record means. The process may retry a failed request: as long as it is alive it owns the session,
// and its next records tell more.
func read(line lines.Line, limits func(time.Time) limit.Reader) (agent.Record, bool) {
	r, ok := lines.Parse[record](line.Data)
	if !ok {
		return agent.Record{}, false
	}
	at := r.at(line.ModTime)
	said := agent.Record{ToolUse: agent.ToolUse{At: at}, Prompt: r.Input.Text()}
	switch {
	case r.Type == "turn.ended" && r.Reason == "failed":
		said.Event = r.Error.event(limits(at), time.Time{})
	case r.Type == "turn.step.retrying":
		f := r.Error
		f.Name, f.Message, f.Details.Status = r.Name, r.Message, r.Status
		said.Event = f.event(limits(at), r.until(at))
	case r.moved():
		said.Event = resume.Progressed{At: at}
	case r.Type == "turn.prompt", r.Type == "turn.steer":
		said.Event = resume.Prompted{At: at, By: r.by()}
	case r.Type == "turn.ended" && r.Reason == "cancelled", r.Type == "context.undo", r.Type == "context.clear":
		said.Event = resume.Cancelled{At: at}
	case r.Type == "permission.set_mode":
		said.Mode = r.Mode
	case r.Type == "token_counting.measured":
		said.Tokens = r.Tokens
	}
	return said, true
}

// place returns the session of a file, and its directory by a file beside it. A copy does not contain its session.
func place(line lines.Line) (session, cwd string) {
	session = cmp.Or(pathID(line.Path), strings.TrimSuffix(filepath.Base(line.Path), ".jsonl"))
	var state struct {
		Cwd string `json:"cwd"`
	}
	agent.ReadJSON(filepath.Join(sessionDir(line.Path), "state.json"), &state)
	return session, state.Cwd
}

func (r record) moved() bool {
	return r.Type == "context.append_loop_event" && (r.Event.Type == "tool.call" || r.Event.Type == "content.part" && strings.TrimSpace(r.Event.Part.Text) != "")
}

// by returns the source of a prompt; empty: a person, or a command line.
func (r record) by() string {
	if r.Origin.Kind != "" && r.Origin.Kind != "user" {
		return "Kimi Code itself"
	}
	return ""
}

// at returns the record's timestamp. If it is missing or impossible, the file's time is used.
func (r record) at(file time.Time) time.Time {
	if t := time.UnixMilli(int64(r.Time)); r.Time > 0 && resume.ValidRecordTime(t) {
		return t
	}
	return file
}

func (f failure) event(limits limit.Reader, until time.Time) resume.Event {
	return resume.Limited{At: limits.At, Verdict: f.verdict(limits, until), Text: agent.Clip(f.Message)}
}

// ownDelay is longer than Kimi Code's own delay between two retries: a longer one was stated by the provider.
const ownDelay = time.Minute

// until returns when a request is retried, if the provider stated it.
func (r record) until(at time.Time) time.Time {
	if delay := time.Duration(r.Delay * float64(time.Millisecond)); delay > ownDelay && resume.ValidRecordTime(at.Add(delay)) {
		return at.Add(delay)
	}
	return time.Time{}
}

// verdict returns the meaning of a failure: by its status and text, and by Kimi Code's own code. A 403 of a provider
// may mean a wrong key or a used up allowance: the text decides.
func (f failure) verdict(limits limit.Reader, until time.Time) limit.Verdict {
	v := limits.Refusal(limit.Refusal{Status: f.Details.Status, Text: f.Message})
	allowance := v.Class == limit.UsageLimit || v.Class == limit.Billing
	switch code := f.Code; {
	case f.Name == "APIProviderQuotaExhaustedError" && !v.Reset.Stated():
		v.Class, v.WaitHelps = limit.Billing, false
	case code == "provider.auth_error" && (f.Details.Status == 401 || !allowance), code == "auth.login_required":
		v.Class, v.WaitHelps = limit.Auth, false
	case code == "context.overflow", f.Cause.Code == "context.overflow", f.Name == "APIContextOverflowError":
		v.Class, v.WaitHelps = limit.ContextOverflow, false
	case code == "provider.filtered", code == "loop.max_steps_exceeded", strings.HasPrefix(code, "model."):
		v.Class, v.WaitHelps = limit.BadRequest, false
	case code == "provider.overloaded", f.Name == "APIProviderOverloadedError":
		v.Class, v.WaitHelps = limit.Overloaded, true
	case (code == "provider.rate_limit" || f.Name == "APIProviderRateLimitError") && !v.Class.Transient():
		v.Class, v.WaitHelps = limit.RateLimit, true
	case code == "provider.connection_error" && !v.Class.Transient():
		v.Class, v.WaitHelps = limit.Network, true
	}
	v = agent.Failed(v)
	if !until.IsZero() && v.WaitHelps {
		v.Reset = limit.Reset{At: until, Source: limit.Structured, Counted: true}
	}
	return v
}
