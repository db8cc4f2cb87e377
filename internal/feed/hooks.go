package feed

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"path/filepath"
	"sync"

	"resumed/internal/resume"
)

// maxHookCalls bounds how many sessions wait to be read because a hook asked for it. Others are
// read when their file changes, as without hooks.
const maxHookCalls = 64

// HookCalls reads the transcripts that hooks of agents name. A hook decides nothing: it only makes
// the daemon read a watched file at once.
type HookCalls struct {
	session func(context.Context, resume.Key) (resume.Session, error)
	look    func(context.Context, resume.Session) error
	log     *slog.Logger
	wake    chan struct{} // of size 1

	mu    sync.Mutex
	asked map[resume.Key]string // the transcripts, as the hooks name them
}

// NewHookCalls returns an empty list of calls.
func NewHookCalls(session func(context.Context, resume.Key) (resume.Session, error), look func(context.Context, resume.Session) error, log *slog.Logger) *HookCalls {
	return &HookCalls{session: session, look: look, log: log, wake: make(chan struct{}, 1), asked: make(map[resume.Key]string)}
}

// Take notes what a hook asks for. It does not block.
func (h *HookCalls) Take(key resume.Key, transcript string) {
	h.mu.Lock()
	if _, known := h.asked[key]; known || len(h.asked) < maxHookCalls {
		h.asked[key] = transcript
	}
	h.mu.Unlock()
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// Run reads whenever a hook asks for it, until ctx is done.
func (h *HookCalls) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-h.wake:
		}
		h.mu.Lock()
		asked := maps.Clone(h.asked)
		clear(h.asked)
		h.mu.Unlock()
		for key, transcript := range asked {
			if err := h.read(ctx, key, transcript); err != nil && ctx.Err() == nil {
				h.log.Debug("a hook asked for a look that told nothing", "agent", key.Agent, "session", key.ID, "err", err)
			}
		}
	}
}

// read reads what is new of a session. For a known session the path that the hook names is
// ignored.
func (h *HookCalls) read(ctx context.Context, key resume.Key, transcript string) error {
	session, err := h.session(ctx, key)
	switch {
	case errors.Is(err, resume.ErrNoSession) && filepath.IsAbs(transcript):
		session = resume.Session{Key: key, Transcript: filepath.Clean(transcript)}
	case err != nil:
		return err
	}
	return h.look(ctx, session)
}
