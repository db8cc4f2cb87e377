package runner

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A bound is checked often enough that a command does not run much longer.
func TestShortBoundsAreCheckedMoreOften(t *testing.T) {
	for _, c := range []struct{ timeout, stall, want time.Duration }{
		{0, 0, lookEvery},
		{time.Hour, 0, lookEvery},
		{time.Second, 0, time.Second / 4},
		{0, time.Second, time.Second / 4},
		{time.Second, 100 * time.Millisecond, 25 * time.Millisecond},
		{100 * time.Millisecond, time.Second, 25 * time.Millisecond},
		{time.Nanosecond, 0, time.Millisecond},
	} {
		p := Process{cmd: Command{Bounds: bounds(c.timeout, c.stall)}}
		require.Equal(t, c.want, p.lookEvery(), c)
	}
}

// A process that hangs in the kernel does not end, and is reported.
func TestACommandThatDoesNotEndIsReportedAtItsBound(t *testing.T) {
	for why, limits := range map[string]func() (time.Duration, time.Duration){
		"it ran longer than 1s":          bounds(time.Second, 0),
		"it gave no sign of life for 1s": bounds(0, time.Second),
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			p := &Process{cmd: Command{Bounds: limits}, started: began, ended: make(chan struct{})}
			got := p.Wait(soon(t))
			require.EqualError(t, got.Err, "the command was ended: "+why+"; end the command: process 0 does not end")
			require.False(t, got.Known)
			require.Equal(t, time.Second+killPatience, time.Since(began))
		})
	}
}

// Whatever a command writes keeps it running, and its silence ends it.
func TestSignsOfLifeKeepACommandRunning(t *testing.T) {
	const stall = time.Second
	for _, sign := range []string{"output", "transcript.jsonl"} {
		synctest.Test(t, func(t *testing.T) {
			dir := t.TempDir()
			cmd := Command{
				Output: filepath.Join(dir, "output"), Bounds: bounds(0, stall),
				Signs: func() []string {
					return []string{filepath.Join(dir, "never-there"), filepath.Join(dir, "transcript.jsonl")}
				},
			}
			began := time.Now()
			p := &Process{cmd: cmd, started: began, ended: make(chan struct{})}
			done := make(chan Result)
			go func() { done <- p.Wait(soon(t)) }()
			var last time.Time
			for range 45 {
				last = time.Now()
				require.NoError(t, os.WriteFile(filepath.Join(dir, sign), []byte(last.String()), 0o600))
				time.Sleep(50 * time.Millisecond)
			}
			got := <-done
			require.ErrorContains(t, got.Err, "no sign of life", sign)
			over := time.Now().Add(-killPatience) // this process cannot be ended, which is waited for
			require.Greater(t, over.Sub(last), stall-stall/4, "a sign counts from the look that finds it")
			require.LessOrEqual(t, over.Sub(last), stall+stall/2)
			require.Greater(t, over.Sub(began), 2*stall)
		})
	}
}

// A daemon that adopts a command is not its parent: it reads how the command ended from the status file.
func TestHowAnAdoptedCommandEndedIsKnownByItsStatusFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := Command{
		Argv: []string{"/bin/sh", "-c", "until [ -e go ]; do sleep 0.01; done; exit 3"}, Dir: dir,
		Status: filepath.Join(dir, "1.exit"), Grace: time.Second,
	}
	adopted, ok := Adopt(start(t, cmd).Process)
	require.True(t, ok)
	adopted.Bind(cmd)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o600))
	got := adopted.Wait(soon(t))
	require.True(t, got.Known)
	require.EqualError(t, got.Err, "exit status 3")
}
