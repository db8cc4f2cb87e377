package feed

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
	"resumed/internal/resume/engine"
	"resumed/internal/state"
)

// A session that was never stopped costs its key, its cursor and its directory, in all that keep something
// of it: the engine, the watcher of its transcript and the store of cursors.
func TestASessionThatWasNeverStoppedCostsLittleMemoryInAll(t *testing.T) {
	const few, more, budget = 200, 2_000, 2_100 // bytes; with a hundred sessions in a directory
	home := t.TempDir()
	t.Setenv("HOME", home)
	write := func(from, to int) {
		for n := from; n < to; n++ {
			id := fmt.Sprintf("%08x-97bf-4b93-a2a9-%012x", uint32(n)*2654435761, n)
			project := filepath.Join(home, ".claude/projects", fmt.Sprintf("-home-dev-src-project-%d", n/100))
			line := fmt.Sprintf(`{"type":"assistant","message":{"role":"assistant","model":"m","content":[{"type":"text","text":"Done."}],"stop_reason":"tool_use"},"uuid":"1","timestamp":"%s","cwd":"/home/dev/src/project-%d","sessionId":"%s"}`+"\n",
				time.Now().UTC().Format(time.RFC3339), n/100, id)
			require.NoError(t, os.MkdirAll(project, 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(project, id+".jsonl"), []byte(line), 0o600))
		}
	}
	write(0, few)
	first := held(t, few)
	write(few, few+more)
	each := (held(t, few+more) - first) / more
	t.Logf("%d bytes each", each)
	require.LessOrEqual(t, each, int64(budget))
}

// held returns how much memory is in use while so many sessions of Claude Code are watched.
func held(t *testing.T, sessions int) int64 {
	log := slog.New(slog.DiscardHandler)
	store, err := state.Open(t.TempDir(), log)
	require.NoError(t, err)
	defer store.Close()
	engine := engine.New(engine.Options{
		Act: func(context.Context, resume.Session) {}, Changed: func(resume.Change) {},
		Rand: func() float64 { return 0.5 }, Mark: func() string { return "mark" },
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- engine.Run(ctx) }()
	defer func() {
		cancel()
		require.NoError(t, <-ended)
	}()
	opts := newSink().options()
	opts.Observe, opts.Keep = engine.Observe, store.PutCursor
	feeds, stop := ready(t, opts, nil, knows(t, "claude-code"))
	defer stop()
	require.NoError(t, store.Sync(within(t)))
	all, err := engine.Sessions(ctx)
	require.NoError(t, err)
	require.Len(t, all, sessions)

	runtime.GC()
	runtime.GC() // what was left in a pool is gone by now
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	runtime.KeepAlive(feeds)
	return int64(m.HeapAlloc)
}
