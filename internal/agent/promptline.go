package agent

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"resumed/internal/headless"
	"resumed/internal/leash"
	"resumed/internal/limit"
	"resumed/internal/lines"
	"resumed/internal/process"
	"resumed/internal/resume"
)

// PromptOptions are the options with which a described agent takes a prompt without a terminal.
var PromptOptions = []string{"-p", "--prompt", "--print"}

// WithPrompt appends a prompt so that it cannot be mistaken for an option.
func WithPrompt(args []string, prompt string) []string {
	return leash.WithValue(args, PromptOptions[0], PromptOptions[1], prompt)
}

// PromptFlags describes the command lines of a described agent.
type PromptFlags struct {
	Plain       bool     // plain arguments are a prompt too
	Subcommands []string // words that are not a prompt
	Terminal    []string // options of runs with a terminal

	Names [][]string // the options that name a session, in order of precedence

	// Gives is the option that sets a new session's id, and options that exclude it; nil: it cannot be set.
	Gives []string

	Once []string // the options that a resume does not repeat

	Say func(args []string, prompt string) []string // appends a prompt; nil: WithPrompt

	Mode   string   // the option that takes a permission mode
	Modes  []string // what it takes
	Output []string // the options for the output format; with json the output contains the id
	Field  string   // the field of the id
	Stream bool     // json is a stream, not one document

	// Failed returns why a run failed, as its output says; of class none: it does not. Nil: the transcript says it.
	Failed func(limits limit.Reader, run headless.Printed) (limit.Verdict, string)

	// Left returns what can be continued of the session that a run had; nil: just the session.
	Left func(ctx context.Context, d *Described, t headless.Continuation, run headless.Ended, dir string) headless.Continuation
}

type promptLine struct {
	leash.Arguments
	of *Described
}

// Invocation parses a command line that runs the agent without a terminal.
func (d *Described) Invocation(args []string) (headless.Invocation, bool) {
	p, is := promptLine{d.is.Flags.Parse(args), d}, d.is.Line
	plain := p.Plain()
	if len(plain) > 0 && slices.Contains(is.Subcommands, plain[0]) || p.Has(is.Terminal...) {
		return nil, false
	}
	return p, p.Has(PromptOptions...) || is.Plain && len(plain) > 0
}

func (p promptLine) prompt() string {
	prompt := p.Value(PromptOptions...)
	if p.of.is.Line.Plain {
		prompt = cmp.Or(prompt, strings.Join(p.Plain(), " "))
	}
	return prompt
}

// Prompted reports whether the command line contains a prompt.
func (p promptLine) Prompted() bool { return p.prompt() != "" }

// Session returns the session that the command line names by its id.
func (p promptLine) Session() string {
	for _, options := range p.of.is.Line.Names {
		if id := p.Value(options...); strings.Contains(id, "-") && headless.PlainID(id) != "" {
			return id
		}
	}
	return ""
}

// SessionIDArgs returns the arguments that set the id of a new session.
func (p promptLine) SessionIDArgs(id string) []string {
	if with := p.of.is.Line.Gives; len(with) > 0 && !p.Has(with...) {
		return []string{with[0], id}
	}
	return nil
}

// Track uses the id in the JSON output of a run, else the id that the run was given. Without one,
// the session is the only new one of the directory that begins with the prompt of the command line.
func (p promptLine) Track(dir string) func(context.Context, headless.Ended) headless.Continuation {
	is, begun := p.of.is.Line, p.of.Homes.NewFiles(p.of.is.Glob)
	return func(ctx context.Context, run headless.Ended) headless.Continuation {
		t := headless.Continuation{Session: run.Session}
		if strings.HasSuffix(p.Value(is.Output...), "json") {
			t.Session = cmp.Or(headless.ToldID(run.Printed, is.Field), run.Session)
		}
		if t.Session == "" {
			t = p.onlyOf(ctx, begun(), dir)
		}
		if is.Left != nil {
			t = is.Left(ctx, p.of, t, run, dir)
		}
		return t
	}
}

// Document reports whether the run prints one document.
func (p promptLine) Document() bool {
	return !p.of.is.Line.Stream && p.Value(p.of.is.Line.Output...) == "json"
}

// Failed returns why a run failed, as its output says whatever its exit code is; of class none: it does not.
func (p promptLine) Failed(limits limit.Reader, run headless.Printed) (v limit.Verdict, words string) {
	if failed := p.of.is.Line.Failed; failed != nil {
		return failed(limits, run)
	}
	return v, ""
}

// onlyOf returns the only session of these files that began there with the prompt of the command line.
func (p promptLine) onlyOf(ctx context.Context, files []string, dir string) headless.Continuation {
	var found []headless.Continuation
	for _, path := range files {
		session, cwd, first := p.of.opening(ctx, path)
		if headless.PlainID(session) != "" && process.SameDir(cwd, dir) && headless.Said(first, p.prompt()) {
			found = append(found, headless.Continuation{Session: session, Transcript: path})
		}
	}
	if len(found) != 1 {
		return headless.Continuation{}
	}
	return found[0]
}

func (d *Described) opening(ctx context.Context, path string) (session, cwd, prompt string) {
	_ = lines.Back(ctx, path, func(line lines.Line) bool { // an unreadable file belongs to no session
		r, _ := d.record(line)
		if _, ok := r.Event.(resume.Prompted); ok {
			prompt = r.Prompt
			session, cwd = d.place(r, line)
		}
		return true
	})
	return session, cwd, prompt
}

// Resume continues the session, with the first prompt if the session does not contain it.
func (p promptLine) Resume(t headless.Continuation, prompt string) []string {
	if t.Again {
		args := append(p.Options(slices.Concat(p.of.is.Line.Names...)...), p.of.is.Resume, t.Session)
		return append(args, p.Plain()...)
	}
	return p.of.is.Line.Say(append(p.Options(p.of.is.Line.Once...), p.of.is.Resume, t.Session), prompt)
}
