package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/control"
	"resumed/internal/notify"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

// program is the built binary that the black-box tests run.
var program string

// testsAtOnce is how many tests run at a time. They mostly wait; but a user has a limited number of
// inotify instances, a daemon needs one, and a test has up to four daemons or a browser. Of tests that wait for
// each other Go begins with the last ones: what takes long stands in a file of a late letter.
func testsAtOnce() int {
	tests := max(16, 2*runtime.GOMAXPROCS(0))
	if most, err := os.ReadFile("/proc/sys/fs/inotify/max_user_instances"); err == nil {
		if n, err := strconv.Atoi(strings.TrimSpace(string(most))); err == nil {
			tests = min(tests, max(2, n/8))
		}
	}
	return tests
}

func TestMain(m *testing.M) {
	// Stand-ins first: their arguments are not those of a test.
	for variable, run := range map[string]func(string) int{
		standInEnv: runStandIn, askerEnv: runAsker, codexHolderEnv: runCodexHolder, idleEnv: runIdle,
	} {
		if settings := os.Getenv(variable); settings != "" {
			os.Exit(run(settings))
		}
	}
	flag.Parse()
	if err := flag.Set("test.parallel", strconv.Itoa(testsAtOnce())); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "resumed-test-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		program = filepath.Join(dir, "resumed")
		if err := build(dir+"/", ".", "../resumed-hub"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}())
}

// build builds the programs of packages with the same flags as the tests.
func build(output string, packages ...string) error {
	args := append([]string{"build", forNoDebugger, "-o", output}, buildFlags()...)
	if out, err := exec.Command("go", append(args, packages...)...).CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", packages, err, out)
	}
	return nil
}

// forNoDebugger omits debug information, as releases do: linking it takes as long as the rest.
const forNoDebugger = "-ldflags=-s -w"

// buildFlags build the binary with coverage if COVERAGE_DIR is set, else with the race detector. With
// both, it would be too slow for tests that measure seconds.
func buildFlags() []string {
	switch {
	case os.Getenv("COVERAGE_DIR") != "":
		return []string{"-cover", "-covermode=atomic", "-coverpkg=resumed/..."}
	case raceDetector:
		return []string{"-race"}
	default:
		return nil
	}
}

// patience limits the wait for what must happen.
const patience = time.Minute

// box is a simulated machine for one test: a home, a daemon, a bot.
type box struct {
	t      *testing.T
	binary string
	home   string
	vars   []string // KEY=value, override those of env
	log    bytes.Buffer
	proc   *exec.Cmd
	mu     sync.Mutex

	daemon *control.Client
}

func newBox(t *testing.T) *box {
	t.Parallel()
	b := &box{t: t, binary: program, home: t.TempDir()}
	b.daemon = control.NewClient(b.path("runtime", "resumed"))
	t.Cleanup(b.sweep)
	require.NoError(t, os.Mkdir(b.path("bot"), 0o755))
	require.NoError(t, os.Mkdir(b.path("tmp"), 0o755))
	return b
}

func (b *box) path(parts ...string) string {
	return filepath.Join(append([]string{b.home}, parts...)...)
}

func (b *box) write(name, text string) {
	b.t.Helper()
	path := b.path(name)
	require.NoError(b.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(b.t, os.WriteFile(path, []byte(text), 0o755))
}

func (b *box) read(name string) string {
	data, err := os.ReadFile(b.path(name))
	if errors.Is(err, os.ErrNotExist) {
		return ""
	}
	require.NoError(b.t, err)
	return string(data)
}

func (b *box) appendTo(name, text string) {
	b.t.Helper()
	f, err := os.OpenFile(b.path(name), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	require.NoError(b.t, err)
	_, err = f.WriteString(text)
	require.NoError(b.t, errors.Join(err, f.Close()))
}

// onDisk opens the database of the daemon.
func (b *box) onDisk() *sql.DB {
	b.t.Helper()
	db, err := sql.Open("sqlite", "file:"+b.path(".local/state/resumed/resumed.db"))
	require.NoError(b.t, err)
	return db
}

// stored returns the session as it is on disk.
func (b *box) stored(id string) (s resume.Session) {
	b.t.Helper()
	db := b.onDisk()
	defer db.Close()
	var data []byte
	if db.QueryRow("SELECT data FROM session WHERE id = ?", id).Scan(&data) == nil {
		require.NoError(b.t, json.Unmarshal(data, &s))
	}
	return s
}

// edit changes the session on disk, while no daemon runs.
func (b *box) edit(id string, change func(*resume.Session)) {
	b.t.Helper()
	s := b.stored(id)
	change(&s)
	data, err := json.Marshal(s)
	require.NoError(b.t, err)
	db := b.onDisk()
	defer db.Close()
	_, err = db.Exec("UPDATE session SET data = ? WHERE id = ?", string(data), id)
	require.NoError(b.t, err)
}

// untilOver returns when the daemon has stored that the last resume of a session has ended, and that the session
// went on. Without a new interruption nothing is resumed after that.
func (b *box) untilOver(id string) {
	b.t.Helper()
	b.until("the resume of "+id+" is over", func() bool {
		s := b.stored(id)
		return s.State == resume.Watching && s.Run == nil
	})
}

// sweep kills the processes that the daemon started and left running. A bot that goes on has the environment of
// this process, if the daemon has seen it write the bot's log: it is known by its directory.
func (b *box) sweep() {
	for _, pid := range processes() {
		dir, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
		if strings.HasPrefix(dir, b.home+"/") || bytes.Contains(ofProcess(pid, "environ"), []byte("HOME="+b.home+"\x00")) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// processes returns the numbers of all processes. (A pattern such as /proc/*/environ lists each one's directory.)
func processes() (pids []int) {
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// ofProcess returns a file of a process; nil: it has ended, or is another user's.
func ofProcess(pid int, name string) []byte {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, name))
	return data
}

// env returns the environment of a user who has only a home.
func (b *box) env() []string {
	return append([]string{
		"HOME=" + b.home,
		"PATH=" + b.path("bin") + ":" + os.Getenv("PATH"),
		"XDG_RUNTIME_DIR=" + b.path("runtime"),
		"DBUS_SESSION_BUS_ADDRESS=unix:path=" + b.path("no-bus"),
		"TMPDIR=" + b.path("tmp"),
		"TZ=UTC",
		"RESUMED_RESUME_UNSEEN=same_mode", // most transcripts here have no process
		"RESUMED_RESUME_CHANGED_ENV=tell", // or the one that writes them, with another environment
		"GOCOVERDIR=" + os.Getenv("COVERAGE_DIR"),
	}, b.vars...)
}

// run runs a command to its end and returns its output and its exit code.
func (b *box) run(args ...string) (stdout, stderr string, code int) {
	b.t.Helper()
	return b.runWith("", args...)
}

func (b *box) runWith(stdin string, args ...string) (stdout, stderr string, code int) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, b.binary, args...)
	cmd.Env, cmd.Dir = b.env(), b.home
	cmd.Stdin = strings.NewReader(stdin)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	if _, ok := errors.AsType[*exec.ExitError](err); !ok {
		require.NoError(b.t, err)
	}
	return out.String(), errOut.String(), cmd.ProcessState.ExitCode()
}

// start starts the daemon and returns when it answers.
func (b *box) start(args ...string) {
	b.t.Helper()
	b.proc = b.command(append([]string{"run"}, args...)...)
	require.NoError(b.t, b.proc.Start())
	b.t.Cleanup(func() {
		b.kill(syscall.SIGKILL)
		if b.t.Failed() {
			b.t.Logf("daemon:\n%s", b.logged())
		}
	})
	b.until("the daemon answers", func() bool { _, err := b.daemon.Status(b.t.Context(), false); return err == nil })
}

// command returns a command and stores its log.
func (b *box) command(args ...string) *exec.Cmd {
	cmd := exec.Command(b.binary, args...)
	cmd.Env, cmd.Dir = b.env(), b.home
	cmd.Stderr = writer(func(p []byte) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.log.Write(p)
	})
	return cmd
}

type writer func([]byte)

func (w writer) Write(p []byte) (int, error) { w(p); return len(p), nil }

func (b *box) logged() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.log.String()
}

// kill ends the daemon and returns its exit code.
func (b *box) kill(sig syscall.Signal) int {
	if b.proc == nil {
		return -1
	}
	_ = b.proc.Process.Signal(sig)
	return b.ended()
}

// ended waits until the daemon has ended, and returns its exit code.
func (b *box) ended() int {
	proc := b.proc.Process
	late := time.AfterFunc(patience, func() { _ = proc.Kill() })
	defer late.Stop()
	_ = b.proc.Wait()
	code := b.proc.ProcessState.ExitCode()
	b.proc = nil
	return code
}

// laterIsResumed returns when another session of the bot, which is stopped now, was resumed: what was due
// before it has begun by then. The bot must have no stagger.
func (b *box) laterIsResumed() {
	b.t.Helper()
	b.write("bot/logs/later.log", "rate limited, retry in 0s\n")
	b.until("a later session is resumed", func() bool { return strings.Contains(b.read("bot/calls"), "id=later ") })
}

func (b *box) until(what string, ok func() bool) {
	b.t.Helper()
	b.within(patience, what, ok)
}

func (b *box) within(limit time.Duration, what string, ok func() bool) {
	b.t.Helper()
	for began := time.Now(); !ok(); {
		waited := time.Since(began)
		if waited > limit {
			b.t.Fatalf("waited %s in vain: %s", limit, what)
		}
		time.Sleep(min(max(10*time.Millisecond, waited/8), 150*time.Millisecond)) // what takes long is asked for less often
	}
}

// status asks the daemon directly: a process for each call would dominate these tests. The command has
// its own tests.
func (b *box) status() control.Status {
	b.t.Helper()
	status, err := b.daemon.Status(b.t.Context(), false)
	require.NoError(b.t, err)
	return status
}

func (b *box) untilDead() {
	b.t.Helper()
	b.until("the daemon dies", func() bool {
		_, err := b.daemon.Status(b.t.Context(), false)
		return errors.Is(err, control.ErrNoDaemon)
	})
}

// channel returns the state of the first channel; zero before the notifier has started.
func (b *box) channel() control.Channel {
	if channels := b.status().Daemon.Notices.Channels; len(channels) > 0 {
		return channels[0]
	}
	return control.Channel{}
}

func (b *box) session(id string) view.Session {
	for _, s := range b.status().Sessions {
		if s.ID == id {
			return s
		}
	}
	return view.Session{}
}

func (b *box) untilState(id string, state resume.State) view.Session {
	b.t.Helper()
	var s view.Session
	b.until(fmt.Sprintf("%s is %s", id, state), func() bool {
		s = b.session(id)
		return s.State == state
	})
	return s
}

// reconfigure changes the configuration and returns when it is in use.
func (b *box) reconfigure(text string) {
	b.t.Helper()
	before := b.status().Daemon.Config.LoadedAt
	b.write(configFile, text)
	b.until("the configuration is in force", func() bool { return b.status().Daemon.Config.LoadedAt.After(before) })
}

// bot is the configuration of a custom agent: a shell script.
const bot = `
[[agent]]
name = "mybot"
kind = "custom"
files = ["~/bot/logs/*.log"]
session = '([^/]+)\.log$'
cwd = "~/bot"
limit = ['rate limited, retry in (?P<after>\S+)', 'rate limited until (?P<at>.+)', 'rate limited$']
progress = ['^step ']
resume = ["sh", "./resume.sh", "{session}", "{prompt}"]
`

// recordCall is the beginning of every resume.sh.
const recordCall = `echo "$(date +%s.%N) id=$1 prompt=$2 cwd=$(pwd) PWD=$PWD" >> calls
`

// calls returns the resumes that the bot received.
func (b *box) calls() []string {
	text := b.read("bot/calls") // only once: it may grow
	return strings.Split(text, "\n")[:strings.Count(text, "\n")]
}

func (b *box) callTimes() []float64 {
	var times []float64
	for _, call := range b.calls() {
		var at float64
		_, err := fmt.Sscanf(call, "%f", &at)
		require.NoError(b.t, err)
		times = append(times, at)
	}
	return times
}

// hook is the server of a webhook.
type hook struct {
	*httptest.Server
	mu      sync.Mutex
	notices []notify.Notice
}

func newHook(t *testing.T) *hook {
	h := &hook{}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var n notify.Notice
		if err := json.NewDecoder(r.Body).Decode(&n); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		h.mu.Lock()
		h.notices = append(h.notices, n)
		h.mu.Unlock()
	}))
	t.Cleanup(h.Close)
	return h
}

func (h *hook) got() []notify.Notice {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]notify.Notice(nil), h.notices...)
}
