package agent

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"resumed/internal/headless"
	"resumed/internal/leash"
	"resumed/internal/limit"
	"resumed/internal/lines"
	"resumed/internal/resume"
)

// Description describes an agent as data. Such an agent appends records of its sessions to
// files in its homes, and its program takes a prompt with -p and --prompt.
type Description struct {
	About
	Title    string   // for people
	Remedies Remedies // what a person does in it
	Plugin   *Plugin  // as in Builtin

	CommandVariable string // as in Builtin

	Home          string   // the name of its home, below the user's home directory
	HomeVariables []string // that name another home; the last one is set for a run in another home
	Around        bool     // the variables name the parent directory of the home, which is always called Home

	Glob string // of the transcripts, below a home; the directory that it begins with is watched
	Sift func(line []byte) Weight

	IsID   func(text string) bool   // reports whether a text is the id of a session
	PathID func(path string) string // returns the id in the path of a transcript, or the part of it that is there; "": none

	// Read returns what a line says, or false if nothing. limits returns a reader for limits of that time.
	Read func(line lines.Line, limits func(at time.Time) limit.Reader) (Record, bool)

	// Place returns the session of a line's file, and its directory; nil: each record contains both.
	Place func(lines.Line) (session, cwd string)

	// Counts is a text that every line with the size of the context contains.
	Counts string

	// Choose returns what a resume gets besides the flags of the session's start; nil: nothing.
	// Enough reports whether earlier lines cannot add more settings; nil: they always can.
	Choose func(ctx context.Context, d *Described, s resume.Session, had RunSettings) (Choice, error)
	Enough func(RunSettings) bool

	// Owner returns the live process that may hold a session; nil: any process in its directory may.
	Owner func(ctx context.Context, d *Described, s resume.Session) (*resume.Owner, error)

	// Named returns the variables that settings of the homes and of a directory name; nil: they name none.
	Named func(d *Described, dir string) leash.Variables

	// Tidy is Agent.Tidy; nil: runs leave nothing behind.
	Tidy func(ctx context.Context, d *Described, s resume.Session) error

	Starts bool   // it can begin a session without a terminal
	Resume string // the option that continues a session by its id
	Gone   string // what a person should know if the transcript is gone
	Line   PromptFlags
}

// Record is what one line of a transcript says.
type Record struct {
	ToolUse
	Event    resume.Event // what happened; nil: nothing
	Prompt   string       // the words of a prompt
	Session  string       // if there is no Place
	Cwd      string
	Provider string
	Tokens   int64 // the size of the context; 0: not stated
	RunSettings
}

// RunSettings is what records say about how a session runs; empty: not stated.
type RunSettings struct{ Model, Login, Mode, Permission string }

func (s *RunSettings) older(other RunSettings) {
	s.Model, s.Login = cmp.Or(s.Model, other.Model), cmp.Or(s.Login, other.Login)
	s.Mode, s.Permission = cmp.Or(s.Mode, other.Mode), cmp.Or(s.Permission, other.Permission)
}

// Choice is what a resume gets.
type Choice struct {
	Args   []string         // after the session id
	Newer  []string         // flags of the session's start that are replaced by something newer
	Left   []leash.Omission // what the resume does not get, and why
	Prompt string           // the prompt; empty: the one that the user has configured
	Dir    string           // empty: the session's
	Keep   []string         // Command.Keep
	Free   bool             // Command.AnyFlags
	Spare  func(variable string) bool
	Skip   *Skip // why the session is not continued
}

// Described is the agent of a description, with its homes.
type Described struct {
	Transcripts
	is Description
}

// Builtin returns the entry for the list of agents.
func (is Description) Builtin() Builtin {
	return Builtin{
		Name: is.Name, Title: is.Title, Headless: is.Program + " -p", Variables: is.HomeVariables, Remedies: is.Remedies,
		New:    func(o Options) (Agent, error) { return is.New(o) },
		Plugin: is.Plugin, CommandVariable: is.CommandVariable,
	}
}

// New returns the agent of the description. It reads the environment, but no file.
func (is Description) New(o Options) (*Described, error) {
	usual, variable := UsualHome(is.Home, is.HomeVariables...), is.HomeVariables[len(is.HomeVariables)-1]
	if is.Around && os.Getenv(variable) != "" {
		usual = filepath.Join(usual, is.Home)
	}
	homes, err := NewHomes(is.Name, usual, o.Roots)
	bad := []error{err}
	for _, root := range homes.Roots {
		if is.Around && filepath.Base(root) != is.Home {
			bad = append(bad, fmt.Errorf("root %q of %s is not called %s, as every home of it is", root, is.Name, is.Home))
		}
	}
	if is.Line.Say == nil {
		is.Line.Say = WithPrompt
	}
	dir, _, _ := strings.Cut(is.Glob, "/")
	files := Source{Sift: is.Sift, Depth: strings.Count(is.Glob, "/") - 1, Match: func(rel string) bool {
		matches, _ := filepath.Match(is.Glob, filepath.Join(dir, rel)) // the pattern is valid
		return matches && is.PathID(rel) != ""
	}}
	d := &Described{Transcripts{Base: NewBase(is.About, o), Homes: homes, Dir: dir, Files: files}, is}
	d.Elsewhere = func(home string) string {
		if is.Around {
			home = filepath.Dir(home)
		}
		return variable + "=" + home
	}
	d.Read, d.Size = d.observe, d.size
	return d, errors.Join(bad...)
}

// record parses a line. A record without a time is no event.
func (d *Described) record(line lines.Line) (Record, bool) {
	r, ok := d.is.Read(line, d.LimitsAt)
	if r.At.IsZero() {
		r.Event = nil
	}
	return r, ok
}

func (d *Described) place(r Record, line lines.Line) (session, cwd string) {
	if d.is.Place != nil {
		return d.is.Place(line)
	}
	return r.Session, r.Cwd
}

func (d *Described) observe(line lines.Line) (o resume.Observation, ok bool) {
	r, ok := d.record(line)
	if !ok || r.Event == nil {
		return o, false
	}
	o.Event, o.Provider = r.Event, r.Provider
	o.Key.ID, o.Cwd = d.place(r, line)
	return o, o.Key.ID != ""
}

// Denied returns the last refusal of a run, from its transcript.
func (d *Described) Denied(ctx context.Context, s resume.Session, run Ran) (Denial, bool, error) {
	denial, denied, _, err := LastDenial(ctx, s.Transcript, run.Since, func(line lines.Line) ToolUse {
		r, _ := d.record(line)
		switch r.Event.(type) {
		case resume.Limited, resume.Cancelled:
			r.Other = true
		}
		return r.ToolUse
	})
	return denial, denied, err
}

// OpenTool returns the tool that was called last and has no result.
func (d *Described) OpenTool(ctx context.Context, s resume.Session) string {
	return OpenCall(ctx, s, func(line lines.Line) ToolUse {
		r, _ := d.record(line)
		_, r.Begins = r.Event.(resume.Prompted)
		return r.ToolUse
	}).Tool
}

// How long the provider caches it is not known.
func (d *Described) size(line lines.Line) (resume.Context, bool) {
	if !bytes.Contains(line.Data, []byte(d.is.Counts)) {
		return resume.Context{}, false
	}
	r, ok := d.record(line)
	return resume.Context{Tokens: r.Tokens, At: r.At}, ok && r.Tokens > 0
}

// Owner assumes that a process may hold any session of its directory: most described agents take no lock.
func (d *Described) Owner(ctx context.Context, s resume.Session) (*resume.Owner, error) {
	if d.is.Owner != nil {
		return d.is.Owner(ctx, d, s)
	}
	return d.Processes.OwnerInDir(ctx, s, d.is.Is, PromptOptions...)
}

// Variables are those that matter to the agent, and those that its settings name.
func (d *Described) Variables() leash.Variables { return d.variablesIn("") }

// Origin returns what the process was started with.
func (d *Described) Origin(pid int, secrets bool) *resume.Origin {
	return d.OriginBy(d.variablesIn(d.Processes.Cwd(pid)), pid, secrets)
}

// variablesIn is Variables for sessions in that directory, which may have its own settings.
func (d *Described) variablesIn(dir string) leash.Variables {
	if d.is.Named == nil {
		return d.Base.Variables()
	}
	return slices.Concat(d.Base.Variables(), d.is.Named(d, dir))
}

// Tidy removes what resumed runs of the session left behind and must not stay.
func (d *Described) Tidy(ctx context.Context, s resume.Session) error {
	if d.is.Tidy == nil {
		return nil
	}
	return d.is.Tidy(ctx, d, s)
}

// Starts reports whether the agent can begin a session.
func (d *Described) Starts() bool { return d.is.Starts }

// Start begins the session with the task's id, or with output in JSON, which contains the id.
func (d *Described) Start(task resume.Session) (Plan, error) {
	line := d.is.Line
	args := []string{cmp.Or(line.Output...), "stream-json"}
	switch {
	case !d.is.Starts:
		return CannotStart(d), nil
	case len(line.Gives) > 0:
		args = []string{line.Gives[0], task.Key.ID}
	}
	return d.Open(task, Opening{Args: args, Mode: line.Mode, Modes: line.Modes, Say: line.Say}), nil
}

// ParseSessionID returns the first id in the JSON output of a run, unless the run was given its id.
func (d *Described) ParseSessionID(printed string) string {
	if len(d.is.Line.Gives) > 0 {
		return ""
	}
	return headless.ToldID(headless.Printed{Stdout: printed}, d.is.Line.Field)
}

// Plan returns how the session is continued now: by a run without a terminal in the session's
// directory, with the flags of its start. Few transcripts say what a session may do without
// asking: if its start was not seen, the run gets what the user's settings allow, never more.
func (d *Described) Plan(ctx context.Context, s resume.Session, prompt string) (Plan, error) {
	if err := ctx.Err(); err != nil {
		return Plan{}, err
	}
	if !d.is.IsID(s.Key.ID) {
		return Parked("the session id %q is none of %s", s.Key.ID, d.Name()), nil
	}
	last, had, err := d.endOf(ctx, s, prompt)
	if errors.Is(err, fs.ErrNotExist) && d.is.Gone != "" {
		return Parked("the transcript is gone: %s", d.is.Gone), nil
	}
	if plan, stands, err := StillStoppedBy(s, last, err); !stands {
		return plan, err
	}
	var choice Choice
	if d.is.Choose != nil {
		choice, err = d.is.Choose(ctx, d, s, had)
	}
	if err != nil || choice.Skip != nil {
		return Plan{Skip: choice.Skip}, err
	}
	carried, _ := d.Carry(s, choice.Newer...)
	carried.LeftOut = append(carried.LeftOut, choice.Left...)
	dir := cmp.Or(choice.Dir, s.Cwd)
	mode, pinned, left := d.mode(s, dir, carried)
	carried.LeftOut = append(carried.LeftOut, left...)
	choice.Args = append(choice.Args, pinned...)
	args := slices.Concat([]string{d.is.Resume, s.Key.ID}, choice.Args, carried.Args)
	plan := d.Run(s, dir, carried, d.is.Line.Say(args, cmp.Or(choice.Prompt, prompt))...)
	if plan.Run != nil {
		plan.Run.Optional, plan.Run.Backup, plan.Run.AnyFlags = choice.Spare, choice.Keep, choice.Free
		if mode != "" {
			plan.Run.Permission = resume.Permission{Mode: mode, Rank: d.Rank(mode)}
			plan.Run.AskMode = slices.Contains(d.about.Settings.Asking, mode)
		}
	}
	return plan, nil
}

// mode returns the permission mode of a run with these flags of the session's start; "": the agent has none that
// settings choose. It is pinned by a flag, if the settings would give the run more than they gave the session, or cannot be read.
func (d *Described) mode(s resume.Session, dir string, carried leash.Repeated) (mode string, pinned []string, left []leash.Omission) {
	about := d.about.Settings
	if about == nil || about.Usual == "" {
		return "", nil, nil
	}
	line := d.about.Flags.Parse(carried.Args)
	most := about.Modes[len(about.Modes)-1]
	if all := line.Has(about.All...) && line.Value(about.All...) != "false"; all || line.Has(d.is.Line.Mode) {
		return cmp.Or(line.Value(d.is.Line.Mode), most), nil, nil
	}
	start, now := cmp.Or(d.StartMode(s, dir), about.Usual), cmp.Or(d.ModeNow(s, dir), about.Usual)
	pinned = []string{d.is.Line.Mode, start}
	switch o := s.StartedWith(); {
	case o == nil || !o.ArgsSeen:
		return now, nil, nil
	case o.Sandbox != "":
		return start, pinned, nil
	case d.Rank(now) != 0 && d.Rank(now) <= d.Rank(start):
		return now, nil, nil
	default:
		return start, pinned, []leash.Omission{{What: now, Why: "the session was started with less: continued in " + start}}
	}
}

// maxEndLines: a long turn may have many records since the last prompt.
const maxEndLines = 20_000

// endOf reads the end of a session's transcript: the last event, nil if there is none, and the
// last settings. It skips prompts sent by resumed, and the one that is about to be sent: a resume that was cut off leaves its prompt
// behind without any progress.
func (d *Described) endOf(ctx context.Context, s resume.Session, prompt string) (last resume.Event, had RunSettings, err error) {
	err = lines.Last(s.Transcript, maxEndLines).Back(ctx, func(line lines.Line) bool {
		if r, ok := d.record(line); ok {
			given, prompted := r.Event.(resume.Prompted)
			sent := prompted && (SentByUs(s, given.At) || strings.TrimSpace(r.Prompt) == strings.TrimSpace(prompt))
			if last == nil && !sent {
				last = r.Event
			}
			had.older(r.RunSettings)
		}
		return last == nil || d.is.Enough == nil || !d.is.Enough(had)
	})
	return last, had, err
}

// Failed returns the verdict of a failure that ended a turn. One that is not recognised becomes Unknown.
func Failed(v limit.Verdict) limit.Verdict {
	v.InProgress = false
	if v.Class == limit.None {
		v.Class, v.WaitHelps = limit.Unknown, true
	}
	return v
}

// ProgramOf recognises a program by its own names, or by those of scripts in a package, separated by spaces.
func ProgramOf(names, scripts, pkg string) func(path string) bool {
	return func(path string) bool {
		name := filepath.Base(path)
		return slices.Contains(strings.Fields(names), name) ||
			slices.Contains(strings.Fields(scripts), name) && strings.Contains(path, pkg)
	}
}

// Optional reports whether a variable is one of all providers, and none of those that are needed.
func Optional(needed leash.Variables, providers string) func(variable string) bool {
	return func(variable string) bool {
		return !needed.Has(variable) && leash.Variables{{Names: providers}}.Has(variable)
	}
}

// VariablesIn returns the variables of the account that settings files name: the first group of a pattern.
func VariablesIn(pattern *regexp.Regexp, files ...string) leash.Row {
	var names []string
	for _, file := range files {
		text, _ := ReadSettings(file) // an unreadable file names none
		for _, found := range pattern.FindAllSubmatch(text, -1) {
			names = append(names, string(found[1]))
		}
	}
	return leash.Row{Effect: leash.Account, Names: strings.Join(names, " ")}
}
