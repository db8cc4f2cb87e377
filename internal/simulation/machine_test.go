package simulation

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/deliver"
	"resumed/internal/program"
	"resumed/internal/resume"
	"resumed/internal/runner"
	"resumed/internal/terminal"
)

// bot is an agent of every kind that there is.
type bot struct {
	agent.Base
	*life
}

func (b *bot) Name() string { return "bot" }

func (b *bot) Program() (program.Found, error) { return program.Found{}, nil }

func (b *bot) Follow(context.Context, agent.Feed) error { return nil }

func (b *bot) ReadNew(context.Context, resume.Session) error { return nil }

// Evidence returns the last line of the session's transcript.
func (b *bot) Evidence(path string) ([]agent.Evidence, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.places {
		if n := len(p.transcript); p.path() == path && n > 0 {
			return []agent.Evidence{{Observation: resume.Observation{Key: p.key, Pos: resume.Position{Epoch: "1", Offset: int64(n)}, Event: p.transcript[n-1]}}}, nil
		}
	}
	return nil, nil
}

func (b *bot) Owner(_ context.Context, s resume.Session) (*resume.Owner, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.world.place(s.Key)
	switch {
	case b.blind:
		return nil, fmt.Errorf("no process can be seen: %w", agent.ErrUnseen)
	case p.owner == 0:
		return nil, nil
	default:
		return &resume.Owner{PID: p.owner, Kind: "interactive"}, nil
	}
}

func (b *bot) Plan(context.Context, resume.Session, string) (agent.Plan, error) {
	return agent.Plan{Run: &agent.Command{Argv: []string{"/bin/sh"}, Dir: "/"}}, nil
}

func (b *bot) Start(resume.Session) (agent.Plan, error) {
	return agent.Plan{Run: &agent.Command{Argv: []string{"/bin/sh"}, Dir: "/"}}, nil
}

func (b *bot) Home() string { return "bot:default" }

func (b *bot) PlanLive(_ context.Context, s resume.Session, owner resume.Owner, prompt string) (agent.Plan, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.world.place(s.Key)
	mark := "" // it is only asked whether it could be
	if s.Run != nil {
		mark = s.Run.Mark
	}
	if p.queue > 0 {
		return agent.Plan{Skip: &agent.Skip{Why: "a prompt waits for it"}}, nil
	}
	switch p.way {
	case "queue":
		return agent.Plan{Run: &agent.Command{Argv: []string{"/bin/sh"}, Dir: "/", Unverifiable: true}}, nil
	case "keys":
		process := resume.Process{PID: owner.PID, Start: uint64(owner.PID)}
		judge := func(screen string) agent.ScreenState { return agent.ScreenState{Draft: screen} }
		return agent.Plan{Type: &agent.Typing{Process: process, Text: prompt + " " + mark, Judge: judge}}, nil
	default:
		return agent.Plan{}, nil
	}
}

func (b *bot) HasPendingPrompt(_ context.Context, s resume.Session) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.world.place(s.Key)
	if p.queue > 0 && !b.dead {
		p.open = "" // there it is
	}
	return p.queue > 0, nil
}

// computer is where commands run. They outlive a daemon.
type computer struct{ *life }

// process is a command that was begun.
type process struct {
	*life  // who looks at it
	mark   string
	status string
	id     resume.Process
	began  time.Time
	over   chan struct{}
	result runner.Result // written before over is closed
}

func (c computer) Start(cmd runner.Command) (deliver.Process, error) {
	if !c.announce(cmd) {
		return nil, errDead
	}
	dice, alive := c.pass("start %s", cmd.Mark)
	if !alive {
		return nil, errDead
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.calm && dice%20 == 0 {
		return nil, errors.New("fork: resource temporarily unavailable")
	}
	p := c.claims[cmd.Mark].place
	way := "command"
	if cmd.Status == "" {
		way = "queue"
	}
	c.sent(p, cmd.Mark, way)
	c.counts.pids++
	proc := &process{
		life: c.life, mark: cmd.Mark, status: cmd.Status, began: time.Now(), over: make(chan struct{}),
		id: resume.Process{PID: c.counts.pids, Start: uint64(c.counts.pids)},
	}
	if p.process = proc; cmd.Status != "" {
		p.left[cmd.Status] = runner.StatusFile{Began: true, PID: proc.id.PID}
	}
	return proc, nil
}

// announce brings to the disk that a command is about to be begun. What the
// command itself leaves, a power cut may take.
func (c computer) announce(cmd runner.Command) (alive bool) {
	if cmd.Status == "" {
		return true
	}
	if _, alive = c.pass("announce %s", cmd.Mark); !alive {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bug != announcesNothing {
		c.claims[cmd.Mark].place.announced[cmd.Status] = c.boot
	}
	return true
}

func (c computer) Sees() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.blind
}

// found returns a living command as a later daemon has it.
func (c computer) found(is func(*process) bool) (deliver.Process, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.places {
		if p.process != nil && is(p.process) && c.bug != losesCommands {
			return &adopted{process: p.process, life: c.life}, true
		}
	}
	return nil, false
}

func (c computer) Find(mark string) (deliver.Process, bool) {
	return c.found(func(p *process) bool { return p.mark == mark })
}

func (c computer) Adopt(id resume.Process) (deliver.Process, bool) {
	return c.found(func(p *process) bool { return p.id == id })
}

func (c computer) Answering(pid int, _ time.Time) (deliver.Process, bool) {
	return c.found(func(p *process) bool { return p.id.PID == pid })
}

func (c computer) Left(path string) runner.StatusFile {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bug == losesCommands {
		return runner.StatusFile{}
	}
	p := c.world.place(resume.Key{Agent: "bot", ID: filepath.Base(filepath.Dir(path))})
	if boot, announced := p.announced[path]; announced && boot != c.boot && !p.left[path].Began {
		return runner.StatusFile{Began: true}
	}
	return p.left[path]
}

func (p *process) Identity() resume.Process   { return p.id }
func (p *process) Began() time.Time           { return p.began }
func (p *process) Bind(runner.Command)        {}
func (p *process) Stop(context.Context) error { return nil }

func (p *process) Wait(ctx context.Context) runner.Result { return p.wait(ctx, p.life) }

func (p *process) wait(ctx context.Context, l *life) runner.Result {
	select {
	case <-p.over:
	case <-ctx.Done():
		return runner.Result{Err: runner.ErrDetached}
	}
	if _, alive := l.pass("end of %s", p.mark); !alive {
		return runner.Result{Err: runner.ErrDetached}
	}
	return p.result
}

// adopted is a command that an earlier daemon began.
type adopted struct {
	*process
	life *life
}

func (a *adopted) Wait(ctx context.Context) runner.Result { return a.wait(ctx, a.life) }

// Pane returns the terminal of the process that holds a session.
func (c computer) Pane(_ context.Context, id resume.Process) (deliver.Pane, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.places {
		if p.owner == id.PID {
			return &pane{life: c.life, place: p}, nil
		}
	}
	return nil, terminal.ErrOutside
}

type pane struct {
	*life
	place *place
}

func (p *pane) String() string { return "pane of " + p.place.key.ID }

func (p *pane) Screen(context.Context) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead {
		return "", errDead
	}
	return p.place.draft, nil
}

func (p *pane) Quiet(context.Context) error { return nil }

func (p *pane) TakeBack(_ context.Context, text string) error {
	if _, alive := p.pass("take back from %s", p.place.key.ID); !alive {
		return errDead
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.place.draft = strings.TrimPrefix(p.place.draft, text)
	return nil
}

func (p *pane) Type(_ context.Context, text string) error {
	if _, alive := p.pass("type into %s", p.place.key.ID); !alive {
		return errDead
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.place.draft += text
	return nil
}

func (p *pane) Press(_ context.Context, key terminal.Key) error {
	dice, alive := p.pass("press %s in %s", key, p.place.key.ID)
	if !alive {
		return errDead
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_, mark, _ := strings.Cut(p.place.draft, " ")
	if p.place.owner == 0 {
		return &terminal.Refusal{Why: "its tmux pane is gone"}
	}
	p.sent(p.place, mark, "keys")
	p.place.draft = ""
	p.place.inbox++
	if !p.calm && dice%5 == 0 {
		return errors.New("tmux gave no answer")
	}
	return nil
}
