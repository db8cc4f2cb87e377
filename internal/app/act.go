package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"resumed/internal/agent"
	"resumed/internal/clean"
	"resumed/internal/resume"
	"resumed/internal/runner"
)

// keptRuns is how many outputs of a session's resumes are kept.
const keptRuns = 10

// act sends one resume and reports on it. The engine calls it when a session
// enters Resuming.
func (d *daemon) act(ctx context.Context, session resume.Session) {
	mark := session.Run.Mark
	release, held := d.lease(session.Key)
	defer release()
	var command *runner.Command
	if held == nil { // what is looked at next stays true: nobody else continues the session now
		command, held = d.prepare(ctx, session)
	}
	if held != nil {
		held.Mark = mark
		d.tell(ctx, session.Key, *held)
		return
	}
	if command == nil {
		return // it was withdrawn, or the daemon stops
	}
	after, err := d.engine.Tell(ctx, session.Key, resume.Sending{Mark: mark})
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
	d.follow(ctx, session, process, command.Output)
}

// prepare does all that must be true before a command starts: the claim is on
// disk, the transcript holds no news, nobody holds the session, and the agent
// knows how to go on. It returns neither a command nor a reason where the
// resume was withdrawn meanwhile.
func (d *daemon) prepare(ctx context.Context, session resume.Session) (*runner.Command, *resume.Held) {
	if err := d.store.Sync(ctx); err != nil {
		return nil, &resume.Held{Why: "the claim could not be written to disk: " + err.Error()}
	}
	if err := d.look(ctx, session); err != nil && ctx.Err() == nil {
		return nil, &resume.Held{Why: "the transcript could not be read again: " + err.Error()}
	}
	mark := session.Run.Mark
	session, err := d.engine.Session(ctx, session.Key)
	if err != nil || session.Run == nil || session.Run.Mark != mark {
		return nil, nil
	}
	a := d.agentOf(session.Key.Agent)
	if a == nil {
		return nil, &resume.Held{Why: "the agent " + session.Key.Agent + " is not configured or switched off"}
	}
	if err := runner.CheckID(session.Key.ID); err != nil {
		return nil, &resume.Held{Why: err.Error(), Park: true}
	}
	owner, err := a.Owner(ctx, session)
	switch {
	case err != nil:
		return nil, &resume.Held{Why: "it could not be made sure that nobody holds the session: " + err.Error()}
	case owner != nil:
		return nil, &resume.Held{Why: fmt.Sprintf("process %d (%s) holds the session", owner.PID, owner.Kind), Owner: owner}
	}
	return d.plan(ctx, a, session)
}

func (d *daemon) plan(ctx context.Context, a agent.Agent, session resume.Session) (*runner.Command, *resume.Held) {
	d.mu.Lock()
	cfg := d.config
	d.mu.Unlock()
	plan, err := a.Plan(ctx, session, agent.Words{Prompt: cfg.Resume.Prompt})
	switch {
	case err != nil:
		return nil, &resume.Held{Why: err.Error()}
	case plan.Leave != nil:
		return nil, &resume.Held{Why: plan.Leave.Why, Park: plan.Leave.Park}
	case d.opts.DryRun:
		return nil, &resume.Held{Why: "dry run: would have run " + strings.Join(plan.Run.Argv, " "), Park: true}
	}
	if held := d.secure(ctx, a, session, plan.Run.Keep); held != nil {
		return nil, held
	}
	env := plan.Run.Env
	entry, _ := cfg.Agent(session.Key.Agent)
	extra, err := entry.Environment()
	if err != nil {
		return nil, &resume.Held{Why: err.Error(), Park: true}
	}
	env = append(slices.Clone(env), extra...)
	dir := d.runsDir(session.Key)
	pruneRuns(dir, keptRuns-1)
	return &runner.Command{
		Argv:    plan.Run.Argv,
		Dir:     plan.Run.Dir,
		Env:     env,
		Output:  filepath.Join(dir, strconv.Itoa(session.Run.N)+".log"),
		Mark:    session.Run.Mark,
		Timeout: cfg.Resume.Timeout,
		Stall:   cfg.Resume.Stall,
		Signs:   signsOfLife(session),
	}, nil
}

// follow waits for a resume command and reports how it ended. When the daemon
// stops first, the command lives on and the next daemon finds it.
func (d *daemon) follow(ctx context.Context, session resume.Session, process *runner.Process, output string) {
	mark := session.Run.Mark
	d.mu.Lock()
	d.running[mark] = process
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		delete(d.running, mark)
		d.mu.Unlock()
	}()
	result := process.Wait(ctx)
	if ctx.Err() != nil {
		return
	}
	d.tidy(ctx, session)
	d.tell(ctx, session.Key, ending(mark, result, output))
}

// ending puts the end of a command into words.
func ending(mark string, result runner.Result, output string) resume.Ended {
	ended := resume.Ended{Mark: mark, Outcome: resume.Delivered}
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
				ended.Err += ": " + clean.Short(last, longestText)
			}
		}
	}
	return ended
}

// signsOfLife are the files whose change shows that a resumed agent works: its
// transcript, and what a database writes first.
func signsOfLife(s resume.Session) []string { return []string{s.Transcript, s.Transcript + "-wal"} }

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// cannotStart says what a command that did not start means: what a person
// must mend costs no attempt.
func cannotStart(mark string, err error) resume.Event {
	_, noProgram := errors.AsType[*runner.NotFoundError](err)
	_, noDir := errors.AsType[*runner.DirError](err)
	if noProgram || noDir {
		return resume.Held{Mark: mark, Why: err.Error(), Park: true}
	}
	return resume.Ended{Mark: mark, Outcome: resume.Failed, Err: err.Error()}
}

// stopper ends a command that runs.
type stopper interface{ Stop(context.Context) error }

// tell applies an event to a session. That the daemon stops meanwhile is no
// trouble: what it knows is on disk.
func (d *daemon) tell(ctx context.Context, key resume.Key, ev resume.Event) {
	if _, err := d.engine.Tell(ctx, key, ev); err != nil && ctx.Err() == nil {
		d.log.Error("an event could not be applied", "session", key.ID, "agent", key.Agent, "err", err)
	}
}

func (d *daemon) agentOf(name string) agent.Agent {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.agents[name]
}

func (d *daemon) runsDir(key resume.Key) string { return RunsDir(d.opts.StateDir, key.ID) }

// RunsDir returns where the outputs of a session's resumes are.
func RunsDir(stateDir, id string) string { return filepath.Join(stateDir, "runs", id) }

// Runs returns the outputs in a session's directory, oldest first.
func Runs(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var numbers []int
	for _, entry := range entries {
		if n, err := strconv.Atoi(strings.TrimSuffix(entry.Name(), ".log")); err == nil {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	paths := make([]string, len(numbers))
	for i, n := range numbers {
		paths[i] = filepath.Join(dir, strconv.Itoa(n)+".log")
	}
	return paths
}

// pruneRuns removes all but the newest outputs.
func pruneRuns(dir string, keep int) {
	paths := Runs(dir)
	for _, path := range paths[:max(0, len(paths)-keep)] {
		_ = os.Remove(path) // it is tried again with the next resume
	}
}

// recover finds out what became of the resumes that an earlier daemon began. A
// living command is adopted. Of one that is gone the transcript tells, so it is
// read first; where it tells nothing the resume took no effect and is sent
// again.
func (d *daemon) recover(ctx context.Context, sessions []resume.Session) error {
	var gone []resume.Session
	var adopted sync.WaitGroup
	defer adopted.Wait()
	for _, s := range sessions {
		if s.Run == nil {
			continue
		}
		process, alive := runner.Find(s.Run.Mark)
		if !alive {
			gone = append(gone, s)
			continue
		}
		adopted.Go(func() { d.adopt(ctx, s, process) })
	}
	if len(gone) == 0 {
		return nil
	}
	if err := d.awaitFeeds(ctx); err != nil {
		return nil
	}
	for _, s := range gone {
		d.log.Info("a resume left no trace and is forgotten", "session", s.Key.ID, "agent", s.Key.Agent)
		d.tidy(ctx, s)
		d.tell(ctx, s.Key, resume.Lost{Mark: s.Run.Mark})
	}
	return nil
}

func (d *daemon) adopt(ctx context.Context, s resume.Session, process *runner.Process) {
	d.mu.Lock()
	cfg := d.config.Resume
	d.mu.Unlock()
	output := filepath.Join(d.runsDir(s.Key), strconv.Itoa(s.Run.N)+".log")
	process.Bind(runner.Command{
		Mark: s.Run.Mark, Output: output, Timeout: cfg.Timeout, Stall: cfg.Stall, Signs: signsOfLife(s),
	})
	d.log.Info("a resume of the daemon before still runs", "session", s.Key.ID, "agent", s.Key.Agent, "pid", process.PID)
	d.tell(ctx, s.Key, resume.Started{Mark: s.Run.Mark, Process: process.Process})
	release, held := d.lease(s.Key)
	if held != nil {
		d.log.Warn("a resume that runs has no lease", "session", s.Key.ID, "agent", s.Key.Agent, "why", held.Why)
	}
	defer release()
	d.follow(ctx, s, process, output)
}
