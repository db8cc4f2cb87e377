// Package kittytest runs a real kitty on an invisible display, for tests.
package kittytest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Kitty is a kitty that accepts remote control.
type Kitty struct {
	t       *testing.T
	Socket  string
	Process *os.Process
	display string
}

// patience is how long a kitty may take on a busy machine.
const patience = time.Minute

// Start starts a kitty with a window that does nothing. options are entries of kitty.conf.
func Start(t *testing.T, options ...string) *Kitty {
	t.Helper()
	need(t, "kitty", "Xvfb")
	dir, err := os.MkdirTemp("", "kitty") // the paths of sockets must be short
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	k := &Kitty{t: t, Socket: filepath.Join(dir, "s"), display: "DISPLAY=" + Display(t)}
	args := []string{
		"--config", "NONE", "--listen-on", "unix:" + k.Socket, "-o", "allow_remote_control=socket-only", "-o", "update_check_interval=0", "-o", "cursor_blink_interval=0",
		"-o", "remember_window_size=no", "-o", "initial_window_width=120c", "-o", "initial_window_height=40c",
	}
	for _, option := range options {
		args = append(args, "-o", option)
	}
	cmd := exec.Command("kitty", append(args, "sleep", "1000")...)
	cmd.Env = append(os.Environ(), k.display, "LIBGL_ALWAYS_SOFTWARE=1", "HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_RUNTIME_DIR="+dir, "XDG_CACHE_HOME="+dir)
	log, err := os.Create(filepath.Join(dir, "log"))
	require.NoError(t, err)
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	run(t, cmd)
	k.Process = cmd.Process
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if conn, err := net.Dial("unix", k.Socket); err == nil {
			_ = conn.Close()
			return k
		}
		if time.Now().After(deadline) {
			said, _ := os.ReadFile(log.Name())
			t.Fatalf("kitty did not come: %s", said)
		}
	}
}

// need skips the test where one of the programs is not installed.
func need(t *testing.T, programs ...string) {
	t.Helper()
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			if os.Getenv("CI") != "" {
				t.Fatal(err)
			}
			t.Skip("KITTY IS NOT TESTED HERE: there is no " + program)
		}
	}
}

// Display starts an X server and returns its display.
func Display(t *testing.T) string {
	t.Helper()
	read, write, err := os.Pipe()
	require.NoError(t, err)
	defer read.Close()
	cmd := exec.Command("Xvfb", "-displayfd", "3", "-screen", "0", "1400x1000x24", "-nolisten", "tcp")
	cmd.ExtraFiles = []*os.File{write}
	run(t, cmd)
	require.NoError(t, write.Close())
	number, err := bufio.NewReader(read).ReadString('\n')
	require.NoError(t, err, "Xvfb did not come")
	return ":" + strings.TrimSpace(number)
}

func run(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
}

// Launch runs a command in a new window, which does not get the keyboard, and returns the window's id.
func (k *Kitty) Launch(dir string, env []string, argv ...string) int {
	k.t.Helper()
	id, err := strconv.Atoi(k.Ask("launch", map[string]any{"type": "tab", "cwd": dir, "env": env, "args": argv, "keep_focus": true}))
	require.NoError(k.t, err)
	return id
}

// Screen returns the text in a window.
func (k *Kitty) Screen(id int) string {
	k.t.Helper()
	return k.Ask("get-text", map[string]any{"match": fmt.Sprint("id:", id)})
}

// PID returns the first process of a window; 0: it is gone.
func (k *Kitty) PID(id int) int {
	k.t.Helper()
	var all []struct {
		Tabs []struct{ Windows []struct{ ID, PID int } }
	}
	require.NoError(k.t, json.Unmarshal([]byte(k.Ask("ls", nil)), &all))
	for _, screen := range all {
		for _, tab := range screen.Tabs {
			for _, window := range tab.Windows {
				if window.ID == id {
					return window.PID
				}
			}
		}
	}
	return 0
}

// Ask sends a command and returns the answer.
func (k *Kitty) Ask(order string, payload map[string]any) string {
	k.t.Helper()
	conn, err := net.Dial("unix", k.Socket)
	require.NoError(k.t, err)
	defer conn.Close()
	require.NoError(k.t, conn.SetDeadline(time.Now().Add(patience)))
	text, err := json.Marshal(map[string]any{"cmd": order, "version": []int{0, 20, 0}, "payload": payload})
	require.NoError(k.t, err)
	_, err = fmt.Fprintf(conn, "\x1bP@kitty-cmd%s\x1b\\", text)
	require.NoError(k.t, err)
	said, reader := "", bufio.NewReader(conn)
	for !strings.HasSuffix(said, "\x1b\\") { // JSON may contain backslashes too
		more, err := reader.ReadString('\\')
		require.NoError(k.t, err)
		said += more
	}
	var answer struct {
		OK    bool
		Data  string
		Error string
	}
	said = strings.TrimSuffix(strings.TrimPrefix(said, "\x1bP@kitty-cmd"), "\x1b\\")
	require.NoError(k.t, json.Unmarshal([]byte(said), &answer), said)
	require.True(k.t, answer.OK, answer.Error)
	return answer.Data
}

// Person returns the keyboard of a person before the display: what is written there is typed into the window
// that has it.
func (k *Kitty) Person() io.WriteCloser {
	k.t.Helper()
	need(k.t, "xdotool")
	return keyboard{k}
}

type keyboard struct{ k *Kitty }

func (b keyboard) Write(keys []byte) (int, error) {
	args := []string{"type", "--delay", "0", "--", string(keys)}
	if string(keys) == "\r" {
		args = []string{"key", "Return"}
	}
	cmd := exec.Command("xdotool", args...)
	cmd.Env = append(os.Environ(), b.k.display)
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("xdotool: %w: %s", err, out)
	}
	return len(keys), nil
}

func (keyboard) Close() error { return nil }
