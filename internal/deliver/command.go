package deliver

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/childenv"
	"resumed/internal/humanize"
	"resumed/internal/leash"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
	"resumed/internal/runenv"
	"resumed/internal/runner"
)

// command runs a program that continues the session without a terminal.
type command struct {
	*delivery
	plan    *agent.Command
	env     runenv.Environment
	process Process
	output  string
}

func (c *command) String() string {
	words := "run " + humanize.CommandLine(c.session.Shown(c.plan.Argv)...)
	if left := c.leftOut(); len(left) > 0 {
		words += " (left out: " + strings.Join(leash.Describe(left), "; ") + ")"
	}
	return words
}

func (c *command) preview(ctx context.Context, plan *view.Plan) *resume.NotSent {
	notSent := c.ready(ctx)
	plan.Command, plan.Dir = c.session.Shown(c.plan.Argv), c.plan.Dir
	plan.Repeated = append(plan.Repeated, c.session.Shown(c.plan.Carried.Args)...)
	plan.LeftOut = append(plan.LeftOut, leash.Describe(c.leftOut())...)
	plan.Models = c.plan.Models.AllowedText()
	plan.Env = append(plan.Env, c.env.Had...)
	has := childenv.Names(c.env.Environ())
	for _, name := range childenv.Names(leash.Inherited(os.Environ())) {
		if !slices.Contains(has, name) {
			plan.EnvUnset = append(plan.EnvUnset, name)
		}
	}
	return notSent
}

func (c *command) ready(context.Context) *resume.NotSent {
	if c.owner == nil {
		if notSent := replaced(c.session, c.plan.Dir); notSent != nil {
			return notSent
		}
	}
	notSent := cmp.Or(c.settings.excludes(c.plan.Dir), c.settings.distrusts(c.plan.Dir))
	if notSent == nil {
		c.env, notSent = c.environment(c.plan)
	}
	return notSent
}

func (c *command) send(ctx context.Context) resume.Event {
	run, notSent := c.make(ctx)
	if notSent != nil {
		return notSent
	}
	if notSent := c.confirmHosts(ctx); notSent != nil {
		return notSent
	}
	key := c.session.Key
	now, err := c.opts.Engine.Apply(ctx, key, resume.Sending{Mark: run.Mark, LeftOut: leash.Describe(c.leftOut()), Models: c.plan.Models})
	if err != nil || now.Run == nil || now.Run.Mark != run.Mark {
		return withdrawn
	}
	process, err := c.machine.Start(*run)
	if err != nil {
		return cannotStart(err)
	}
	c.process, c.output = process, run.Output
	log := c.logOf(key).With("cwd", run.Dir, "attempt", len(c.session.Attempts), "pid", process.Identity().PID, "output", run.Output)
	c.apply(ctx, key, resume.Started{Mark: run.Mark, Process: process.Identity()})
	if c.session.Pending() {
		log.Info("begun")
		c.apply(ctx, key, resume.Learned{Origin: c.origin(run.Environ()), Kind: resume.Headless})
	} else {
		log.Info("resumed")
	}
	_ = c.opts.Sync(ctx) // soon: if the mark of the process cannot be read, the next daemon finds the process only by this event
	return nil
}

// confirm waits for the command. A daemon that stops leaves it running, and the next one finds it.
func (c *command) confirm(ctx context.Context) resume.Event {
	return c.followRun(ctx, c.session, c.process, c.output)
}

// leftOut is what the command does not have as the session had it.
func (c *command) leftOut() []leash.Omission {
	return slices.Concat(c.plan.Carried.LeftOut, c.env.LeftOut)
}

func (c *command) make(ctx context.Context) (*runner.Command, *resume.NotSent) {
	key, n := c.session.Key, c.session.Run.N
	if err := c.agent.Tidy(ctx, c.session); err != nil {
		return nil, tryAgain("what an earlier resume left could not be removed: " + err.Error())
	}
	if err := c.files.Copy(key, n, c.plan.Backup); err != nil {
		return nil, tryAgain("the transcript could not be copied aside: " + err.Error())
	}
	if err := c.files.Prepare(key, n, c.session.Pending()); err != nil {
		return nil, tryAgain("its output could not be kept: " + err.Error())
	}
	run := &runner.Command{
		Argv:   c.plan.Argv,
		Dir:    c.plan.Dir,
		Base:   c.env.Base,
		Env:    c.env.Set,
		Unset:  c.env.Unset,
		Output: c.files.Output(key, n),
		Status: c.files.Status(key, n),
		Mark:   c.session.Run.Mark,
		Limits: c.env.Limits,
		Bounds: c.bounds,
		Signs:  c.signsOfLife(c.session),
	}
	if notSent := c.settings.distrusts(run.Programs()...); notSent != nil {
		return nil, notSent
	}
	return run, nil
}

// origin is what the session of a task was started with, as its plan says.
func (c *command) origin(environ []string) *resume.Origin {
	now := time.Now().Round(0)
	o := &resume.Origin{
		Process: c.process.Identity(), BeganAt: now, SeenAt: now, Cwd: c.plan.Dir, Args: c.plan.Begins, ArgsSeen: true,
	}
	c.agent.Variables().Record(o, environ, c.settings.Secrets)
	o.Settings = c.agent.SettingsAt(*o)
	return o
}

// cannotStart returns the result. An error that a person must fix costs no attempt, nor does a full disk.
func cannotStart(err error) resume.Event {
	failed, ok := errors.AsType[*runner.StartError](err)
	switch {
	case !ok:
		return resume.Ended{Outcome: resume.Failed, Err: err.Error()}
	case failed.Later:
		return tryAgain(err.Error())
	default:
		return park(err.Error())
	}
}
