package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/procfs"
	"resumed/internal/resume"
)

const questions = 2000

// made is a /proc with processes of two agents that counts the walks over it.
func made(t *testing.T) (Table, *atomic.Int32) {
	root := t.TempDir()
	for pid, argv := range map[int]string{7: "bot", 8: "node /usr/bin/crab -p x", 9: "vim bot"} {
		dir := filepath.Join(root, fmt.Sprint(pid))
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "fd"), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "cmdline"), []byte(strings.ReplaceAll(argv, " ", "\x00")), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "environ"), fmt.Appendf(nil, "MARK=m%d\x00", pid), 0o600))
		require.NoError(t, os.Symlink("/src", filepath.Join(dir, "cwd")))
		require.NoError(t, os.Symlink("/src/log", filepath.Join(dir, "fd", "3")))
	}
	return counted(procfs.FS(root))
}

func counted(where procfs.FS) (Table, *atomic.Int32) {
	table, walks := At(where), new(atomic.Int32)
	table.looks.walk = func(ctx context.Context) ([]procfs.Listed, error) {
		walks.Add(1)
		return where.List(ctx)
	}
	return table, walks
}

func list(ctx context.Context, table Table) ([]procfs.Listed, error) {
	seen := table.look(ctx)
	return seen.listed, seen.err
}

func called(name string) func(string) bool {
	return func(path string) bool { return filepath.Base(path) == name }
}

// A burst of limits must not walk over all processes for each session.
func TestQuestionsThatAreAskedTogetherTakeOneWalk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the clock does not move, so no snapshot gets old
		table, walks := made(t)
		ctx := WithSnapshot(t.Context())
		require.Equal(t, ctx, WithSnapshot(ctx))
		for range questions {
			for name, want := range map[string]*resume.Owner{"bot": {PID: 7, Kind: "interactive"}, "crab": {PID: 8, Kind: "headless"}} {
				owner, err := table.OwnerInDir(ctx, resume.Session{Cwd: "/src"}, called(name), "-p")
				require.NoError(t, err)
				require.Equal(t, want, owner)
			}
			writers, err := table.Writers(ctx, "/src/log")
			require.NoError(t, err)
			require.ElementsMatch(t, []int{7, 8, 9}, writers)
			having, err := table.Having(ctx, "MARK")
			require.NoError(t, err)
			require.Len(t, having, 3)
			open, err := table.OpenFiles(ctx, 7)
			require.NoError(t, err)
			require.Len(t, open, 1)
		}
		require.EqualValues(t, 1, walks.Load())
	})
}

// A single query is answered by the state after the query, also directly after a group of
// queries.
func TestAQuestionIsNeverAnsweredByAnEarlierLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table, walks := made(t)
		together := WithSnapshot(t.Context())
		running := func(ctx context.Context) int {
			found, err := table.Running(ctx, called("bot"))
			require.NoError(t, err)
			return len(found)
		}
		require.Equal(t, 1, running(together))
		require.NoError(t, os.RemoveAll(table.Path(7)))
		require.Equal(t, 1, running(together), "it was asked together")
		require.Equal(t, 0, running(t.Context()))
		require.Equal(t, 0, running(WithSnapshot(t.Context())))
		require.EqualValues(t, 3, walks.Load())
	})
}

// A query that comes during a walk is not answered by that walk, which may have missed a
// change. All such queries share the next walk.
func TestQuestionsThatWaitTakeOneWalkMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table, passed := At(procfs.FS(t.TempDir())), make(chan struct{})
		walks, state := 0, "free" // only used in turn
		table.looks.walk = func(context.Context) ([]procfs.Listed, error) {
			walks++
			seen := []procfs.Listed{{PID: 7, Argv: []string{state}}}
			if walks == 1 {
				<-passed
			}
			return seen, nil
		}
		ask := func() string {
			all, err := list(t.Context(), table)
			require.NoError(t, err)
			return all[0].Argv[0]
		}
		var wait sync.WaitGroup
		wait.Go(func() { require.Equal(t, "free", ask()) })
		synctest.Wait()
		state = "held"
		for range questions {
			wait.Go(func() { require.Equal(t, "held", ask()) })
		}
		synctest.Wait()
		close(passed)
		wait.Wait()
		require.Equal(t, 2, walks)
	})
}

func TestALookGrowsOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table, walks := counted(procfs.FS(t.TempDir()))
		ctx := WithSnapshot(t.Context())
		for range 10 {
			_, err := list(ctx, table)
			require.NoError(t, err)
			time.Sleep(oldest / 4)
		}
		require.EqualValues(t, 2, walks.Load(), "a round may be long")
	})
}

// A query that is cancelled must not cancel the walk that others wait for.
func TestWhoStopsAskingStopsNobodyElse(t *testing.T) {
	table := At(procfs.FS(t.TempDir()))
	table.looks.walk = func(ctx context.Context) ([]procfs.Listed, error) { return nil, ctx.Err() }
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := list(ctx, table)
	require.NoError(t, err)
	table.looks.walk = func(context.Context) ([]procfs.Listed, error) { return nil, errors.New("torn") }
	_, err = table.Running(WithSnapshot(t.Context()), called("bot"))
	require.ErrorContains(t, err, "torn")
}

// BenchmarkOwners finds the owner of a session among the processes of this machine, as in a
// burst of limits.
func BenchmarkOwners(b *testing.B) {
	for name, ctx := range map[string]func() context.Context{"alone": b.Context, "together": func() context.Context { return WithSnapshot(b.Context()) }} {
		b.Run(name, func(b *testing.B) {
			ctx := ctx()
			for b.Loop() {
				_, err := Here.OwnerInDir(ctx, resume.Session{Cwd: "/src"}, called("bot"), "-p")
				require.NoError(b, err)
			}
		})
	}
}
