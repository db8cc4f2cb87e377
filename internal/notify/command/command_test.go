package command

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/notify"
	"resumed/internal/notify/notifytest"
)

func open(t *testing.T, timeout time.Duration, run ...string) *notify.Channel {
	t.Helper()
	c, err := New(Options{Common: notify.Common{Name: "script", Timeout: timeout}, Run: run})
	require.NoError(t, err)
	return c
}

func send(t *testing.T, c *notify.Channel, n notify.Notice) error {
	t.Helper()
	return c.Send(t.Context(), n).Err
}

func TestCommandIsAChannel(t *testing.T) {
	notifytest.Conform(t, func(c notify.Common) (*notify.Channel, error) {
		return New(Options{Common: c, Run: []string{"/bin/sleep", "300"}})
	})
}

func TestCommandGetsTheNoticeOnStdin(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "/run/systemd/notify")
	out := filepath.Join(t.TempDir(), "out")
	c := open(t, 0, "/bin/sh", "-c", `cat >"$1"; env >"$1.env"`, "sh", out)
	require.NoError(t, send(t, c, notifytest.Notice(notify.Parked, 1)))

	var got notify.Notice
	require.NoError(t, json.Unmarshal(must(os.ReadFile(out)), &got))
	require.Equal(t, notifytest.Notice(notify.Parked, 1), got)
	env := string(must(os.ReadFile(out + ".env")))
	require.Contains(t, env, "RESUMED_EVENT=parked\n")
	require.Contains(t, env, "RESUMED_NOTICE_ID=ntc_SAMPLE\n")
	require.Contains(t, env, "RESUMED_TITLE=")
	require.Contains(t, env, "RESUMED_TEXT=It happened.\n")
	require.NotContains(t, env, "NOTIFY_SOCKET")
}

// A program that other users can write is not run; that is checked at each use, and the notice waits
// until it is fixed.
func TestCommandThatOthersCanWriteIsNotRun(t *testing.T) {
	dir := t.TempDir()
	program, out := filepath.Join(dir, "tell"), filepath.Join(dir, "out")
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\ntouch \"$1\"\n"), 0o700))
	c := open(t, 0, program, out)
	require.NoError(t, os.Chmod(program, 0o777))
	err := send(t, c, notifytest.Notice(notify.GaveUp, 1))
	require.ErrorContains(t, err, "chmod go-w "+program)
	final := notify.IsFinal(err)
	require.False(t, final)
	_, err = New(Options{Common: notify.Common{Name: "script"}, Run: []string{program}})
	require.ErrorContains(t, err, "chmod go-w "+program)
	require.NoFileExists(t, out)
	require.NoError(t, os.Chmod(program, 0o700))
	require.NoError(t, send(t, c, notifytest.Notice(notify.GaveUp, 1)))
	require.FileExists(t, out)
}

func TestCommandArgumentsAreReadByNoShell(t *testing.T) {
	out := filepath.Join(t.TempDir(), "$(touch pwned); *")
	require.NoError(t, send(t, open(t, 0, "/usr/bin/tee", out), notifytest.Notice(notify.GaveUp, 1)))
	require.FileExists(t, out)
}

func TestCommandThatFailsIsTriedAgainAndShowsItsLastWords(t *testing.T) {
	err := send(t, open(t, 0, "/bin/sh", "-c", "echo no network >&2; exit 3"), notifytest.Notice(notify.GaveUp, 1))
	require.ErrorContains(t, err, "exit status 3: no network")
	permanent := notify.IsFinal(err)
	require.False(t, permanent)
}

func TestCommandThatDoesNotExistIsFinal(t *testing.T) {
	err := send(t, open(t, 0, "/nonexistent/program"), notifytest.Notice(notify.GaveUp, 1))
	permanent := notify.IsFinal(err)
	require.True(t, permanent, "%v", err)
}

// An editor or an update has the program open for a moment: the kernel returns "text file busy".
func TestCommandThatIsBeingWrittenIsTriedAgain(t *testing.T) {
	program := filepath.Join(t.TempDir(), "program")
	require.NoError(t, os.WriteFile(program, must(os.ReadFile("/bin/true")), 0o755))
	held, err := os.OpenFile(program, os.O_WRONLY, 0)
	require.NoError(t, err)
	err = send(t, open(t, 0, program), notifytest.Notice(notify.GaveUp, 1))
	require.ErrorIs(t, err, syscall.ETXTBSY)
	permanent := notify.IsFinal(err)
	require.False(t, permanent, "%v", err)
	require.NoError(t, held.Close())
	require.NoError(t, send(t, open(t, 0, program), notifytest.Notice(notify.GaveUp, 1)))
}

func TestCommandIsRefusedForGoodOnlyByWhatStays(t *testing.T) {
	for no, want := range map[syscall.Errno]bool{
		syscall.ETXTBSY: true, syscall.EAGAIN: true, syscall.ENOMEM: true, syscall.EMFILE: true,
		syscall.ENOENT: false, syscall.EACCES: false, syscall.ENOEXEC: false, syscall.E2BIG: false,
	} {
		require.Equal(t, want, passing(&os.PathError{Op: "fork/exec", Path: "/bin/x", Err: no}), no)
	}
}

func TestCommandThatReadsNothingIsDelivered(t *testing.T) {
	require.NoError(t, send(t, open(t, 0, "/bin/true"), notifytest.Notice(notify.GaveUp, 50)))
}

func TestCommandThatHangsIsKilledWithItsChildren(t *testing.T) {
	pidFile := filepath.Join(t.TempDir(), "pid")
	began := time.Now()
	started := ""
	for timeout := 100 * time.Millisecond; !strings.HasSuffix(started, "\n"); timeout *= 2 { // until there was time for the child to start
		c := open(t, timeout, "/bin/sh", "-c", `sleep 300 & echo $! >"$1"; wait`, "sh", pidFile)
		err := send(t, c, notifytest.Notice(notify.GaveUp, 1))
		require.ErrorContains(t, err, "longer than "+timeout.String())
		require.Less(t, time.Since(began), time.Minute)
		text, _ := os.ReadFile(pidFile)
		started = string(text)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(started))
	require.NoError(t, err)
	require.True(t, gone(pid), "the child must not outlive the command")
}

// gone waits a moment for a killed process to vanish, or to be a zombie that was not waited for yet.
func gone(pid int) bool {
	for range 100 {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil || strings.Contains(string(stat), ") Z ") || errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			return true
		}
		time.Sleep(10 * time.Millisecond)
	}
	return false
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
