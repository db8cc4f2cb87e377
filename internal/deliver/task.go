package deliver

import (
	"context"
	"io"
	"os"
	"sync"
	"time"

	"resumed/internal/agent"
	"resumed/internal/resume"
	"resumed/internal/runner"
)

// firsts are the agents of which a task was due since this daemon started.
type firsts struct {
	mu   sync.Mutex
	seen map[string]bool // guarded by mu
}

// first reports whether it is the first one of the agent.
func (f *firsts) first(agent string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.seen == nil {
		f.seen = make(map[string]bool)
	}
	was := f.seen[agent]
	f.seen[agent] = true
	return !was
}

// prepareTask does all that must be true before a task is begun; its claim is on
// disk. It returns neither a delivery nor a reason where it was withdrawn meanwhile.
func (d *Deliverer) prepareTask(ctx context.Context, session resume.Session) (*delivery, *resume.NotSent) {
	mark := session.Run.Mark
	first := d.firsts.first(session.Key.Agent)
	if d.opts.Transcripts.Await(ctx, session.Key.Agent) != nil || d.opts.Stopping() {
		return nil, nil // the claim is found again when the next one starts
	}
	if first { // it was due before it was read how its account stands: it is asked for once more
		d.apply(ctx, session.Key, resume.Recalled{})
		return nil, nil
	}
	session, err := d.opts.Engine.Session(ctx, session.Key)
	if err != nil || session.Run == nil || session.Run.Mark != mark {
		return nil, nil
	}
	if why := session.Overdue(time.Now()); why != "" {
		return nil, &resume.NotSent{Why: why, Then: resume.Park}
	}
	return d.decideTask(session)
}

// decideTask finds out how the task is begun, or why it is not.
func (d *Deliverer) decideTask(session resume.Session) (*delivery, *resume.NotSent) {
	settings := d.opts.Settings()
	a := settings.Agent(session.Key.Agent)
	if a == nil {
		return nil, &resume.NotSent{Why: "the agent " + session.Key.Agent + " is not configured or switched off"}
	}
	starter, ok := a.(agent.Starter)
	if !ok {
		return nil, &resume.NotSent{Why: "resumed cannot start a session of " + session.Key.Agent, Then: resume.Park}
	}
	if err := runner.CheckID(session.Key.ID); err != nil {
		return nil, &resume.NotSent{Why: err.Error(), Then: resume.Park}
	}
	plan, err := starter.Start(session)
	switch {
	case err != nil:
		return nil, &resume.NotSent{Why: err.Error()}
	case plan.Leave != nil:
		return nil, leaving(plan.Leave, nil)
	}
	due := &delivery{Deliverer: d, session: session, agent: a}
	due.way = &command{delivery: due, plan: plan.Run}
	return due, nil
}

// origin is what the session of a task is started with: nobody has to look at its process
// to know that.
func (c *command) origin() *resume.Origin {
	now := time.Now().Round(0)
	return &resume.Origin{
		Process: c.process.Identity(), BeganAt: now, SeenAt: now, Cwd: c.plan.Dir, Args: c.plan.Begins, ArgsSeen: true,
	}
}

// What lies between two looks at what the command of a task has printed: most tell at
// once who they are.
const (
	hearFirst  = 100 * time.Millisecond
	hearLatest = 5 * time.Second
)

// lateHearing is how long after the end of a command its transcript may be read at last.
const lateHearing = 10 * time.Second

// hearLast hears a command that is over.
func (d *Deliverer) hearLast(ctx context.Context, task resume.Session, output string) {
	ctx, cancel := context.WithTimeout(ctx, lateHearing)
	defer cancel()
	if teller, ok := d.opts.Settings().Agent(task.Key.Agent).(agent.Teller); ok && teller.Begun(beginning(output)) != "" {
		d.hear(ctx, task, output)
	}
}

// hear waits until the command of a task tells which session it began.
func (d *Deliverer) hear(ctx context.Context, task resume.Session, output string) {
	for every := hearFirst; ctx.Err() == nil && !d.heard(ctx, task, output); every = min(2*every, hearLatest) {
		pause(ctx, every)
	}
}

// heard notes which session the command of a task has begun, and reports whether there
// is nothing more to hear.
func (d *Deliverer) heard(ctx context.Context, task resume.Session, output string) bool {
	teller, ok := d.opts.Settings().Agent(task.Key.Agent).(agent.Teller)
	if !ok {
		return true
	}
	now, err := d.opts.Engine.Session(ctx, task.Key)
	if err != nil || !now.Pending() {
		return true
	}
	id := teller.Begun(beginning(output))
	if id == "" || runner.CheckID(id) != nil {
		return false
	}
	key := resume.Key{Agent: task.Key.Agent, ID: id}
	if _, err := d.opts.Engine.Session(ctx, key); err != nil {
		return false // what it says of itself counts once its transcript is there
	}
	d.apply(ctx, task.Key, resume.Became{Session: id})
	if now.Origin != nil {
		d.apply(ctx, key, resume.Identified{Origin: now.Origin, Kind: resume.Headless})
	}
	return true
}

// told is how much of what a command prints may hold the name of its session.
const told = 64 << 10

// beginning returns what a command printed first.
func beginning(output string) string {
	file, err := os.Open(output)
	if err != nil {
		return ""
	}
	defer file.Close()
	text, _ := io.ReadAll(io.LimitReader(file, told)) // what was read until then counts
	return string(text)
}

// became returns the session that a task became, in the run that the task is in.
func (d *Deliverer) became(task resume.Session) resume.Session {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second) // a daemon that stops answers nothing
	defer cancel()
	now, err := d.opts.Engine.Session(ctx, task.Key)
	if err != nil || now.Task == nil {
		return task
	}
	if now.StandsIn() && now.Task.Session != "" {
		if now, err = d.opts.Engine.Session(ctx, resume.Key{Agent: task.Key.Agent, ID: now.Task.Session}); err != nil {
			return task
		}
	}
	now.Run, now.Attempts, now.Past = task.Run, task.Attempts, nil
	return now
}
