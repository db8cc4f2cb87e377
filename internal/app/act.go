package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/config"
	"resumed/internal/resume"
	"resumed/internal/runner"
)

// act sends one resume and reports on it. The engine calls it when a session
// enters Resuming.
func (d *daemon) act(ctx context.Context, session resume.Session) {
	mark := session.Run.Mark
	release, held := d.lease(session.Key)
	defer release()
	var sending *sending
	if held == nil { // what is looked at next stays true: nobody else continues the session now
		sending, held = d.prepare(ctx, session)
	}
	switch {
	case held != nil:
		held.Mark = mark
		d.tell(ctx, session.Key, *held)
		return
	case sending == nil:
		return // it was withdrawn, or the daemon stops
	case sending.typing != nil:
		d.typeIn(ctx, sending)
		return
	case sending.message != nil:
		d.send(ctx, sending)
		return
	case sending.unverifiable:
		d.handOver(ctx, sending)
		return
	}
	command := sending.command
	after, err := d.engine.Apply(ctx, session.Key, resume.Sending{Mark: mark})
	if err != nil || after.Run == nil || after.Run.Mark != mark {
		return
	}
	process, err := runner.Start(*command)
	if err != nil {
		d.tell(ctx, session.Key, cannotStart(mark, err))
		return
	}
	d.log.Info("resumed", "session", session.Key.ID, "agent", session.Key.Agent, "cwd", command.Dir,
		"attempt", len(session.Attempts), "pid", process.PID, "output", command.Output)
	d.tell(ctx, session.Key, resume.Started{Mark: mark, Process: process.Process})
	_ = d.store.Sync(ctx) // soon: where its mark cannot be read, the next daemon knows it by this alone
	d.follow(ctx, session, process, command.Output)
}

// sending is a resume that is ready to be sent: a command, a typing or a
// message.
type sending struct {
	command      *runner.Command
	unverifiable bool // of the command

	typing  *agent.Typing
	message *agent.Sending
	session resume.Session
	agent   agent.Agent
	owner   *resume.Owner // who is given the prompt, where somebody holds the session
}

// prepare does all that must be true before anything is sent: the claim is on
// disk, the transcript holds no news, nobody holds the session or its holder
// can be talked to, and the agent knows how to go on. It returns neither a
// sending nor a reason where the resume was withdrawn meanwhile.
func (d *daemon) prepare(ctx context.Context, session resume.Session) (*sending, *resume.NotSent) {
	if err := d.store.Sync(ctx); err != nil {
		return nil, &resume.NotSent{Why: "the claim could not be written to disk: " + err.Error()}
	}
	err := d.look(ctx, d.located(session))
	if d.inputs.ctx.Err() != nil {
		return nil, nil // the daemon stops: the claim is found again when it starts
	}
	if err != nil && ctx.Err() == nil {
		return nil, &resume.NotSent{Why: "the transcript could not be read again: " + err.Error()}
	}
	mark := session.Run.Mark
	session, err = d.engine.Session(ctx, session.Key)
	if err != nil || session.Run == nil || session.Run.Mark != mark {
		return nil, nil
	}
	session = d.located(session)
	if held := d.givenUp(session); held != nil {
		return nil, held
	}
	switch why, err := d.engine.Superseded(ctx, session.Key); { // by what was read just now, or before a restart
	case err != nil:
		return nil, nil
	case why != "":
		return nil, &resume.NotSent{Why: why, Park: true}
	}
	a := d.agentOf(session.Key.Agent)
	if a == nil {
		return nil, &resume.NotSent{Why: "the agent " + session.Key.Agent + " is not configured or switched off"}
	}
	if held := d.untouchable(session.Cwd); held != nil {
		return nil, held
	}
	if _, follows := a.(agent.Follower); !follows && !agent.Watches(a, session.Transcript) {
		// Which account it is of is told by where it lies.
		return nil, &resume.NotSent{Why: "its transcript " + session.Transcript + " lies in none of the roots that are configured"}
	}
	if err := runner.CheckID(session.Key.ID); err != nil {
		return nil, &resume.NotSent{Why: err.Error(), Park: true}
	}
	owner, err := a.Owner(ctx, session)
	if err != nil {
		return nil, &resume.NotSent{Why: "it could not be made sure that nobody holds the session: " + err.Error()}
	}
	if owner != nil {
		session = d.identify(ctx, a, session, owner)
	}
	return d.plan(ctx, a, session, owner)
}

// plan asks the agent how the session is continued, with its holder where it
// has one.
func (d *daemon) plan(ctx context.Context, a agent.Agent, session resume.Session, owner *resume.Owner) (*sending, *resume.NotSent) {
	d.mu.Lock()
	cfg := d.config
	d.mu.Unlock()
	var (
		plan agent.Plan
		err  error
	)
	if owner != nil {
		plan, err = livePlan(ctx, a, session, *owner, cfg.Resume)
	} else {
		plan, err = a.Plan(ctx, session, agent.Words{Prompt: cfg.Resume.Prompt})
	}
	switch {
	case err != nil:
		return nil, &resume.NotSent{Why: err.Error(), Owner: owner}
	case plan.Leave != nil:
		return nil, holding(plan.Leave, owner)
	case plan.Type != nil:
		return &sending{typing: plan.Type, session: session, agent: a, owner: owner}, nil
	case plan.Send != nil && d.opts.DryRun:
		return nil, &resume.NotSent{Why: fmt.Sprintf("dry run: would have sent %q to %s", plan.Send.Text, plan.Send.To), Park: true}
	case plan.Send != nil:
		return &sending{message: plan.Send, session: session, agent: a, owner: owner}, nil
	}
	if why := replaced(session, plan.Run.Dir); why != "" && owner == nil {
		return nil, &resume.NotSent{Why: why, Park: true}
	}
	if held := d.untouchable(plan.Run.Dir); held != nil {
		return nil, held
	}
	if d.opts.DryRun {
		return nil, &resume.NotSent{Why: "dry run: would have run " + strings.Join(plan.Run.Argv, " "), Park: true}
	}
	if held := d.secure(ctx, a, session, plan.Run.Keep); held != nil {
		return nil, held
	}
	command, held := d.commandFor(cfg, session, plan.Run)
	if held != nil {
		return nil, held
	}
	return &sending{command: command, unverifiable: plan.Run.Unverifiable, session: session, agent: a, owner: owner}, nil
}

// holding is a resume that is not sent for the reason that the agent gives.
func holding(leave *agent.Leave, owner *resume.Owner) *resume.NotSent {
	return &resume.NotSent{Why: leave.Why, Park: leave.Park, Tell: leave.Tell, Until: leave.Until, Owner: owner}
}

// commandFor returns the command that carries out a plan to run one.
func (d *daemon) commandFor(cfg config.Config, session resume.Session, planned *agent.Command) (*runner.Command, *resume.NotSent) {
	env := planned.Env
	entry := cfg.Agent(session.Key.Agent)
	extra, err := entry.Environment()
	if err != nil {
		return nil, &resume.NotSent{Why: err.Error(), Park: true}
	}
	env = append(slices.Clone(env), extra...)
	dir, err := d.claimRuns(session.Key)
	if err != nil {
		return nil, &resume.NotSent{Why: "its output could not be kept: " + err.Error()}
	}
	pruneRuns(dir, keptRuns-1)
	return &runner.Command{
		Argv:   planned.Argv,
		Dir:    planned.Dir,
		Env:    env,
		Output: d.outputOf(session),
		Mark:   session.Run.Mark,
		Bounds: d.bounds,
		Signs:  signsOfLife(session),
	}, nil
}

// bounds returns how long a command may run and be silent, as it is wanted now.
func (d *daemon) bounds() (timeout, stall time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.config.Resume.Timeout, d.config.Resume.Stall
}

// cannotStart says what a command that did not start means: what a person
// must mend costs no attempt.
func cannotStart(mark string, err error) resume.Event {
	_, noProgram := errors.AsType[*runner.NotFoundError](err)
	_, noDir := errors.AsType[*runner.DirError](err)
	if noProgram || noDir {
		return resume.NotSent{Mark: mark, Why: err.Error(), Park: true}
	}
	return resume.Ended{Mark: mark, Outcome: resume.Failed, Err: err.Error()}
}

// stopper ends a command that runs.
type stopper interface{ Stop(context.Context) error }

// tell applies an event to a session. That the daemon stops meanwhile is no
// trouble: what it knows is on disk.
func (d *daemon) tell(ctx context.Context, key resume.Key, ev resume.Event) {
	if _, err := d.engine.Apply(ctx, key, ev); err != nil && ctx.Err() == nil {
		d.log.Error("an event could not be applied", "session", key.ID, "agent", key.Agent, "err", err)
	}
}

func (d *daemon) agentOf(name string) agent.Agent {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.agents[name]
}
