// Package explain tells people what the transcripts and databases of all agents mean, without a daemon.
package explain

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/agent/claude"
	"resumed/internal/agent/claude/transcript"
	"resumed/internal/agent/codex/rollout"
	"resumed/internal/agent/gemini"
	"resumed/internal/agents"
	"resumed/internal/config"
	"resumed/internal/leash"
	"resumed/internal/limit"
	"resumed/internal/prompt"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
	"resumed/internal/sanitize"
)

// Action is what the daemon would do with a session.
type Action string

// The actions.
const (
	Wait   Action = "wait"
	Resume Action = "resume"
	Park   Action = "park"
	Leave  Action = "none"
)

// Explanation is what a file says about one session, as `explain --json` prints it.
type Explanation struct {
	Version     int           `json:"version"`
	File        string        `json:"file"`
	Agent       string        `json:"agent"`
	Session     string        `json:"session"`
	Cwd         string        `json:"cwd"`
	Class       limit.Class   `json:"class"`
	WaitHelps   bool          `json:"wait_helps"`
	InProgress  bool          `json:"in_progress"`
	ResetAt     *time.Time    `json:"reset_at"`
	ResetSource *limit.Source `json:"reset_source"`
	Line        int           `json:"line"` // of the evidence; 0: there is none
	Text        string        `json:"text"`
	Context     *int64        `json:"context_tokens"`
	Cold        *bool         `json:"cold"`
	Action      Action        `json:"action"`
	Why         string        `json:"why"`
	Remedy      string        `json:"remedy,omitempty"`  // what a person can do if waiting does not help
	Because     []string      `json:"because,omitempty"` // the words that decided the class

	// View is the session as the daemon would show it, for texts that are the same for all sessions.
	View view.Session `json:"-"`

	// Plan is what would be run by the daemon, or for a session whose start was not seen.
	Plan *view.Plan `json:"plan,omitempty"`
}

// Explainer interprets files. It reads them with the code and the rules of the daemon, so both always agree.
type Explainer struct {
	agents map[string]agent.Agent
	config config.Config
	rules  resume.Rules
}

// New returns an Explainer for the agents of that configuration, including disabled ones.
func New(cfg config.Config) (*Explainer, error) {
	known, err := agents.MakeAll(cfg)
	if err != nil {
		return nil, err
	}
	return &Explainer{agents: known, config: cfg, rules: cfg.Rules()}, nil
}

// Agents returns the names of the agents whose files it can read.
func (x *Explainer) Agents() []string { return slices.Sorted(maps.Keys(x.agents)) }

// File explains the sessions in a file, also in a rollout that Codex has compressed. name is the agent of
// the file; if it is empty the file is recognised. The error is an UnknownError if it cannot be.
func (x *Explainer) File(ctx context.Context, file, name string, now time.Time) ([]Explanation, error) {
	named, ok := x.agents[name]
	if name != "" && !ok {
		return nil, fmt.Errorf("no agent is named %q", name)
	}
	file, err := filepath.Abs(file)
	if err != nil {
		return nil, fmt.Errorf("explain %s: %w", file, err)
	}
	path, remove, err := rollout.Readable(ctx, file)
	if err != nil {
		return nil, err
	}
	defer remove()
	found, err := x.read(ctx, path, named, now)
	switch {
	case err != nil && path != file:
		return nil, errors.New(strings.ReplaceAll(err.Error(), path, file)) // the copy is gone
	case err != nil:
		return nil, err
	case len(found) == 0:
		return nil, UnknownError(file)
	}
	for i := range found {
		found[i].File = file
	}
	return found, nil
}

// UnknownError is the path of a file that is neither a transcript nor a database.
type UnknownError string

func (path UnknownError) Error() string {
	return string(path) + " is not recognised: it is no transcript and no database of an agent"
}

// read explains the sessions in a file; none: it is not recognised.
func (x *Explainer) read(ctx context.Context, path string, named agent.Agent, now time.Time) ([]Explanation, error) {
	head, err := readHead(path)
	if err != nil {
		return nil, err
	}
	if a := x.transcriptOf(path, head, named); a != nil {
		found, err := x.sessions(ctx, a, path, now)
		if err == nil && len(found) == 0 {
			found = []Explanation{{Version: 1, Agent: a.Name(), Action: Leave, Why: "nothing in the file says what state a session is in"}}
		}
		return found, err
	}
	if named != nil && len(agent.SourcesOf(named)) > 0 { // it may be a transcript without its head
		return x.sessions(ctx, named, path, now)
	}
	return nil, nil
}

// sessions explains the sessions in a file of the agent.
func (x *Explainer) sessions(ctx context.Context, a agent.Agent, path string, now time.Time) (found []Explanation, err error) {
	switch a := a.(type) {
	case agent.DatabaseAgent:
		var evidence []agent.Evidence
		evidence, err = a.Evidence(path)
		for _, e := range evidence {
			out := x.judge(ctx, a, path, e, now)
			if out.Line = 0; e.Leave != "" { // a database has no lines
				out.Action, out.Why = Leave, e.Leave
			}
			found = append(found, out)
		}
	case agent.FileAgent:
		src, latest := agent.SourceOf(a, path), make(map[resume.Key]bool)
		err = agent.Back(ctx, a, src, path, func(e agent.Evidence) bool {
			if !latest[e.Key] {
				latest[e.Key] = true
				found = append(found, x.judge(ctx, a, path, e, now))
			}
			return src.Shared
		})
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return found, nil
}

func (x *Explainer) judge(ctx context.Context, a agent.Agent, path string, e agent.Evidence, now time.Time) Explanation {
	out := Explanation{
		Version: 1, Agent: cmp.Or(e.Key.Agent, a.Name()), Session: e.Key.ID, Cwd: e.Cwd,
		Line: lineOf(path, e.Offset),
	}
	x.weigh(&out, e.Event, now)
	if out.Action == Wait || out.Action == Resume {
		seen := resume.Session{Key: e.Key, Transcript: path}
		if seen.Context, _, _ = a.ContextSize(ctx, seen); seen.Context.Tokens > 0 { // on an error it is not known
			out.Context = new(seen.Context.Tokens)
		}
		limited, _ := e.Event.(resume.Limited)
		if cold, known := seen.Cold(resume.Later(limited.Reset.At, now)); known {
			out.Cold = new(cold)
		}
		out.Plan = x.plan(ctx, a, path, e)
	}
	switch {
	case a.Name() == claude.Name && out.Action == Wait && transcript.GoesOn(path):
		out.InProgress = true
		out.Why += ", unless the agent has continued by itself by then, as it says it will"
	case a.Name() == gemini.Name && out.Class == limit.None:
		out.Why += silence(path, e.Event)
	}
	return out
}

func (x *Explainer) plan(ctx context.Context, a agent.Agent, path string, e agent.Evidence) *view.Plan {
	limited, _ := e.Event.(resume.Limited)
	session := resume.Session{Key: e.Key, Cwd: e.Cwd, Transcript: path, Interruption: resume.Interruption{Limit: limited.Verdict}, LimitedAt: limited.At}
	said := prompt.Fill(x.config.Resume.Prompts().Of(limited.Class), prompt.Facts{Class: limited.Class, Reset: limited.Reset.At, Attempt: 1})
	plan, err := a.Plan(ctx, session, said)
	view := &view.Plan{Command: []string{}, Repeated: []string{}, LeftOut: []string{}, Env: []string{}, EnvUnset: []string{}, Prompt: said}
	switch {
	case err != nil:
		view.Instead = err.Error()
	case plan.Skip != nil:
		view.Instead = plan.Skip.Why
	case plan.Run != nil:
		view.Command, view.Dir = plan.Run.Argv, plan.Run.Dir
		view.LeftOut = append(view.LeftOut, leash.Describe(plan.Run.Carried.LeftOut)...)
		view.Models = plan.Run.Models.AllowedText()
	default:
		return nil
	}
	return view
}

// silence returns what a chat of Gemini CLI without an interruption does not contain, depending on its last event.
func silence(chat string, last resume.Event) string {
	const onlyExec = "a run without a terminal that fails leaves no record of why; only `resumed exec` can see that and continue it"
	if _, prompted := last.(resume.Prompted); !prompted {
		return ""
	}
	if gemini.Lost(chat) {
		return "; the last prompt was taken back unanswered: " + onlyExec
	}
	return "; the last prompt has no answer: it is being worked on, or its run was killed or waits at a dialog; " + onlyExec
}

const longestText = 300

func (x *Explainer) weigh(out *Explanation, event resume.Event, now time.Time) {
	switch ev := event.(type) {
	case resume.Limited:
		out.Class, out.WaitHelps, out.InProgress = ev.Class, ev.WaitHelps, ev.InProgress
		if ev.Reset.Stated() {
			out.ResetAt, out.ResetSource = new(ev.Reset.At.UTC()), new(ev.Reset.Source)
		}
		out.Text = sanitize.Short(ev.Text, longestText)
		out.Because = limit.Because(ev.Text, ev.Class)
		ev.Text, ev.First = out.Text, true
		event = ev
	case resume.Cancelled:
		out.Class = limit.Cancelled
	}
	const noJitter = 0.5
	session := resume.Session{Key: resume.Key{Agent: out.Agent, ID: out.Session}, Cwd: out.Cwd}
	session = session.Next(event, x.rules, now, noJitter)
	out.Action, out.Why = action(session, now)
	out.View = view.Of(session, 0)
	out.Remedy = agents.Remedy(out.View)
	out.View.Remedy = out.Remedy
	if out.InProgress {
		out.Why = "the agent continues by itself"
	}
}

func action(s resume.Session, now time.Time) (Action, string) {
	switch {
	case s.State == resume.Parked:
		return Park, s.Reason
	case s.State == resume.Waiting && s.NextAt.After(now):
		return Wait, fmt.Sprintf("%s; resumed at %s", s.Reason, s.NextAt.UTC().Format(time.RFC3339))
	case s.State == resume.Waiting:
		return Resume, s.Reason + "; the wait is over"
	default:
		return Leave, cmp.Or(s.Reason, "the session is not interrupted")
	}
}

// transcriptOf returns the agent of a transcript, by its path or its head, or nil. If an agent is named, only that one
// is considered; if the user has described it, every file counts as its own.
func (x *Explainer) transcriptOf(path string, head []byte, named agent.Agent) agent.Agent {
	if named != nil && heads[named.Name()] == nil {
		return named
	}
	names := x.among(named)
	for _, name := range names {
		if a, ok := x.agents[name].(interface{ HasDatabase(path string) bool }); ok && a.HasDatabase(path) {
			return x.agents[name]
		}
		for _, src := range agent.SourcesOf(x.agents[name]) {
			rel, err := filepath.Rel(src.Root, path)
			if err == nil && filepath.IsLocal(rel) && src.Match(rel) {
				return x.agents[name]
			}
		}
	}
	for _, name := range names {
		if recognises(name, head) {
			return x.agents[name]
		}
	}
	return nil
}

// among returns the names of all agents, or of the named one. Of agents with similar files, the one that is first in
// the list of agents is tried first.
func (x *Explainer) among(named agent.Agent) []string {
	if named != nil {
		return []string{named.Name()}
	}
	place := make(map[string]int)
	for i, b := range agents.Builtin() {
		place[b.Name] = i - len(agents.Builtin()) // before the user's own
	}
	return slices.SortedStableFunc(slices.Values(x.Agents()), func(a, b string) int { return cmp.Compare(place[a], place[b]) })
}

// How much of a file is read to recognise it: its first line, which may be long (a pasted picture, an agent's whole
// instructions), and this much after it.
const (
	longestHead  = 64 << 20
	shortestHead = 64 << 10
)

type noFile string

func (path noFile) Error() string { return "there is no such file or session: " + string(path) }

func (noFile) Unwrap() error { return fs.ErrNotExist }

// open opens a regular file: reading a pipe might block.
func open(path string) (*os.File, fs.FileInfo, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, noFile(path)
	case err != nil:
		return nil, nil, err
	case !info.Mode().IsRegular():
		return nil, nil, fmt.Errorf("%s is not a regular file", path)
	}
	file, err := os.Open(path)
	return file, info, err
}

func readHead(path string) ([]byte, error) {
	file, _, err := open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	reader := bufio.NewReader(io.LimitReader(file, longestHead))
	head, err := reader.ReadBytes('\n')
	if err == nil {
		var more []byte
		more, err = io.ReadAll(io.LimitReader(reader, shortestHead))
		head = append(head, more...)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return bytes.TrimPrefix(head, []byte("\ufeff")), nil // as some editors begin a text
}

// lineOf returns the number, counted from 1, of the line at offset; 0 if the file can no longer be read.
func lineOf(path string, offset int64) int {
	file, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer file.Close()
	n, buf := 1, make([]byte, 64<<10)
	for head := io.LimitReader(file, offset); ; {
		got, err := head.Read(buf)
		n += bytes.Count(buf[:got], []byte{'\n'})
		if errors.Is(err, io.EOF) {
			return n
		}
		if err != nil {
			return 0
		}
	}
}
