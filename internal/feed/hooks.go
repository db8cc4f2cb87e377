package feed

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"

	"resumed/internal/resume"
)

// maxHookCalls bounds how many calls of hooks wait. The sessions of others are read when their file
// changes, as without hooks.
const maxHookCalls = 64

// HookCalls reads the transcripts that hooks of agents name. A hook decides nothing: it only makes
// the daemon read a watched file at once.
type HookCalls struct {
	session func(context.Context, resume.Key) (resume.Session, error)
	look    func(context.Context, resume.Session) error
	log     *slog.Logger
	calls   chan hookCall
}

// hookCall is a session, and its transcript as the hook names it.
type hookCall struct {
	key        resume.Key
	transcript string
}

// NewHookCalls returns an empty list of calls.
func NewHookCalls(session func(context.Context, resume.Key) (resume.Session, error), look func(context.Context, resume.Session) error, log *slog.Logger) *HookCalls {
	return &HookCalls{session: session, look: look, log: log, calls: make(chan hookCall, maxHookCalls)}
}

// Take notes what a hook asks for. It does not block.
func (h *HookCalls) Take(key resume.Key, transcript string) {
	select {
	case h.calls <- hookCall{key, transcript}:
	default:
	}
}

// Run reads whenever a hook asks for it, until ctx is done.
func (h *HookCalls) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case call := <-h.calls:
			if err := h.read(ctx, call); err != nil && ctx.Err() == nil {
				h.log.Debug("a hook asked for a look that told nothing", "agent", call.key.Agent, "session", call.key.ID, "err", err)
			}
		}
	}
}

// read reads what is new of a session. For a known session the path that the hook names is
// ignored.
func (h *HookCalls) read(ctx context.Context, call hookCall) error {
	session, err := h.session(ctx, call.key)
	switch {
	case errors.Is(err, resume.ErrNoSession) && filepath.IsAbs(call.transcript):
		session = resume.Session{Key: call.key, Transcript: filepath.Clean(call.transcript)}
	case err != nil:
		return err
	}
	return h.look(ctx, session)
}
