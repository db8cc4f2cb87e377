// Package terminaltest is a program that records what is typed into its terminal, for tests.
package terminaltest

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/term"

	"resumed/internal/procfs"
	"resumed/internal/resume"
	"resumed/internal/terminal"
)

// Echo is that program: it prints a text, and writes its pid and the bytes that it reads to the
// file of its first argument.
func Echo(shows string) (code int) {
	old, err := term.MakeRaw(0)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer func() { _ = term.Restore(0, old) }()
	fmt.Print(shows)
	file, err := os.OpenFile(os.Args[1], os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return 1
	}
	fmt.Fprintln(file, os.Getpid())
	_, _ = io.Copy(file, os.Stdin)
	return 0
}

// Program is a running Echo.
type Program struct {
	T    *testing.T
	Keys string // the file that it writes to
}

// Typed returns the program's pid and all bytes that it has read.
func (p Program) Typed() (pid int, keys string) {
	data, _ := os.ReadFile(p.Keys)
	first, rest, _ := strings.Cut(string(data), "\n")
	pid, _ = strconv.Atoi(first)
	return pid, rest
}

// Process returns the program's process when it runs. The process ends with the test.
func (p Program) Process() resume.Process {
	p.T.Helper()
	pid := 0
	p.Until("the program runs", func() bool {
		pid, _ = p.Typed()
		path, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
		environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)) // is set after exe
		return filepath.Base(path) == filepath.Base(os.Args[0]) && len(environ) > 0
	})
	process := ProcessOf(p.T, pid)
	p.T.Cleanup(func() { // it may have left its terminal, and would outlive that
		if stat, err := procfs.Proc.Stat(pid); err == nil && stat.Start == process.Start {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return process
}

// ProcessOf returns the process of that pid.
func ProcessOf(t *testing.T, pid int) resume.Process {
	t.Helper()
	stat, err := procfs.Proc.Stat(pid)
	require.NoError(t, err)
	return resume.Process{PID: pid, Start: stat.Start}
}

// Until waits until ok returns true.
func (p Program) Until(what string, ok func() bool) {
	p.T.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.T.Fatal("waited in vain: ", what)
		}
	}
}

// Refusal returns the refusal in an error.
func Refusal(t *testing.T, err error) *terminal.Refusal {
	t.Helper()
	refusal := new(terminal.Refusal)
	require.ErrorAs(t, err, &refusal)
	return refusal
}
