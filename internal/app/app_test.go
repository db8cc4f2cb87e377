package app

import (
	"encoding/json"
	"log/slog"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/agents"
	"resumed/internal/config"
	"resumed/internal/control"
	"resumed/internal/resume"
	"resumed/internal/state"
)

// continued is the history of a session that was continued. A fast agent moves before the event of its
// start is applied.
const continued = "waiting (resuming (settling )?watching|watching resuming)$"

// From the limit to the end: the session waits, is continued and moves, and all of that is on disk when
// the daemon has stopped.
func TestFromALimitToProgress(t *testing.T) {
	h := newHouse(t)
	h.configure(t, "10ms", "on")
	d := h.run(t)
	h.write(t, "s-1", "step 1\n")
	h.write(t, "s-1", "rate limited\n")

	limited := d.await(t, "s-1", resume.Waiting)
	require.Equal(t, "bot", limited.After.Key.Agent)
	require.Equal(t, h.path("s-1.log"), limited.After.Transcript)
	due := d.await(t, "s-1", resume.Resuming)
	require.False(t, due.At.Before(limited.After.NextAt))
	moved := d.await(t, "s-1", resume.Watching)
	d.awaitStep(t, "s-1", resume.Change.Given)
	require.Equal(t, resume.Recovered, moved.After.Past[0].Outcome)
	require.Equal(t, "step 1\nrate limited\nstep on: continue\n", h.transcript(t, "s-1"))
	require.Regexp(t, continued, d.kinds(t, "s-1"))
	d.stop()

	require.ErrorIs(t, d.client.SetPaused(t.Context(), true), control.ErrNoDaemon)
	store, err := state.Open(h.path("state"), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer store.Close()
	snapshot, err := store.Load()
	require.NoError(t, err)
	require.Len(t, snapshot.Sessions, 1)
	require.Equal(t, resume.Watching, snapshot.Sessions[0].State)
	var cursor struct{ Offset int }
	require.NoError(t, json.Unmarshal(snapshot.Cursors[h.path("s-1.log")], &cursor))
	require.Len(t, h.transcript(t, "s-1"), cursor.Offset)
}

func TestADaemonGoesOnWhereTheOneBeforeStopped(t *testing.T) {
	h := newHouse(t)
	h.configure(t, "1h", "on")
	first := h.run(t)
	h.write(t, "s-1", "step 1\n")
	h.write(t, "s-1", "rate limited\n")
	first.await(t, "s-1", resume.Waiting)
	require.NoError(t, first.client.SetPaused(t.Context(), true))
	first.stop()

	h.configure(t, "10ms", "on")
	second := h.run(t)
	require.True(t, second.until(t, func(control.Daemon) bool { return true }).Paused)
	require.NoError(t, second.client.SetPaused(t.Context(), false))
	second.await(t, "s-1", resume.Watching)
	second.awaitStep(t, "s-1", resume.Change.Given)
	require.Equal(t, "step 1\nrate limited\nstep on: continue\n", h.transcript(t, "s-1"))
	require.Regexp(t, "^started waiting paused stopped started waiting ", second.kinds(t, ""))
	require.Regexp(t, continued, second.kinds(t, "s-1"))
}

// A bad file changes nothing and is reported; a good one also applies to sessions that wait already,
// and replaces the agent that it changes.
func TestAReloadIsInForceAsAWholeOrNotAtAll(t *testing.T) {
	h := newHouse(t)
	h.configure(t, "1h", "old")
	d := h.run(t)
	h.write(t, "s-1", "step 1\n")
	h.write(t, "s-1", "rate limited\n")
	waiting := d.await(t, "s-1", resume.Waiting).After
	before := d.until(t, func(now control.Daemon) bool { return now.Config.OK })

	h.configure(t, "soon", "new")
	d.reload <- syscall.SIGHUP
	refused := d.until(t, func(now control.Daemon) bool { return !now.Config.OK })
	require.Contains(t, *refused.Config.Error, "backoff.base_delay")
	require.Equal(t, before.Config.LoadedAt, refused.Config.LoadedAt)
	status, err := d.client.Status(t.Context(), false)
	require.NoError(t, err)
	require.Equal(t, waiting.NextAt.UTC(), *status.Sessions[0].NextAt)
	h.write(t, "s-2", "step 1\n")
	h.write(t, "s-2", "rate limited\n")
	d.await(t, "s-2", resume.Waiting) // the agent is watched as before

	h.configure(t, "10ms", "new")
	d.reload <- syscall.SIGHUP
	now := d.until(t, func(now control.Daemon) bool { return now.Config.OK })
	require.Nil(t, now.Config.Error)
	require.True(t, now.Config.LoadedAt.After(before.Config.LoadedAt))
	d.await(t, "s-1", resume.Watching)
	require.Equal(t, "step 1\nrate limited\nstep new: continue\n", h.transcript(t, "s-1"), "it is not read again either")
	h.write(t, "s-3", "step 1\n")
	h.write(t, "s-3", "new: enough\n")
	d.await(t, "s-3", resume.Waiting) // the changed agent understands the line in its new way
	require.Contains(t, d.kinds(t, ""), "config")
}

// If the daemon cannot be built, nothing is left over.
func TestADaemonThatCannotBeBuiltLeavesNothingBehind(t *testing.T) {
	h := newHouse(t)
	h.configure(t, "1h", "on")
	cfg, err := config.Load(h.path("config.toml"), agents.Known())
	require.NoError(t, err)
	cfg.Agents[0].Limit = []string{"("}
	opts := Options{Config: cfg, StateDir: h.path("state"), RuntimeDir: h.path("run"), Log: slog.New(slog.DiscardHandler)}
	require.ErrorContains(t, Run(t.Context(), opts), "agent bot: limit")
	require.False(t, control.IsRunning(h.path("run")))
	h.run(t) // the state is not locked
}
