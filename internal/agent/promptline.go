package agent

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"resumed/internal/leash"
	"resumed/internal/process"
	"resumed/internal/resume"
)

// PromptOptions are those by which a described agent takes a prompt without a terminal.
var PromptOptions = []string{"-p", "--prompt"}

// WithPrompt appends a prompt, so that it is never taken for an option.
func WithPrompt(args []string, prompt string) []string {
	return leash.WithValue(args, PromptOptions[0], PromptOptions[1], prompt)
}

// PromptFlags is what a command line of a described agent may have.
type PromptFlags struct {
	Plain       bool     // plain arguments are a prompt too
	Subcommands []string // words that are none
	Terminal    []string // options of runs with a terminal

	Names  [][]string             // the options that name a session, the strongest first
	IsName func(text string) bool // reports whether that names one by its id; nil: where it is an id

	// Gives is the option that gives an id to a new session, and those with which that
	// cannot be; nil: it cannot at all.
	Gives []string

	Once []string // the options that a resume does not repeat

	Mode   string   // the option that takes a permission mode
	Output []string // the options that choose how a run prints, of which json tells the id
	Field  string   // in which it does

	// Find returns what can be continued of a session whose id is known; nil: the session.
	Find func(d *Described, id string) Trail
}

// PromptLine is a command line of a described agent that runs it without a terminal.
type PromptLine struct {
	leash.Arguments
	of *Described
}

// Invocation says what a command line asks for that runs the agent without a terminal.
func (d *Described) Invocation(args []string) (Invocation, bool) { return d.PromptLine(args) }

// PromptLine is Invocation.
func (d *Described) PromptLine(args []string) (PromptLine, bool) {
	p, is := PromptLine{d.is.Flags.Parse(args), d}, d.is.Line
	plain := p.Plain()
	if len(plain) > 0 && slices.Contains(is.Subcommands, plain[0]) || p.Has(is.Terminal...) {
		return PromptLine{}, false
	}
	return p, p.Has(PromptOptions...) || is.Plain && len(plain) > 0
}

// Prompt returns what the line says to do.
func (p PromptLine) Prompt() string {
	prompt := p.Value(PromptOptions...)
	if p.of.is.Line.Plain {
		prompt = cmp.Or(prompt, strings.Join(p.Plain(), " "))
	}
	return prompt
}

// Prompted reports whether the line says what to do.
func (p PromptLine) Prompted() bool { return p.Prompt() != "" }

// Session returns the session that the line names by its id.
func (p PromptLine) Session() string {
	is := p.of.is.Line.IsName
	if is == nil {
		is = p.of.is.IsID
	}
	for _, options := range p.of.is.Line.Names {
		if id := p.Value(options...); id != "" && is(id) {
			return id
		}
	}
	return ""
}

// Give returns what gives a new session that id.
func (p PromptLine) Give(id string) []string {
	if with := p.of.is.Line.Gives; len(with) > 0 && !p.Has(with...) {
		return []string{with[0], id}
	}
	return nil
}

// Told returns the session that a run has printed for programs, else the one that it was
// given.
func (p PromptLine) Told(run Ended) string {
	if is := p.of.is.Line; strings.HasSuffix(p.Value(is.Output...), "json") {
		return cmp.Or(ToldID(run.Recording, is.Field), run.Session)
	}
	return run.Session
}

// Begin believes the id that a run prints to programs. Without one the session is the one
// new session of the directory that begins with the line's own prompt.
func (p PromptLine) Begin(dir string) func(context.Context, Ended) Trail {
	begun := p.of.Homes.NewFiles(p.of.is.Glob)
	return func(ctx context.Context, run Ended) Trail {
		id, find := p.Told(run), p.of.is.Line.Find
		switch {
		case id != "" && find != nil:
			return find(p.of, id)
		case id != "":
			return Trail{Session: id}
		}
		var found []Trail
		for _, path := range begun() {
			session, cwd, first := p.of.opening(ctx, path)
			if PlainID(session) != "" && process.SameDir(cwd, dir) && Said(first, p.Prompt()) {
				found = append(found, Trail{Session: session, Transcript: path})
			}
		}
		if len(found) != 1 {
			return Trail{}
		}
		return found[0]
	}
}

// opening returns what a transcript begins with: its session, where that works, and its
// first prompt.
func (d *Described) opening(ctx context.Context, path string) (session, cwd, prompt string) {
	_ = LinesBack(ctx, path, func(line Line) bool { // what cannot be read is no session's
		r, _ := d.record(line)
		if _, ok := r.Event.(resume.Prompted); ok && !line.Cut {
			prompt = r.Prompt
			session, cwd = d.place(r, line)
		}
		return true
	})
	return session, cwd, prompt
}

// Resume returns the arguments that continue the session.
func (p PromptLine) Resume(t Trail, prompt string) []string {
	return WithPrompt(append(p.Options(p.of.is.Line.Once...), p.of.is.Resume, t.Session), prompt)
}
