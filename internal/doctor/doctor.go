// Package doctor reports problems of a setup, and their fixes.
package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"resumed/internal/config"
	"resumed/internal/control"
	"resumed/internal/humanize"
	"resumed/internal/ownership"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
	"resumed/internal/sanitize"
)

// Verdict is how a check ended.
type Verdict string

// The verdicts.
const (
	OK   Verdict = "ok"
	Warn Verdict = "warn" // something works less well than it could
	Fail Verdict = "fail" // something does not work
)

// Check is the result of one check.
type Check struct {
	Name   string  `json:"name"`
	Status Verdict `json:"status"`
	Text   string  `json:"text"`
	Fix    string  `json:"fix,omitempty"` // the command that fixes it
}

// Report holds all results.
type Report struct {
	Checks []Check
	Stored []Stored // how much the daemon stores, and where
}

// OK adds a check that found nothing wrong.
func (r *Report) OK(name, text string) { r.add(name, OK, text, "") }

// Warn adds a check that found something that works less well than it could.
func (r *Report) Warn(name, text, fix string) { r.add(name, Warn, text, fix) }

// Fail adds a check that found something that does not work.
func (r *Report) Fail(name, text, fix string) { r.add(name, Fail, text, fix) }

func (r *Report) add(name string, v Verdict, text, fix string) {
	r.Checks = append(r.Checks, Check{name, v, sanitize.Short(text, 400), fix})
}

// Count returns how many checks have the verdict.
func (r *Report) Count(v Verdict) int {
	n := 0
	for _, c := range r.Checks {
		if c.Status == v {
			n++
		}
	}
	return n
}

// The texts of what is missing on a machine on which nothing is resumed yet.
const (
	notRunning = "not running"
	noAgent    = "no agent was found: there is nothing to resume"
)

// ToStart returns what a person does before anything is resumed here; nil: nothing.
func (r *Report) ToStart() (steps []string) {
	for _, c := range r.Checks {
		if c.Text == notRunning || c.Text == noAgent {
			steps = append(steps, c.Fix)
		}
	}
	return steps
}

// Input is what the doctor cannot find out itself.
type Input struct {
	Version      string // of this program
	ConfigPath   string
	Config       config.Config
	ConfigErr    error  // why the configuration cannot be used
	ConfigFix    string // what to do about that, if it is not to correct the file
	Host         string // the name of this machine in its fleet
	RecordedPath string // the PATH of the installed service
	SocketDir    string
	Status       func(ctx context.Context, all bool) (control.Status, error) // of the daemon
	Service      func(context.Context, *Report)                              // examines the installed service
}

// timeLimit limits the whole examination.
const timeLimit = 30 * time.Second

// Examine examines the setup of this machine.
func Examine(ctx context.Context, in Input) *Report {
	ctx, cancel := context.WithTimeoutCause(ctx, timeLimit, errors.New("it took too long"))
	defer cancel()
	r := &Report{}
	examineConfig(r, in)
	if in.ConfigErr == nil {
		examineAgents(ctx, r, in)
	} else {
		in.Config = config.Config{History: config.Default().History}
	}
	examineState(r)
	examineStored(ctx, r, in.Config)
	examineDaemon(ctx, r, in)
	examineFleet(ctx, r, in)
	examineTmux(ctx, r)
	examineDesktop(ctx, r, in)
	in.Service(ctx, r)
	examineClock(r, time.Now())
	return r
}

func examineConfig(r *Report, in Input) {
	if in.ConfigErr != nil {
		r.Fail("config", in.ConfigErr.Error(), cmp.Or(in.ConfigFix, "resumed config check"))
		return
	}
	warnings := config.Warnings(in.ConfigPath, in.Config)
	for _, warning := range warnings {
		r.Warn("config", warning, "")
	}
	if len(warnings) == 0 {
		r.OK("config", cmp.Or(in.ConfigPath, "no file: built-in defaults"))
	}
}

// notInstalled is the text for an agent that is not installed.
const notInstalled = "not installed"

// ForPeople returns the checks, first those that need a person, with one line at the end for all agents
// that are not installed: most people have one or two agents.
func (r *Report) ForPeople() []Check {
	var names []string
	absent := func(c Check) bool { return c.Text == notInstalled && strings.HasPrefix(c.Name, "agent ") }
	for _, c := range r.Checks {
		if absent(c) {
			names = append(names, strings.TrimPrefix(c.Name, "agent "))
		}
	}
	folded := slices.Clone(r.Checks)
	if len(names) > 1 {
		folded = slices.DeleteFunc(folded, absent)
		folded = append(folded, Check{Name: "other agents", Status: OK, Text: notInstalled + ": " + strings.Join(names, ", ")})
	}
	slices.SortStableFunc(folded, func(a, b Check) int { return a.rank() - b.rank() })
	return folded
}

// rank is the place of a check in the order for people: what needs them first, and last what nobody
// needs if all is well.
func (c Check) rank() int {
	switch {
	case c.Status == Fail:
		return 0
	case c.Status == Warn:
		return 1
	case c.Name == "kept" || c.Name == "other agents" || c.Text == notInstalled:
		return 3
	default:
		return 2
	}
}

func examineDaemon(ctx context.Context, r *Report, in Input) {
	ctx, cancel := context.WithTimeoutCause(ctx, 5*time.Second, errors.New("it does not answer"))
	defer cancel()
	status, err := in.Status(ctx, false)
	examineSessions(r, status.Sessions, in.Config.Resume.Trust())
	d := status.Daemon
	if err == nil {
		examineMounts(r, d.PID)
	}
	switch {
	case errors.Is(err, control.ErrNoDaemon):
		r.Warn("daemon", notRunning, "resumed install, or resumed run")
	case err != nil:
		r.Fail("daemon", "the socket in "+in.SocketDir+": "+err.Error(), "systemctl --user restart resumed")
	case d.DryRun:
		r.Warn("daemon", fmt.Sprintf("pid %d is a dry run: it resumes nothing", d.PID), "resumed install, or resumed run")
	case !d.Config.OK:
		r.Fail("daemon", "the newest configuration has errors and is not used: "+*d.Config.Error, "resumed config check")
	case len(d.Problems) > 0:
		r.Fail("daemon", strings.Join(d.Problems, "; "), "")
	case d.Version != in.Version:
		r.Warn("daemon", fmt.Sprintf("pid %d is resumed %s, and this is %s", d.PID, d.Version, in.Version), "systemctl --user restart resumed")
	case d.Notices.Failed > 0:
		r.Warn("daemon", fmt.Sprintf("%s did not reach you", humanize.Count(d.Notices.Failed, "notice")), "resumed notify test")
	default:
		r.OK("daemon", fmt.Sprintf("pid %d, resumed %s", d.PID, d.Version))
	}
}

// mostSessions limits how many sessions are listed.
const mostSessions = 20

// examineSessions reports the program of each interrupted session, if it was observed: a resume uses
// the same.
func examineSessions(r *Report, sessions []view.Session, trust ownership.Trust) {
	named := 0
	for _, s := range sessions {
		if s.State == resume.Watching || named == mostSessions {
			continue
		}
		name := fmt.Sprintf("session %.8s of %s", s.ID, s.Agent)
		if wrong, ok := errors.AsType[*ownership.Error](trust.Check(s.Cwd)); ok && s.Cwd != "" {
			named++
			r.Fail(name, "it is not continued: "+wrong.Path+" "+wrong.Why, wrong.Fix)
			continue
		}
		if s.Program == "" {
			continue
		}
		named++
		if _, err := os.Stat(s.Program); err != nil {
			r.Warn(name, s.Program+", which its own process ran, is gone: the agent's usual program continues it", "")
			continue
		}
		r.OK(name, s.Program+", as its own process ran it, unless command is set for the agent")
	}
}
