package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/procfs"
	"resumed/internal/resume"
)

func TestADetachedCommandGoesOn(t *testing.T) {
	t.Parallel()
	cmd := command(t, "polite")
	cmd.Grace = time.Minute
	p := start(t, cmd)
	awaitOutput(t, cmd, "ready")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got := p.Wait(ctx)
	require.ErrorIs(t, got.Err, ErrDetached)
	require.False(t, got.Known)
	require.True(t, lives(p.PID))
	require.NoError(t, p.Stop(t.Context()))
	require.True(t, p.Wait(t.Context()).Known, "and may be waited for again")
}

// startByDaemon makes another process start a command and die by SIGKILL.
func startByDaemon(t *testing.T) (Command, resume.Process) {
	t.Helper()
	cmd := command(t, "polite")
	daemon := exec.Command(os.Args[0], cmd.Dir, cmd.Output, cmd.Mark)
	daemon.Env = append(os.Environ(), childEnv+"=daemon", noExitSleep)
	out, err := daemon.Output()
	require.ErrorContains(t, err, "killed", "%s", out)
	var process resume.Process
	_, err = fmt.Sscan(string(out), &process.PID, &process.Start)
	require.NoError(t, err)
	t.Cleanup(func() {
		if p, ok := Adopt(process); ok {
			require.NoError(t, p.Stop(context.Background()))
		}
	})
	awaitOutput(t, cmd, "ready")
	return cmd, process
}

func TestACommandOutlivesItsDaemonAndIsFoundAgain(t *testing.T) {
	t.Parallel()
	cmd, process := startByDaemon(t)

	found, ok := Find(cmd.Mark)
	require.True(t, ok)
	require.Equal(t, process, found.Process)
	_, ok = Find(cmd.Mark[:len(cmd.Mark)-1])
	require.False(t, ok, "a part of the mark is not the mark")
	_, ok = Find("")
	require.False(t, ok)

	adopted, ok := Adopt(process)
	require.True(t, ok)
	adopted.Bind(cmd)
	done := make(chan Result)
	go func() { done <- adopted.Wait(soon(t)) }()
	cmd.Grace = time.Minute
	found.Bind(cmd)
	require.NoError(t, found.Stop(t.Context()))
	got := <-done
	require.False(t, got.Known)
	require.NoError(t, got.Err)
	require.Contains(t, output(t, cmd), "cleaned up")

	_, ok = Find(cmd.Mark)
	require.False(t, ok)
	_, ok = Adopt(process)
	require.False(t, ok)
}

func TestAnAdoptedCommandKeepsItsBounds(t *testing.T) {
	t.Parallel()
	cmd, process := startByDaemon(t)
	time.Sleep(300 * time.Millisecond)
	adopted := time.Now()
	p, ok := Adopt(process)
	require.True(t, ok)
	require.WithinRange(t, p.Began(), adopted.Add(-time.Minute), adopted.Add(-200*time.Millisecond))
	cmd.Bounds = bounds(250*time.Millisecond, 0) // exceeded already: it counts from the start, not from the adoption
	p.Bind(cmd)
	began := time.Now()
	got := p.Wait(soon(t))
	_, ok = errors.AsType[*TimeoutError](got.Err)
	require.True(t, ok, "%v", got.Err)
	require.Less(t, time.Since(began), time.Minute)
	require.False(t, lives(process.PID))
}

func TestTheLaterOwnerOfAPidIsNotTakenForTheCommand(t *testing.T) {
	t.Parallel()
	cmd := command(t, "sleep")
	p := start(t, cmd)
	now, err := StartTime(p.PID)
	require.NoError(t, err)
	require.Equal(t, p.Start, now)

	_, ok := Adopt(resume.Process{PID: p.PID, Start: p.Start + 1})
	require.False(t, ok)
	_, ok = Adopt(resume.Process{PID: p.PID})
	require.False(t, ok, "a process of unknown start time is nobody's")
	_, ok = Adopt(resume.Process{})
	require.False(t, ok)

	// An earlier command had this pid and its record still exists: ending that command must
	// not end the new process of that pid, nor its group.
	earlier := &Process{Process: resume.Process{PID: p.PID, Start: p.Start - 1}, cmd: Command{Mark: "gone"}}
	require.NoError(t, earlier.Stop(t.Context()))
	require.True(t, lives(p.PID))
}

func TestTheOneThatWasStartedIsFoundNotWhatItStarted(t *testing.T) {
	t.Parallel()
	for _, role := range []string{"parent", "setsid"} {
		cmd := command(t, role)
		p := start(t, cmd)
		awaitOutput(t, cmd, "pid")
		found, ok := Find(cmd.Mark)
		require.True(t, ok)
		require.Equal(t, p.Process, found.Process, role)
		require.NoError(t, p.Stop(t.Context()))
	}
}

// Pids begin again at a low number some day, so the child may have the lower one.
func TestOfProcessesThatStartedTogetherTheLeaderIsTheCommand(t *testing.T) {
	leader := procfs.Stat{PID: 32_000, Session: 32_000, Start: 5}
	child := procfs.Stat{PID: 300, Session: 32_000, Start: 5}
	for _, all := range [][]procfs.Stat{{child, leader}, {leader, child}} {
		require.Equal(t, leader, slices.MinFunc(all, byStart))
	}
	child.Start = 4
	require.Equal(t, child, slices.MinFunc([]procfs.Stat{leader, child}, byStart), "the oldest one counts first")
}

func TestADeadProcessIsNotFound(t *testing.T) {
	t.Parallel()
	child := exec.Command(os.Args[0], "0")
	child.Env = append(os.Environ(), childEnv+"=exit", resume.MarkVariable+"=zombie-"+strconv.Itoa(os.Getpid()))
	require.NoError(t, child.Start())
	defer func() { _ = child.Wait() }()
	for lives(child.Process.Pid) { // until it is a zombie
		time.Sleep(time.Millisecond)
	}
	_, ok := Find("zombie-" + strconv.Itoa(os.Getpid()))
	require.False(t, ok)
	startTime, err := StartTime(child.Process.Pid)
	require.NoError(t, err)
	_, ok = Adopt(resume.Process{PID: child.Process.Pid, Start: startTime})
	require.False(t, ok)
}

func TestStartTimeOfAProcessWithAnOddName(t *testing.T) {
	t.Parallel()
	odd := filepath.Join(t.TempDir(), "a ) R 1 (b")
	require.NoError(t, os.Symlink(os.Args[0], odd))
	cmd := command(t, "sleep")
	cmd.Argv = []string{odd}
	p := start(t, cmd)
	plain := start(t, command(t, "sleep"))
	require.LessOrEqual(t, p.Start, plain.Start)
	require.Positive(t, p.Start)
	_, err := StartTime(1 << 30)
	require.Error(t, err)
}

func BenchmarkFind(b *testing.B) {
	for b.Loop() {
		Find("no-such-mark")
	}
}
