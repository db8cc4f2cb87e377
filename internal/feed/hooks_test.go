package feed

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// A hook asks for a look, and for nothing else: at a known session's own transcript
// whatever it says, and at no more of them than are worth it.
func TestAHookBringsAboutALookAndNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var looks []resume.Session
		known := resume.Key{Agent: "claude-code", ID: "known"}
		n := NewHookCalls(func(_ context.Context, key resume.Key) (resume.Session, error) {
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
		looked := func(asked map[resume.Key]string) []resume.Session {
			looks = nil
			for key, transcript := range asked {
				n.Take(key, transcript)
			}
			synctest.Wait()
			return looks
		}

		require.Equal(t, []resume.Session{{Key: known, Transcript: "/home/known.jsonl"}}, looked(map[resume.Key]string{known: "/etc/passwd"}))
		fresh := resume.Key{Agent: "claude-code", ID: "fresh"}
		require.Equal(t, []resume.Session{{Key: fresh, Transcript: "/home/fresh.jsonl"}}, looked(map[resume.Key]string{fresh: "/home/x/../fresh.jsonl"}))
		require.Empty(t, looked(map[resume.Key]string{fresh: "fresh.jsonl", {Agent: "codex", ID: "fresh"}: ""}))
	})
}

func TestAFloodOfHooksIsBounded(t *testing.T) {
	n := NewHookCalls(nil, nil, slog.New(slog.DiscardHandler))
	for i := range 10 * maxHookCalls {
		n.Take(resume.Key{Agent: "codex", ID: fmt.Sprint(i)}, "")
	}
	require.Len(t, n.calls, maxHookCalls)
}
