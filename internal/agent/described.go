package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"resumed/internal/leash"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// Description is an agent as a value: one that appends the records of its sessions to
// files of its homes, and whose program takes a prompt by -p and --prompt.
type Description struct {
	About
	Title    string   // for people
	Remedies Remedies // what a person does in it

	Home          string   // what its home is called, below the user's home directory
	HomeVariables []string // that name another home; the last takes a run there
	Around        bool     // they name the directory around the home, which is always called Home

	Dir   string // of each home, in which the files lie
	Files Source // what each home's source is like
	Glob  string // the same files, below a home

	IsID func(text string) bool // reports whether a text is the id of a session

	// Read returns what a line says, or false where that is nothing. limits reads
	// what was said of limits at that time.
	Read func(line Line, limits func(at time.Time) limit.Reader) (Record, bool)

	// Place returns the session that the file of a line belongs to, and where it works;
	// nil: each record tells.
	Place func(Line) (session, cwd string)

	// Counts is what stands in every line that tells the size of the context.
	Counts string

	// Choose says what a resume is given besides the flags of the session's start; nil:
	// nothing. Enough reports whether earlier lines cannot tell more settings; nil: they can.
	Choose func(d *Described, s resume.Session, had RunSettings) Choice
	Enough func(RunSettings) bool

	Resume string // the option that continues a session by its id
	Line   PromptFlags
}

// Record is what one line of a transcript says.
type Record struct {
	At       time.Time
	Event    resume.Event // what happened; nil: nothing did
	Prompt   string       // the words of a prompt
	Session  string       // where there is no Place
	Cwd      string
	Provider string

	Calls  []Call  // the tools that are called
	Denied *Denial // the tool that was not allowed
	Tokens int64   // the size of the context; 0: not told
	RunSettings
}

// RunSettings is what records tell of how a session runs; empty: not told.
type RunSettings struct{ Model, Login, Mode, Permission string }

// older adds what an earlier record tells.
func (s *RunSettings) older(other RunSettings) {
	for into, value := range map[*string]string{&s.Model: other.Model, &s.Login: other.Login, &s.Mode: other.Mode, &s.Permission: other.Permission} {
		if *into == "" {
			*into = value
		}
	}
}

// Choice is what a resume is given.
type Choice struct {
	Args  []string         // after the session
	Newer []string         // the flags that the session's start need not tell any more
	Left  []leash.Omission // what it is not given, and why
	Spare func(variable string) bool
	Park  string // why the session is not continued
}

// Described is the agent of a description, with its homes. A room embeds it.
type Described struct {
	Transcripts
	is Description
}

// Builtin is the agent in the list of agents.
func (is Description) Builtin(newAgent func(Options) (Agent, error)) Builtin {
	return Builtin{
		Name: is.Name, Title: is.Title, Headless: is.Program + " -p", Variables: is.HomeVariables, Remedies: is.Remedies, New: newAgent,
	}
}

// Describe makes d the agent of the description. It looks at the environment, not at any file.
func (d *Described) Describe(is Description, o Options) error {
	usual, variable := UsualHome(is.Home, is.HomeVariables...), is.HomeVariables[len(is.HomeVariables)-1]
	if is.Around {
		usual = UsualHome("", is.HomeVariables...)
	}
	if is.Around && usual != "" {
		usual = filepath.Join(usual, is.Home)
	}
	homes, err := NewHomes(is.Name, usual, o.Roots)
	bad := []error{err}
	for _, root := range homes.Roots {
		if is.Around && filepath.Base(root) != is.Home {
			bad = append(bad, fmt.Errorf("root %q of %s is not called %s, as every home of it is", root, is.Name, is.Home))
		}
	}
	d.Transcripts = Transcripts{Base: NewBase(is.About, o), Homes: homes, Dir: is.Dir, Files: is.Files}
	d.Elsewhere = func(home string) string {
		if is.Around {
			home = filepath.Dir(home)
		}
		return variable + "=" + home
	}
	d.is = is
	d.Read, d.ToolUse, d.Size = d.observe, d.trace, d.size
	return errors.Join(bad...)
}

// record reads a line. What has no time did not happen.
func (d *Described) record(line Line) (Record, bool) {
	r, ok := d.is.Read(line, d.LimitsAt)
	if r.At.IsZero() {
		r.Event = nil
	}
	return r, ok
}

// place returns the session that a record belongs to, and where it works.
func (d *Described) place(r Record, line Line) (session, cwd string) {
	if d.is.Place != nil {
		return d.is.Place(line)
	}
	return r.Session, r.Cwd
}

func (d *Described) observe(line Line) (o resume.Observation, ok bool) {
	r, ok := d.record(line)
	if !ok || r.Event == nil {
		return o, false
	}
	o.Event, o.Provider = r.Event, r.Provider
	o.Key.ID, o.Cwd = d.place(r, line)
	return o, o.Key.ID != ""
}

func (d *Described) trace(line Line) ToolUse {
	r, _ := d.record(line)
	return ToolUse{At: r.At, Calls: r.Calls, Denied: r.Denied, Other: endsRun(r.Event)}
}

// endsRun reports whether a run was stopped by something else than a denial.
func endsRun(event resume.Event) bool {
	switch event.(type) {
	case resume.Limited, resume.Cancelled:
		return true
	}
	return false
}

// size returns how large the context was at an answer. How long the provider keeps it is
// not known.
func (d *Described) size(line Line) (resume.Context, bool) {
	if !bytes.Contains(line.Data, []byte(d.is.Counts)) {
		return resume.Context{}, false
	}
	r, ok := d.record(line)
	return resume.Context{Tokens: r.Tokens, At: r.At}, ok && r.Tokens > 0
}

// Owner returns the live process that may hold the session. Such an agent takes no lock: a
// process that lives in the session's directory may hold any session of it.
func (d *Described) Owner(ctx context.Context, s resume.Session) (*resume.Owner, error) {
	return d.Processes.Neighbour(ctx, s, d.is.Is, PromptOptions...)
}

// Plan says how the session is continued now: by a run without a terminal of the same
// session in its directory, with the flags that it was started with. What a session may do
// without asking is in few transcripts: where its start was not seen, the run has what the
// user's settings say, and never more.
func (d *Described) Plan(ctx context.Context, s resume.Session, w Words) (Plan, error) {
	if err := ctx.Err(); err != nil {
		return Plan{}, err
	}
	if !d.is.IsID(s.Key.ID) {
		return Parked("the session id %q is none of %s", s.Key.ID, d.Name()), nil
	}
	last, had, err := d.endOf(ctx, s, w)
	if plan, stands, err := StillStoppedBy(s, last, err); !stands {
		return plan, err
	}
	var choice Choice
	if d.is.Choose != nil {
		choice = d.is.Choose(d, s, had)
	}
	if choice.Park != "" {
		return Parked("%s", choice.Park), nil
	}
	carried, _ := d.Carry(s, choice.Newer...)
	carried.LeftOut = append(carried.LeftOut, choice.Left...)
	args := slices.Concat([]string{d.is.Resume, s.Key.ID}, choice.Args, carried.Args)
	plan := d.Run(s, s.Cwd, carried, WithPrompt(args, w.Prompt)...)
	if plan.Run != nil {
		plan.Run.Spare = choice.Spare
	}
	return plan, nil
}

// maxEndLines bounds how far back a transcript is looked through: in one long turn there
// may be many records since the last prompt.
const maxEndLines = 20_000

// endOf reads how the transcript of a session ends: the last event, nil where nothing
// happened, and the last settings. Prompts of our own are passed over: a resume that was cut
// off leaves its prompt behind, and nothing has moved.
func (d *Described) endOf(ctx context.Context, s resume.Session, w Words) (last resume.Event, had RunSettings, err error) {
	visited := 0
	err = LinesBack(ctx, s.Transcript, func(line Line) bool {
		visited++
		if r, ok := d.record(line); ok && !line.Cut {
			if last == nil && !SentNow(s, r.Event, r.Prompt, w) {
				last = r.Event
			}
			had.older(r.RunSettings)
		}
		return visited < maxEndLines && (last == nil || d.is.Enough == nil || !d.is.Enough(had))
	})
	return last, had, err
}

// SentNow reports whether an event is a prompt of our own: of an earlier resume of the
// session, or the one that is about to be sent.
func SentNow(s resume.Session, event resume.Event, words string, w Words) bool {
	prompt, ok := event.(resume.Prompted)
	return ok && (SentByUs(s, prompt.At) || strings.TrimSpace(words) == strings.TrimSpace(w.Prompt))
}

// Failed returns the verdict of a failure that ended a turn: the agent has given up, and a
// failure of which nothing is understood is still one.
func Failed(v limit.Verdict) limit.Verdict {
	v.InProgress = false
	if v.Class == limit.None {
		v.Class, v.WaitHelps = limit.Unknown, true
	}
	return v
}

// ProgramOf returns what reports whether a path is that of a program: by its own names, or
// by those of scripts in a package, all separated by spaces.
func ProgramOf(names, scripts, pkg string) func(path string) bool {
	return func(path string) bool {
		name := filepath.Base(path)
		return slices.Contains(strings.Fields(names), name) ||
			slices.Contains(strings.Fields(scripts), name) && strings.Contains(path, pkg)
	}
}
