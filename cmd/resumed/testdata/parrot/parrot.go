// Package parrot is a made-up agent, with all that the package of an agent must have. It writes the
// events of each session into one file, line by line.
package parrot

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/headless"
	"resumed/internal/leash"
	"resumed/internal/limit"
	"resumed/internal/lines"
	"resumed/internal/resume"
)

const name = "parrot"

// Builtin is the entry of the parrot in the list of agents.
var Builtin = agent.Builtin{
	Name:      name,
	Title:     "Polly the Parrot",
	Headless:  "parrot -p",
	Variables: []string{"PARROT_HOME"},
	New:       newAgent,
}

// room is the parrot with its homes.
type room struct{ agent.Transcripts }

func newAgent(o agent.Options) (agent.Agent, error) {
	homes, err := agent.NewHomes(name, agent.UsualHome(".parrot", "PARROT_HOME"), o.Roots)
	a := &room{agent.Transcripts{
		Base:      agent.NewBase(agent.About{Name: name, Program: "parrot", Is: isProgram}, o),
		Homes:     homes,
		Dir:       "perches",
		Files:     agent.Source{Match: func(rel string) bool { return strings.HasSuffix(rel, ".jsonl") }},
		Elsewhere: func(home string) string { return "PARROT_HOME=" + home },
	}}
	a.Read = a.read
	return a, err
}

func isProgram(path string) bool { return filepath.Base(path) == "parrot" }

// record is one line.
type record struct {
	At   time.Time `json:"at"`
	Cwd  string    `json:"cwd"`
	Kind string    `json:"kind"` // heard, said or refused
	Text string    `json:"text"`
}

func (a *room) read(line lines.Line) (o resume.Observation, ok bool) {
	r, ok := lines.Parse[record](line.Data)
	if !ok {
		return o, false
	}
	o.Key.ID, o.Cwd = strings.TrimSuffix(filepath.Base(line.Path), ".jsonl"), r.Cwd
	switch r.Kind {
	case "heard":
		o.Event = resume.Prompted{At: r.At}
	case "said":
		o.Event = resume.Progressed{At: r.At}
	case "refused":
		verdict := a.LimitsAt(r.At).Refusal(limit.Refusal{Text: r.Text})
		o.Event = resume.Limited{At: r.At, Verdict: verdict, Text: agent.Clip(r.Text)}
	}
	return o, o.Event != nil
}

func (a *room) Owner(ctx context.Context, s resume.Session) (*resume.Owner, error) {
	return a.Processes.OwnerInDir(ctx, s, isProgram, "-p")
}

func (a *room) Plan(ctx context.Context, s resume.Session, prompt string) (agent.Plan, error) {
	if _, plan, stands, err := agent.StillStopped(ctx, a, s); !stands {
		return plan, err
	}
	return a.Run(s, s.Cwd, leash.Repeated{}, "--perch", s.Key.ID, "-p", prompt), nil
}

// invocation is a command line of the parrot.
type invocation struct{ leash.Arguments }

func (a *room) Invocation(args []string) (headless.Invocation, bool) {
	i := invocation{leash.Flags{{Takes: leash.One, Names: "-p --perch"}}.Parse(args)}
	return i, i.Has("-p")
}

func (i invocation) Prompted() bool                   { return true }
func (i invocation) Session() string                  { return headless.PlainID(i.Value("--perch")) }
func (i invocation) SessionIDArgs(id string) []string { return []string{"--perch", id} }

func (i invocation) Track(string) func(context.Context, headless.Ended) headless.Continuation {
	return func(_ context.Context, run headless.Ended) headless.Continuation {
		return headless.Continuation{Session: run.Session}
	}
}

func (i invocation) Resume(t headless.Continuation, prompt string) []string {
	return append(i.Options("--perch", "-p"), "--perch", t.Session, "-p", prompt)
}
