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

	"resumed/internal/agent"
	"resumed/internal/agent/codex/rollout"
	"resumed/internal/leash"
	"resumed/internal/resume"
	"resumed/internal/sqliteread"
)

// Talk returns how a session is continued while a live process holds it: by a queued message. The process
// takes it when it is idle, whatever its terminal shows, and keeps its directory, model and permissions.
func (a *Agent) Talk(ctx context.Context, s resume.Session, owner resume.Owner, w agent.Words) (agent.Plan, error) {
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
		return agent.Left(fmt.Sprintf("process %d works on the session", owner.PID)), nil
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
	return a.queue(ctx, s, w)
}

// readsQueue reports whether a process with these arguments takes queued messages: the server that
// terminals share does, and a terminal that is its own server.
func readsQueue(argv []string) bool {
	if slices.Contains(argv, "mcp-server") {
		return false
	}
	shared := func(arg string) bool { return arg == managedDaemon || strings.HasPrefix(arg, "unix:") }
	return len(argv) > 0 && (!slices.Contains(argv, serverCommand) || slices.ContainsFunc(argv, shared))
}

// queue returns the command that queues a message for the session's owner.
func (a *Agent) queue(ctx context.Context, s resume.Session, w agent.Words) (agent.Plan, error) {
	had, _, err := rollout.LastTurn(ctx, s.Transcript)
	if err != nil {
		return agent.Plan{}, err
	}
	args := []string{"queue", "--thread", s.Key.ID}
	plan := a.Run(s, cmp.Or(had.Cwd, s.Cwd), leash.Carried{}, leash.WithValue(args, "--message", "--message", w.Prompt)...)
	if plan.Run != nil {
		plan.Run.Unverifiable = true
	}
	return plan, nil
}

// queueFiles are the databases of queued messages. The number in their name is the schema version.
const queueFiles = "queue_*.sqlite"

// Queued reports whether a message is queued for the session. The next process that opens the session
// takes it, even a run with its own prompt: the session would get two prompts.
func (a *Agent) Queued(ctx context.Context, s resume.Session) (bool, error) {
	root := a.Homes.Of(s.Transcript)
	entries, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for queued messages: %w", err)
	}
	for _, entry := range entries {
		if is, _ := filepath.Match(queueFiles, entry.Name()); !is {
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

// waits returns the plan for a session for which a message is queued, or false if none is.
func (a *Agent) waits(ctx context.Context, s resume.Session) (agent.Plan, bool, error) {
	if waits, err := a.Queued(ctx, s); !waits {
		return agent.Plan{}, err != nil, err
	}
	return agent.Parked(alreadyQueued), true, nil
}
