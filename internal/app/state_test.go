package app

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/state"
)

// A command that adds a task holds the state for a moment: a daemon that starts then does not end.
func TestADaemonWaitsForACommandThatHoldsTheState(t *testing.T) {
	t.Parallel()
	opts := Options{StateDir: t.TempDir(), Log: slog.New(slog.DiscardHandler)}
	command, err := state.Open(opts.StateDir, opts.Log)
	require.NoError(t, err)
	time.AfterFunc(100*time.Millisecond, func() { _ = command.Close() })
	store, err := openState(t.Context(), opts)
	require.NoError(t, err)
	defer store.Close()

	stopped, stop := context.WithCancel(t.Context())
	stop()
	require.NoError(t, Run(stopped, opts), "who is stopped while it waits has not failed")
}
