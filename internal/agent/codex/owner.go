package codex

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/agent/codex/rollout"
	"resumed/internal/leash"
	"resumed/internal/resume"
	"resumed/internal/sqliteread"
)

// Owner returns the live process that holds the session: by its writer lock, or by the open rollout
// for versions before 0.146, which have no lock, so that turns of two processes may interleave. It
// does not try to take the lock: Codex would fail to take it at that moment, because it does not wait.
func (a *Agent) Owner(ctx context.Context, s resume.Session) (*resume.Owner, error) {
	pids, err := a.Processes.Lockers(a.lockOf(s))
	if err != nil {
		return nil, fmt.Errorf("the session has a lock, and nobody can tell who holds it: %w", err)
	}
	if owner := a.ownerOf(pids, s); owner != nil {
		return owner, nil
	}
	pids, err = a.Processes.Writers(ctx, resolved(s.Transcript))
	h, _ := a.reader.Head(s.Transcript)
	if locks, _ := h.Since(146); locks && errors.Is(err, agent.ErrUnseen) {
		return nil, nil // it has no lock: Codex removes the file when it releases a session
	}
	if err != nil {
		return nil, err
	}
	return a.ownerOf(pids, s), nil
}

// OpenTurn relies on Codex, which records that its user interrupted a turn.
func (a *Agent) OpenTurn(ctx context.Context, s resume.Session) (at time.Time, open bool, err error) {
	return rollout.OpenTurn(ctx, s.Transcript)
}

// Records returns the rollouts that the session's process has open: subagents have their own.
func (a *Agent) Records(s resume.Session) []string {
	files := []string{s.Transcript}
	open, _ := a.Processes.Open(s.Origin.Process.PID) // none if it has ended
	for _, file := range open {
		if filepath.Ext(file.Name) == ".jsonl" {
			files = append(files, file.Name)
		}
	}
	return files
}

// SessionOf returns the session whose rollout a live process writes; "": none, or it has several.
func (a *Agent) SessionOf(pid int) (id string) {
	if !a.Processes.HasProc() {
		return "" // nothing tells which files it writes
	}
	open, _ := a.Processes.Open(pid) // none if it has ended
	for _, file := range open {
		if !strings.HasPrefix(filepath.Base(file.Name), "rollout-") || !a.Processes.Writes(pid, file.Name) {
			continue
		}
		h, ok := a.reader.Head(file.Name)
		switch {
		case !ok || h.Delegated() || h.ID == id:
		case id != "":
			return ""
		default:
			id = h.ID
		}
	}
	return id
}

// Ended returns how the session's process ended. A process that ends by itself removes its lock file.
func (a *Agent) Ended(s resume.Session) resume.End {
	_, err := os.Stat(a.lockOf(s))
	switch {
	case err != nil:
		return resume.Vanished
	case s.Origin.TTY:
		return resume.HungUp
	default:
		return resume.Killed
	}
}

func (a *Agent) lockOf(s resume.Session) string {
	return resolved(filepath.Join(a.Homes.Of(s.Transcript), "thread-writer-locks", s.Key.ID+".lock"))
}

func resolved(path string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	return path
}

// ownerOf: a server that the session's resume left behind also serves people, so it counts.
func (a *Agent) ownerOf(pids []int, s resume.Session) *resume.Owner {
	for _, pid := range pids {
		argv := a.Processes.Argv(pid)
		switch {
		case slices.Contains(argv, serverCommand):
			// Its environment comes from the program that started it, not from the terminal.
			h, _ := a.reader.Head(s.Transcript)
			return &resume.Owner{PID: pid, Kind: resume.Interactive, App: h.App()}
		case a.Processes.IsRun(pid, s):
		case slices.Contains(argv, execCommand):
			return &resume.Owner{PID: pid, Kind: resume.Headless}
		default:
			guessed := len(argv) > 0 && !isProgram(argv[0]) // it may restore a backup
			return &resume.Owner{PID: pid, Kind: resume.Interactive, Tmux: a.Processes.Variable(pid, "TMUX_PANE"), Guessed: guessed}
		}
	}
	return nil
}

// Origin returns what the process was started with. The server that terminals share has all flags of
// their sessions except those in turns, because a terminal with other flags becomes its own server.
// What other programs tell their servers is in no command line. The program of a server does not count: Codex or an
// editor installed it for its own use, people run another one.
func (a *Agent) Origin(pid int, secrets bool) *resume.Origin {
	argv := a.Processes.Argv(pid)
	if len(argv) == 0 {
		return nil
	}
	o := a.OriginBy(a.variables(a.Processes.Cwd(pid), argv[1:]), pid, secrets)
	if o == nil {
		return nil
	}
	if slices.Contains(argv, serverCommand) {
		o.Program = resume.Program{}
	}
	_, command, _ := flags.Parse(argv[1:]).Cut()
	switch command {
	case serverCommand:
		o.Args = flags.Storable(argv[1:], secrets)
		o.ArgsSeen = o.ArgsSeen && slices.Contains(argv, managedDaemon)
	case execCommand, "e":
		o.Args = append([]string{execCommand}, o.Args...)
	}
	if !byExec(o.Args) { // the process ignores it, but the resume would use it
		o.Env = slices.DeleteFunc(o.Env, func(v resume.Variable) bool { return v.Name == execKey })
		if o.EnvSeen {
			o.Login = a.Login(append(slices.Clip(o.Environ), execKey+"="), o.Salt)
		}
	}
	o.Args = lastOnly(o.Args)
	return o
}

// PlanLive returns how a session is continued while a live process holds it: by a queued message. The process
// takes it when it is idle, whatever its terminal shows, and keeps its directory, model and permissions.
func (a *Agent) PlanLive(ctx context.Context, s resume.Session, owner resume.Owner, prompt string) (agent.Plan, error) {
	if plan, still, err := a.stillStopped(ctx, s); !still {
		return plan, err
	}
	if owner.Kind == resume.Headless {
		return agent.Runs(owner), nil
	}
	works, err := rollout.Works(ctx, s.Transcript)
	if err != nil {
		return agent.Plan{}, err
	}
	if works {
		return agent.SkipPlan(fmt.Sprintf("process %d works on the session", owner.PID)), nil
	}
	if !readsQueue(a.Processes.Argv(owner.PID)) {
		return agent.Parked("it serves another program, and a queued message is not known to reach that"), nil
	}
	lockers, err := a.Processes.Lockers(a.lockOf(s))
	if err != nil {
		return agent.Plan{}, err
	}
	if !slices.Contains(lockers, owner.PID) {
		return agent.Parked("it is of a version before 0.146, which takes no messages"), nil
	}
	if plan, waits, err := a.waits(ctx, s); waits {
		return plan, err
	}
	return a.queue(ctx, s, prompt)
}

// readsQueue: the server that terminals share takes messages, and a terminal that is its own server.
func readsQueue(argv []string) bool {
	if slices.Contains(argv, "mcp-server") {
		return false
	}
	shared := func(arg string) bool { return arg == managedDaemon || strings.HasPrefix(arg, "unix:") }
	return len(argv) > 0 && (!slices.Contains(argv, serverCommand) || slices.ContainsFunc(argv, shared))
}

func (a *Agent) queue(ctx context.Context, s resume.Session, prompt string) (agent.Plan, error) {
	had, _, err := rollout.LastTurn(ctx, s.Transcript)
	if err != nil {
		return agent.Plan{}, err
	}
	args := []string{"queue", "--thread", s.Key.ID}
	plan := a.Run(s, cmp.Or(had.Cwd, s.Cwd), leash.Repeated{}, leash.WithValue(args, "--message", "--message", prompt)...)
	if plan.Run != nil {
		plan.Run.Unverifiable = true
	}
	return plan, nil
}

// HasPendingPrompt reports whether a message is queued for the session. The next process that opens the session
// takes it, even a run with its own prompt: the session would get two prompts.
func (a *Agent) HasPendingPrompt(ctx context.Context, s resume.Session) (bool, error) {
	root := a.Homes.Of(s.Transcript)
	entries, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for queued messages: %w", err)
	}
	for _, entry := range entries {
		if is, _ := filepath.Match("queue_*.sqlite", entry.Name()); !is {
			continue
		}
		var waits bool
		err := sqliteread.Steadily(ctx, func(ctx context.Context) (err error) {
			waits, err = waitsIn(ctx, filepath.Join(root, entry.Name()), s.Key.ID)
			return err
		})
		if err != nil {
			return false, fmt.Errorf("look for queued messages in %s: %w", entry.Name(), err)
		}
		if waits {
			return true, nil
		}
	}
	return false, nil
}

// waitsIn searches one database. It returns false for an unknown schema.
func waitsIn(ctx context.Context, path, thread string) (waits bool, err error) {
	db, err := sqliteread.Open(ctx, path)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	const known = "SELECT count(*) FROM pragma_table_info('queued_items') WHERE name = 'thread_id'"
	const waiting = "SELECT count(*) FROM queued_items WHERE thread_id = ?"
	var n int
	if err := db.QueryRowContext(ctx, known).Scan(&n); err != nil || n == 0 {
		return false, err
	}
	if err := db.QueryRowContext(ctx, waiting, thread).Scan(&n); err != nil {
		return false, err
	}
	return n > 0, db.Check()
}

const alreadyQueued = "a message already waits in Codex's queue for this session, and is sent when the session is opened: open it, or take the message back"

func (a *Agent) waits(ctx context.Context, s resume.Session) (agent.Plan, bool, error) {
	if waits, err := a.HasPendingPrompt(ctx, s); !waits {
		return agent.Plan{}, err != nil, err
	}
	return agent.Parked(alreadyQueued), true, nil
}
