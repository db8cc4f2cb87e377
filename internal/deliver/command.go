package deliver

import (
	"context"
	"errors"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/humanize"
	"resumed/internal/leash"
	"resumed/internal/resume"
	"resumed/internal/runner"
	"resumed/internal/sanitize"
)

// command runs a program that continues the session without a terminal.
type command struct {
	*delivery
	plan    *agent.Command
	env     surroundings
	process Process
	output  string
}

func (c *command) String() string {
	words := "run " + humanize.CommandLine(c.session.Shown(c.plan.Argv)...)
	if left := c.plan.Carried.LeftOut; len(left) > 0 {
		words += " (left out: " + strings.Join(leash.Words(left), "; ") + ")"
	}
	return words
}

func (c *command) ready(ctx context.Context) *resume.NotSent {
	if why := replaced(c.session, c.plan.Dir); why != "" && c.owner == nil {
		return &resume.NotSent{Why: why, Then: resume.Park}
	}
	settings := c.opts.Settings()
	if notSent := untouchable(settings, c.plan.Dir); notSent != nil {
		return notSent
	}
	if notSent := foreign(settings, c.plan.Dir); notSent != nil {
		return notSent
	}
	if notSent := c.bind(); notSent != nil {
		return notSent
	}
	return c.payable(ctx)
}

// bind gives the command the environment that its session had, or says why it may
// not run. What only hands a message to the session's own process is free of that.
func (c *command) bind() (notSent *resume.NotSent) {
	session := c.session
	if c.plan.Unverifiable {
		session.Origin = nil
	}
	c.env, notSent = c.leashed(session, c.agent, c.plan)
	return notSent
}

func (c *command) send(ctx context.Context) (sent bool, instead resume.Event) {
	run, notSent := c.make(ctx)
	if notSent != nil {
		return false, *notSent
	}
	if notSent := c.confirmHold(ctx); notSent != nil {
		c.giveBack()
		return false, *notSent
	}
	key := c.session.Key
	now, err := c.opts.Engine.Apply(ctx, key, resume.Sending{Mark: run.Mark, LeftOut: leash.Words(c.plan.Carried.LeftOut), Models: c.plan.Models})
	if err != nil || now.Run == nil || now.Run.Mark != run.Mark {
		c.giveBack()
		return false, nil
	}
	process, err := c.machine.Start(*run)
	if err != nil {
		c.giveBack()
		return false, cannotStart(err)
	}
	c.process, c.output = process, run.Output
	log := c.log.With("session", key.ID, "agent", key.Agent, "cwd", run.Dir,
		"attempt", len(c.session.Attempts), "pid", process.Identity().PID, "output", run.Output)
	if c.session.Pending() {
		log.Info("begun")
	} else {
		log.Info("resumed")
	}
	c.apply(ctx, key, resume.Started{Mark: run.Mark, Process: process.Identity()})
	if c.session.Pending() {
		c.apply(ctx, key, resume.Identified{Origin: c.origin(), Kind: resume.Headless})
	}
	_ = c.opts.Sync(ctx) // soon: where its mark cannot be read, the next daemon knows it by this alone
	return true, nil
}

// confirm waits for the command. When the daemon stops first, the command lives
// on and the next daemon finds it.
func (c *command) confirm(ctx context.Context) resume.Event {
	return c.follow(ctx, c.session, c.process, c.output)
}

// make returns the command, when all is done that must be done before it runs.
func (c *command) make(ctx context.Context) (*runner.Command, *resume.NotSent) {
	if notSent := c.secure(ctx, c.agent, c.session, c.plan.Keep); notSent != nil {
		return nil, notSent
	}
	dir, err := c.shelves.claim(outputs, c.session.Key)
	if err != nil {
		return nil, &resume.NotSent{Why: "its output could not be kept: " + err.Error()}
	}
	pruneRuns(dir, keptRuns-1)
	environ, notSent := c.pay(ctx)
	if notSent != nil {
		return nil, notSent
	}
	run := &runner.Command{
		Argv:   c.plan.Argv,
		Dir:    c.plan.Dir,
		Env:    environ,
		Unset:  c.env.unset,
		Output: c.shelves.output(c.session),
		Status: c.shelves.status(c.session),
		Mark:   c.session.Run.Mark,
		Bounds: c.bounds,
		Signs:  c.signsOfLife(c.session),
	}
	if notSent := foreign(c.opts.Settings(), run.Programs()...); notSent != nil {
		c.giveBack()
		return nil, notSent
	}
	return run, nil
}

// bounds returns how long a command may run and be silent, as it is wanted now.
func (d *Deliverer) bounds() (timeout, stall time.Duration) {
	settings := d.opts.Settings()
	return settings.Timeout, settings.Stall
}

// cannotStart says what a command that did not start means: what a person
// must mend costs no attempt, and neither does a disk that is full.
func cannotStart(err error) resume.Event {
	_, noProgram := errors.AsType[*runner.NotFoundError](err)
	_, noDir := errors.AsType[*runner.DirError](err)
	if noProgram || noDir {
		return resume.NotSent{Why: err.Error(), Then: resume.Park}
	}
	if _, notKept := errors.AsType[*runner.KeepError](err); notKept {
		return resume.NotSent{Why: err.Error()}
	}
	return resume.Ended{Outcome: resume.Failed, Err: err.Error()}
}

// follow waits for a command that runs and returns how it ended, or nothing where
// the daemon stops first.
func (d *Deliverer) follow(ctx context.Context, session resume.Session, process Process, output string) resume.Event {
	if session.Pending() {
		hearing, over := context.WithCancel(ctx)
		defer over()
		go d.hear(hearing, session, output)
	}
	result := d.commands.await(ctx, session.Run.Mark, process)
	if ctx.Err() != nil {
		return nil
	}
	return d.settle(ctx, session, d.ended(ctx, session, result, output))
}

// ended says what the end of a command means, and removes what it left behind.
func (d *Deliverer) ended(ctx context.Context, session resume.Session, result runner.Result, output string) resume.Ended {
	ended := ending(result, output)
	if session.Pending() {
		d.hearLast(ctx, session, output)
		if session = d.became(session); session.Transcript == "" {
			return ended // of what nobody has seen no more can be told
		}
	}
	d.tidy(ctx, session)
	if ended.Outcome != resume.TimedOut {
		if words, denied := d.denied(ctx, session, output); denied {
			ended.Outcome, ended.Err = resume.Denied, words
		}
	}
	return ended
}

// resultTail is how much of a run's output may hold its result.
const resultTail = 64 << 10

// denied says in words what a resumed run that is over was refused at last.
func (d *Deliverer) denied(ctx context.Context, session resume.Session, output string) (words string, denied bool) {
	a := d.opts.Settings().Agent(session.Key.Agent)
	attempt, known := session.Tried(session.Run.Mark)
	if a == nil || !known {
		return "", false
	}
	tail, _ := runner.Tail(output, resultTail) // most agents tell in their transcript
	denial, denied, err := a.Denied(ctx, session, agent.Ran{Since: attempt.StartedAt, Output: tail})
	if err != nil && ctx.Err() == nil {
		d.log.Warn("it could not be read whether a resume was refused something",
			"session", session.Key.ID, "agent", session.Key.Agent, "err", err)
	}
	return denial.String(), denied
}

// ending puts the end of a command into words.
func ending(result runner.Result, output string) resume.Ended {
	ended := resume.Ended{Outcome: resume.Delivered}
	timeout, timedOut := errors.AsType[*runner.TimeoutError](result.Err)
	stall, stalled := errors.AsType[*runner.StallError](result.Err)
	switch {
	case timedOut:
		ended.Outcome, ended.Err = resume.TimedOut, timeout.Error()
	case stalled:
		ended.Outcome, ended.Err = resume.TimedOut, stall.Error()
	case result.Err != nil:
		ended.Outcome, ended.Err = resume.Failed, result.Err.Error()
	}
	if ended.Outcome == resume.Failed {
		if words, err := runner.Tail(output, 2048); err == nil {
			if last := lastLine(words); last != "" {
				ended.Err += ": " + sanitize.Short(last, sanitize.Sentence)
			}
		}
	}
	return ended
}

// signsOfLife returns the files whose change shows that a resumed agent works: its
// transcript, and what a database writes first.
func (d *Deliverer) signsOfLife(s resume.Session) func() []string {
	return func() []string {
		if s.Transcript == "" {
			s = d.became(s) // it is made while the command runs
		}
		if s.Transcript == "" {
			return nil
		}
		return []string{s.Transcript, s.Transcript + "-wal"}
	}
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
