package app

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"resumed/internal/control"
	"resumed/internal/resume"
)

// A hook asks for a look, and for nothing else: at a known session's own transcript
// whatever it says, and at no more of them than are worth it.
func TestAHookBringsAboutALookAndNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var looks []resume.Session
		known := resume.Key{Agent: "claude-code", ID: "known"}
		n := newNudges(func(_ context.Context, key resume.Key) (resume.Session, error) {
			if key != known {
				return resume.Session{}, resume.ErrNoSession
			}
			return resume.Session{Key: key, Transcript: "/home/known.jsonl"}, nil
		}, func(_ context.Context, s resume.Session) error {
			looks = append(looks, s)
			return nil
		}, slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- n.Run(ctx) }()
		defer func() { cancel(); require.NoError(t, <-ended) }()
		looked := func(nudges ...control.Nudge) []resume.Session {
			looks = nil
			for _, nudge := range nudges {
				require.NoError(t, n.take(nudge))
			}
			synctest.Wait()
			return looks
		}

		require.Equal(t, []resume.Session{{Key: known, Transcript: "/home/known.jsonl"}},
			looked(control.Nudge{Agent: "claude-code", Session: "known", Transcript: "/etc/passwd"}))
		fresh := resume.Key{Agent: "claude-code", ID: "fresh"}
		require.Equal(t, []resume.Session{{Key: fresh, Transcript: "/home/fresh.jsonl"}},
			looked(control.Nudge{Agent: "claude-code", Session: "fresh", Transcript: "/home/x/../fresh.jsonl"}))
		require.Empty(t, looked(control.Nudge{Agent: "claude-code", Session: "fresh", Transcript: "fresh.jsonl"}, control.Nudge{Agent: "codex", Session: "fresh"}))

		require.Error(t, n.take(control.Nudge{Agent: "gemini", Session: "s"}), "it calls no hook")
	})
}

func TestAFloodOfHooksIsBounded(t *testing.T) {
	n := newNudges(nil, nil, slog.New(slog.DiscardHandler))
	for i := range 10 * mostNudges {
		require.NoError(t, n.take(control.Nudge{Agent: "codex", Session: fmt.Sprint(i)}))
	}
	require.Len(t, n.asked, mostNudges)
}
