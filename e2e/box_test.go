package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agenttest"
	"resumed/internal/control"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

// patience is how long a test waits for what must happen. Agents are heavy, and
// some of them try for over a minute before they give up.
const patience = 4 * time.Minute

// box is a machine of its own for one test: a home, an agent, its provider and
// the daemon.
type box struct {
	t        *testing.T
	kit      kit
	home     string
	work     string // where the agent works
	bin      string // of the agent's programs
	extra    []string
	backoff  time.Duration // of the daemon, where no time is stated
	stranger bool          // the daemon does not have the agent in its PATH
	before   []string      // what the daemon is started through
	columns  int           // of the agent's terminal; 0: as many as people have
	rows     int
	plain    bool              // the agent's terminal looks as if it were not in tmux
	shell    bool              // the agent is in a resumed shell, in a terminal that looks so
	seat     string            // the agent is in a resumed shell there: "pty", "xterm"
	types    func(keys string) // what the person at the seat does
	provider *agenttest.Server
	proc     *exec.Cmd // the daemon
	log      lockedBuffer
	seen     chan view.Session // every change of the session, in order
	latest   view.Session      // the one that was waited for
}

func newBox(t *testing.T, k kit, bin string) *box {
	b := &box{t: t, kit: k, home: newHome(t), bin: bin, backoff: hasty, provider: agenttest.NewServer(t)}
	t.Cleanup(func() {
		b.reap()
		for _, r := range b.provider.Heard() {
			if !strings.HasPrefix(r.Path, "/") {
				table.asked(k.name(), r.Path)
			}
			if t.Failed() {
				t.Logf("request: %s %s side=%t answer=%s prompts=%d", r.At.Format(time.TimeOnly), r.Path, r.Side, r.Answer, len(r.Prompts))
			}
		}
	})
	b.work = b.path("src", "shop")
	require.NoError(t, os.MkdirAll(b.work, 0o755))
	b.write("src/shop/step", "#!/bin/sh\necho $1 >> work.txt\n")
	require.NoError(t, os.Chmod(filepath.Join(b.work, "step"), 0o755))
	b.extra = k.setUp(b)
	return b
}

// newHome returns a directory with a short name, as sockets need it, that is
// removed when nobody writes into it any more: agents leave helpers behind that
// take a moment to end.
func newHome(t *testing.T) string {
	home, err := os.MkdirTemp("", "e2e-") //nolint:usetesting // see above
	require.NoError(t, err)
	if os.Getenv("E2E_KEEP") != "" {
		t.Logf("its home is kept: %s", home)
		return home
	}
	t.Cleanup(func() {
		for range 50 {
			if os.RemoveAll(home) == nil {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
		t.Logf("%s could not be removed", home)
	})
	return home
}

// reap ends what the agent has left running, such as the server that all of its
// terminals share: whatever has this home.
func (b *box) reap() {
	environments, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range environments {
		env, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(append([]byte{0}, env...), []byte("\x00HOME="+b.home+"\x00")) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

func (b *box) path(parts ...string) string {
	return filepath.Join(append([]string{b.home}, parts...)...)
}

func (b *box) write(name, text string) {
	b.t.Helper()
	require.NoError(b.t, os.MkdirAll(filepath.Dir(b.path(name)), 0o755))
	require.NoError(b.t, os.WriteFile(b.path(name), []byte(text), 0o600))
}

func (b *box) writeJSON(name string, value any) {
	b.t.Helper()
	data, err := json.Marshal(value)
	require.NoError(b.t, err)
	b.write(name, string(data))
}

// env is that of a user who has nothing but a home and an agent. Whatever the
// agent asks of hosts other than its provider, it asks a proxy that refuses.
func (b *box) env() []string {
	return append([]string{
		"HOME=" + b.home,
		"PATH=" + b.bin + string(filepath.ListSeparator) + os.Getenv("PATH"),
		"XDG_CONFIG_HOME=" + b.path(".config"),
		"XDG_DATA_HOME=" + b.path(".local", "share"),
		"XDG_STATE_HOME=" + b.path(".local", "state"),
		"XDG_CACHE_HOME=" + b.path(".cache"),
		"XDG_RUNTIME_DIR=" + b.path("runtime"),
		"DBUS_SESSION_BUS_ADDRESS=unix:path=" + b.path("no-bus"),
		"HTTPS_PROXY=" + b.provider.URL,
		"https_proxy=" + b.provider.URL,
		"NO_PROXY=127.0.0.1,localhost",
		"SHELL=/bin/bash",
		"TERM=xterm-256color",
		"LANG=C.UTF-8",
		"TZ=UTC",
	}, b.extra...)
}

// start starts the daemon and returns when it answers.
func (b *box) start(config string) {
	b.t.Helper()
	b.write(".config/resumed/resumed.toml", config)
	argv := append(slices.Clone(b.before), daemon, "run", "--log-level", "debug")
	b.proc = exec.Command(argv[0], argv[1:]...)
	b.proc.Env, b.proc.Dir, b.proc.Stderr = b.env(), b.home, &b.log
	if b.stranger {
		b.proc.Env = append(b.proc.Env, "PATH="+os.Getenv("PATH"))
	}
	require.NoError(b.t, b.proc.Start())
	b.t.Cleanup(func() {
		_ = b.proc.Process.Signal(syscall.SIGTERM)
		_ = b.proc.Wait()
		if b.t.Failed() {
			b.t.Logf("daemon:\n%s", b.log.String())
			screens, _ := filepath.Glob(b.path(".local/state/resumed/runs/*/screen.txt"))
			for _, path := range screens {
				screen, _ := os.ReadFile(path)
				b.t.Logf("a screen that the daemon did not know:\n%s", screen)
			}
		}
	})
	b.until("the daemon answers", func() bool { _, err := b.ask("status"); return err == nil })
	b.follow()
}

// restart ends the daemon and starts another one.
func (b *box) restart() { b.t.Helper(); b.startAfter(syscall.SIGTERM) }

// startAfter sends the daemon a signal that ends it, and starts another one.
func (b *box) startAfter(signal syscall.Signal) {
	b.t.Helper()
	require.NoError(b.t, b.proc.Process.Signal(signal))
	_ = b.proc.Wait()
	b.start(b.config())
}

// hold makes the daemon start nothing, or ends that.
func (b *box) hold(on bool) {
	b.t.Helper()
	order := "unpause"
	if on {
		order = "pause"
	}
	_, err := b.ask(order)
	require.NoError(b.t, err)
}

// ask runs a command of resumed.
func (b *box) ask(args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(b.t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, daemon, args...)
	cmd.Env, cmd.Dir = b.env(), b.home
	return cmd.Output()
}

// session returns the one session that was interrupted, or false.
func (b *box) session() (view.Session, bool) {
	b.t.Helper()
	out, err := b.ask("status", "--json")
	require.NoError(b.t, err)
	var status control.Status
	require.NoError(b.t, json.Unmarshal(out, &status))
	require.LessOrEqual(b.t, len(status.Sessions), 1, "one session: %s", out)
	if len(status.Sessions) == 0 {
		return view.Session{}, false
	}
	return status.Sessions[0], true
}

// untilState waits until the session is in one of the states, or was since
// the last such wait: on a busy machine a state is over before anybody asks.
func (b *box) untilState(states ...resume.State) view.Session {
	b.t.Helper()
	b.until(fmt.Sprintf("the session is %v", states), func() bool {
		for !slices.Contains(states, b.latest.State) {
			select {
			case b.latest = <-b.seen:
			default:
				return false
			}
		}
		return true
	})
	return b.latest
}

// follow takes note of every change of the session.
func (b *box) follow() {
	b.t.Helper()
	cmd := exec.Command(daemon, "status", "--watch", "--json")
	cmd.Env, cmd.Dir = b.env(), b.home
	out, err := cmd.StdoutPipe()
	require.NoError(b.t, err)
	require.NoError(b.t, cmd.Start())
	b.seen = make(chan view.Session, 1000) // more than there are
	var reading sync.WaitGroup
	reading.Go(func() {
		for decoder := json.NewDecoder(out); ; {
			var update control.Update
			if decoder.Decode(&update) != nil {
				return
			}
			for _, s := range update.Sessions {
				b.seen <- s
			}
		}
	})
	b.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		reading.Wait()
		_ = cmd.Wait()
	})
}

func (b *box) until(what string, ok func() bool) {
	b.t.Helper()
	deadline := time.Now().Add(patience)
	for !ok() {
		if time.Now().After(deadline) {
			if status, err := b.ask("status"); err == nil { // where there is a daemon
				b.t.Logf("status:\n%s", status)
			}
			b.t.Fatalf("waited %s in vain: %s", patience, what)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// done returns what the agent's commands left behind: its task.
func (b *box) done() string {
	data, err := os.ReadFile(filepath.Join(b.work, "work.txt"))
	if errors.Is(err, os.ErrNotExist) {
		return ""
	}
	require.NoError(b.t, err)
	return strings.Join(strings.Fields(string(data)), " ")
}

// step is a command of the task that the provider gives the agent.
func (b *box) step(name string) agenttest.Answer {
	if b.kit.scripted {
		return agenttest.Tool("./step " + name)
	}
	return agenttest.Tool("echo " + name + " >> work.txt")
}

// run is an agent at work without a terminal.
type run struct {
	cmd *exec.Cmd
	out lockedBuffer
	end chan struct{}
}

// begin starts the agent on a new session.
func (b *box) begin(prompt string) *run {
	b.t.Helper()
	argv := b.kit.begin(prompt)
	return b.launch(append([]string{filepath.Join(b.bin, argv[0])}, argv[1:]...)...)
}

// launch starts a program where the agent works.
func (b *box) launch(argv ...string) *run {
	b.t.Helper()
	r := &run{end: make(chan struct{})}
	r.cmd = exec.Command(argv[0], argv[1:]...)
	r.cmd.Dir, r.cmd.Env = b.work, append(b.env(), "PWD="+b.work)
	r.cmd.Stdout, r.cmd.Stderr = &r.out, &r.out
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	r.cmd.WaitDelay = 5 * time.Second
	require.NoError(b.t, r.cmd.Start())
	go func() { _ = r.cmd.Wait(); close(r.end) }()
	b.t.Cleanup(func() {
		_ = syscall.Kill(-r.cmd.Process.Pid, syscall.SIGKILL)
		<-r.end
		if b.t.Failed() {
			b.t.Logf("%s (%v):\n%s", filepath.Base(argv[0]), r.cmd.ProcessState, r.out.String())
		}
	})
	return r
}

func (r *run) ended() bool {
	select {
	case <-r.end:
		return true
	default:
		return false
	}
}

// wait waits until the agent has ended.
func (r *run) wait(t *testing.T) {
	t.Helper()
	select {
	case <-r.end:
	case <-time.After(patience):
		t.Fatalf("the agent still runs after %s", patience)
	}
}

// lockedBuffer is a bytes.Buffer that one may read while it is written.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
