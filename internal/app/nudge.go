package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"sync"

	"resumed/internal/agents"
	"resumed/internal/control"
	"resumed/internal/resume"
)

// mostNudges bounds how many sessions wait for a look that a hook asked for. What is
// beyond is read when its file tells, as without hooks.
const mostNudges = 64

// nudges has the transcripts looked at that hooks of agents tell of. A hook decides
// nothing: all that it can bring about is a look at a file that is watched anyway.
type nudges struct {
	session func(context.Context, resume.Key) (resume.Session, error)
	look    func(context.Context, resume.Session) error
	log     *slog.Logger
	wake    chan struct{} // of size 1

	mu    sync.Mutex
	asked map[resume.Key]string // the transcripts, as the hooks name them
}

func newNudges(session func(context.Context, resume.Key) (resume.Session, error), look func(context.Context, resume.Session) error, log *slog.Logger) *nudges {
	return &nudges{session: session, look: look, log: log, wake: make(chan struct{}, 1), asked: make(map[resume.Key]string)}
}

// take notes what a hook told, and blocks on nothing.
func (n *nudges) take(told control.Nudge) error {
	if agents.Hook(told.Agent) == nil {
		return fmt.Errorf("no agent %q calls a hook", told.Agent)
	}
	key := resume.Key{Agent: told.Agent, ID: told.Session}
	n.mu.Lock()
	if _, known := n.asked[key]; known || len(n.asked) < mostNudges {
		n.asked[key] = told.Transcript
	}
	n.mu.Unlock()
	n.log.Debug("a hook asks for a look", "agent", key.Agent, "session", key.ID, "pid", told.PID, "terminal", told.Terminal)
	select {
	case n.wake <- struct{}{}:
	default:
	}
	return nil
}

// Run looks whenever a hook asks for it, until ctx is done.
func (n *nudges) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-n.wake:
		}
		n.mu.Lock()
		asked := maps.Clone(n.asked)
		clear(n.asked)
		n.mu.Unlock()
		for key, transcript := range asked {
			if err := n.lookAt(ctx, key, transcript); err != nil && ctx.Err() == nil {
				n.log.Debug("a hook asked for a look that told nothing", "agent", key.Agent, "session", key.ID, "err", err)
			}
		}
	}
}

// lookAt reads what is new of a session. Of one that is known, it is known where that
// stands, and what the hook says of it does not count.
func (n *nudges) lookAt(ctx context.Context, key resume.Key, transcript string) error {
	session, err := n.session(ctx, key)
	switch {
	case errors.Is(err, resume.ErrNoSession) && filepath.IsAbs(transcript):
		session = resume.Session{Key: key, Transcript: filepath.Clean(transcript)}
	case err != nil:
		return err
	}
	return n.look(ctx, session)
}
