package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/procfs"
	"resumed/internal/terminal/terminaltest"
)

// shellOf runs a command in a terminal, in a resumed shell there if so is said, and returns the person's side.
func shellOf(b *testing.B, inShell bool, command string) (*os.File, *exec.Cmd) {
	argv := []string{"sh", "-c", "stty raw -echo; printf BEGIN; " + command}
	if inShell {
		argv = append([]string{program, "shell"}, argv...)
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = []string{"HOME=" + b.TempDir(), "XDG_RUNTIME_DIR=" + b.TempDir(), "PATH=" + os.Getenv("PATH"), "TERM=xterm-256color"}
	person := terminaltest.Open(b, cmd)
	_, err := io.ReadFull(person, make([]byte, len("BEGIN")))
	require.NoError(b, err)
	b.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return person, cmd
}

// BenchmarkShellOutput says how many bytes pass in a second, and in a second of the process's own time, which another
// load of the machine changes less. The same without a resumed shell is the measure for it.
func BenchmarkShellOutput(b *testing.B) {
	for name, line := range map[string]string{
		"text": "\x1b[31mabc\x1b[0m the quick brown fox jumps over the lazy dog ─── 漢字 " + strings.Repeat("x", 60) + "\r\n", "numbers": "1234567\r\n",
	} {
		output := strings.Repeat(line, 32<<20/len(line))
		file := filepath.Join(b.TempDir(), "output")
		require.NoError(b, os.WriteFile(file, []byte(output), 0o600))
		for _, inShell := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/shell=%t", name, inShell), func(b *testing.B) {
				b.SetBytes(int64(len(output)))
				var ticks uint64
				for b.Loop() {
					person, cmd := shellOf(b, inShell, "exec cat "+file+" -")
					got := make([]byte, len(output))
					_, err := io.ReadFull(person, got)
					require.NoError(b, err)
					require.True(b, string(got) == output, "nothing is lost")
					stat, err := procfs.Proc.Stat(cmd.Process.Pid)
					require.NoError(b, err)
					ticks += stat.CPU
					require.NoError(b, cmd.Process.Kill())
				}
				b.ReportMetric(float64(len(output)*b.N)/(float64(ticks)/100)/1e6, "MB/CPU-s")
			})
		}
	}
}

// BenchmarkShellKey is the time from a key to its echo.
func BenchmarkShellKey(b *testing.B) {
	for _, inShell := range []bool{false, true} {
		b.Run(fmt.Sprintf("shell=%t", inShell), func(b *testing.B) {
			person, _ := shellOf(b, inShell, "exec cat")
			key := []byte("a")
			for b.Loop() {
				_, err := person.Write(key)
				require.NoError(b, err)
				_, err = io.ReadFull(person, key)
				require.NoError(b, err)
			}
		})
	}
}
