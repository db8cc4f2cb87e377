// Package soak runs the built daemon for as long as one wants and kills it all the
// time, while sessions meet limits and their commands leave a trace, leave none,
// fail or outlive it, and tasks are queued. Who checks stands outside: each command writes down that it
// ran.
//
//	SOAK=10m go test -v -timeout 0 ./soak          (make soak)
//	SOAK=10m SOAK_SEED=42 go test -v ./soak        the same dice again
//	SOAK=1m SOAK_BINARY=/usr/bin/resumed go test …  another build
//	SOAK=1m SOAK_SESSIONS=5000 go test …            more sessions than 24
//	SOAK=1m SOAK_FAULTS=calls,disk,clock go test …  system calls that fail (strace), a disk of half a megabyte (root),
//	                                               a clock that is set back and forth (a build of its own)
package soak

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const settings = `
[log]
level = "warn"
[resume]
settle = "300ms"
stagger = "0s"
lookback = "876000h"
overdue = "0s"
margin = "0s"
max_concurrent = 8
max_windows = 1000000
[backoff]
base_delay = "50ms"
max_delay = "100ms"
max_retries = 3
[notify]
events = ["gave_up"]
group_wait = "0s"
[[notify.command]]
name = "phone"
run = ["%[1]s/phone"]
[[agent]]
name = "mybot"
kind = "custom"
files = ["%[1]s/logs/*.log"]
session = '([^/]+)\.log$'
cwd = "%[1]s"
limit = ['rate limited, retry in (?P<after>\S+)']
progress = ['^step ']
resume = ["%[1]s/continue", "{session}"]
`

// world is a home in which one daemon after the other lives.
type world struct {
	t        *testing.T
	dice     *rand.Rand
	calls    *calls
	home     string
	binary   string
	daemon   *exec.Cmd
	kills    map[syscall.Signal]int
	killedAt []time.Time
	limits   int
	steps    int             // of the clock
	queued   map[string]bool // tasks; false: it is not known whether they were added

	sessions int
	faults   faults
	failing  bool // things fail in the life of this daemon: it may end with an error
}

func newWorld(t *testing.T, seed uint64) *world {
	home, err := os.MkdirTemp("", "soak-") // kept where something is found
	require.NoError(t, err)
	t.Cleanup(func() {
		if !t.Failed() {
			require.NoError(t, os.RemoveAll(home))
			return
		}
		t.Logf("what there was at the end: %s", home)
	})
	w := &world{t: t, dice: rand.New(rand.NewPCG(seed, 1)), home: home, kills: make(map[syscall.Signal]int), queued: make(map[string]bool)}
	for _, dir := range []string{".config/resumed", "logs", "run", "build", "rung", "tasks"} {
		require.NoError(t, os.MkdirAll(filepath.Join(home, dir), 0o700))
	}
	w.write(".config/resumed/resumed.toml", fmt.Sprintf(settings+taskbot, home), 0o600)
	w.write("continue", command, 0o700)
	w.write("phone", phone, 0o700)
	w.write("begin", begin, 0o700)
	w.write("calls", "", 0o600)
	w.write("begun", "", 0o600)
	w.calls = newCalls(t, filepath.Join(home, "calls"))
	w.sessions = 24
	if given := os.Getenv("SOAK_SESSIONS"); given != "" {
		var err error
		w.sessions, err = strconv.Atoi(given)
		require.NoError(t, err)
	}
	w.strew()
	w.faults = w.wanted(os.Getenv("SOAK_FAULTS"))
	if w.binary = os.Getenv("SOAK_BINARY"); w.binary != "" {
		return w
	}
	w.binary = filepath.Join(home, "resumed")
	build := []string{"build", "-ldflags=-s -w", "-o", w.binary}
	if w.faults.clock {
		build = append(build, w.overlay())
		w.set(0)
	}
	out, err := exec.Command("go", append(build, "resumed/cmd/resumed")...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return w
}

func (w *world) write(name, text string, mode os.FileMode) {
	require.NoError(w.t, os.WriteFile(filepath.Join(w.home, name), []byte(text), mode))
}

func (w *world) command(args ...string) *exec.Cmd {
	cmd := exec.Command(w.binary, args...)
	cmd.Env = w.environ()
	cmd.Stderr = new(bytes.Buffer)
	return cmd
}

func (w *world) environ() []string {
	return []string{"HOME=" + w.home, "PATH=" + os.Getenv("PATH"), "XDG_RUNTIME_DIR=" + filepath.Join(w.home, "run"), clockEnv + "=" + filepath.Join(w.home, "clock")}
}

// live runs a daemon for a while and ends it.
func (w *world) live() {
	w.daemon = w.faulty(w.command("run"))
	require.NoError(w.t, w.daemon.Start())
	life := time.Duration(20+w.dice.IntN(400)) * time.Millisecond
	if w.dice.IntN(3) > 0 {
		w.untilCommand()
	}
	for begun := time.Now(); time.Since(begun) < life; time.Sleep(time.Duration(5+w.dice.IntN(30)) * time.Millisecond) {
		w.happen()
		w.step()
	}
	signal := syscall.SIGKILL
	if w.dice.IntN(3) == 0 {
		signal = syscall.SIGTERM
	}
	w.end(signal)
}

// untilCommand lets the daemon come to begin a command, which a busy machine's would
// hardly ever do before it is killed: the command is to outlive it.
func (w *world) untilCommand() {
	before := w.calls.read()
	for begun := time.Now(); w.calls.read() == before && time.Since(begun) < 5*time.Second; time.Sleep(5 * time.Millisecond) {
		w.happen()
	}
}

func (w *world) end(signal syscall.Signal) {
	w.kills[signal]++
	if signal == syscall.SIGKILL {
		w.killedAt = append(w.killedAt, time.Now())
	}
	_ = w.daemon.Process.Signal(signal)
	begun := time.Now()
	err := w.daemon.Wait()
	if signal == syscall.SIGTERM {
		require.Less(w.t, time.Since(begun), 10*time.Second, "it stops when it is told to")
	}
	said := w.daemon.Stderr.(*bytes.Buffer).String()
	require.NotContains(w.t, said, "panic:")
	if status, ok := w.daemon.ProcessState.Sys().(syscall.WaitStatus); ok && !status.Signaled() && signal == syscall.SIGTERM && !w.failing {
		require.NoError(w.t, err, said)
	}
}

// happen lets one session meet a limit, after a person has gone on in it: mostly
// where it stands still, and now and then in the midst of things.
func (w *world) happen() {
	if w.dice.IntN(12) > 0 {
		return
	}
	if w.dice.IntN(8) == 0 {
		w.enqueue()
		return
	}
	session := fmt.Sprint("s-", w.dice.IntN(w.sessions))
	rests := w.calls.rests(session)
	if !rests && w.dice.IntN(4) > 0 {
		return
	}
	w.limits++
	w.calls.limited(session, rests)
	// The daemon may see the writer as the session's own process: its environment is the daemon's.
	write := exec.Command("sh", "-c", `printf 'step by a person\nrate limited, retry in 0s (%d)\n' "$1" >>"$2"`, "sh",
		strconv.Itoa(w.limits), filepath.Join(w.home, "logs", session+".log"))
	write.Env = w.environ()
	require.NoError(w.t, write.Run())
}

// settle lets a last daemon do what is left to do, until nothing moves any more.
func (w *world) settle() {
	w.mend()
	w.daemon = w.command("run")
	require.NoError(w.t, w.daemon.Start())
	var left []string
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if left = w.unsettled(); len(left) == 0 {
			_, tasks := w.started()
			left = append(w.listen().untold, tasks...) // a notice is written a moment after its session gave up
		}
		if len(left) == 0 {
			w.end(syscall.SIGTERM)
			return
		}
	}
	w.t.Fatalf("sessions are not taken care of: %v\n%s", left, w.daemon.Stderr)
}

// unsettled returns the sessions that neither work nor were given up.
func (w *world) unsettled() []string {
	status := w.command("status", "--json")
	out, err := status.Output()
	if err != nil {
		return []string{fmt.Sprintf("no answer yet: %v %s", err, status.Stderr)}
	}
	var known struct {
		Sessions []struct{ ID, State, Reason string }
		Daemon   struct{ Notices struct{ Pending int } }
	}
	require.NoError(w.t, json.Unmarshal(out, &known))
	var left []string
	for _, s := range known.Sessions {
		if s.State != "watching" && s.State != "gave_up" {
			left = append(left, fmt.Sprintf("%s is %s (%s)", s.ID, s.State, s.Reason))
		}
	}
	if n := known.Daemon.Notices.Pending; n > 0 {
		left = append(left, fmt.Sprintf("%d notices", n))
	}
	return left
}

func TestADaemonThatDiesAllTheTimeBreaksNoPromise(t *testing.T) {
	duration, err := time.ParseDuration(os.Getenv("SOAK"))
	if err != nil {
		t.Skip("NOT SOAKED: say for how long, as in SOAK=10m (make soak)")
	}
	seed := uint64(time.Now().UnixNano())
	if given := os.Getenv("SOAK_SEED"); given != "" {
		seed, err = strconv.ParseUint(given, 10, 64)
		require.NoError(t, err)
	}
	t.Logf("seed %d: SOAK_SEED=%d throws the same dice", seed, seed)
	w := newWorld(t, seed)
	for begun := time.Now(); time.Since(begun) < duration; {
		w.live()
	}
	w.settle()
	commands := w.calls.read()
	require.Empty(t, w.calls.running, "commands that never ended")
	t.Logf("%d daemons (%d killed, %d stopped), %d limits, %d steps of the clock, %d commands: none doubled, none overlapping, none over max_retries",
		w.kills[syscall.SIGKILL]+w.kills[syscall.SIGTERM], w.kills[syscall.SIGKILL], w.kills[syscall.SIGTERM], w.limits, w.steps, commands)
	begun, _ := w.started()
	t.Logf("%d tasks were queued, %d of them begun: none lost, none twice", len(w.queued), len(begun))
	heard := w.listen()
	t.Logf("%d notices: none lost, none under two names, %d came again under the same id after a kill", heard.notices, heard.again)
	require.Positive(t, commands)
	require.NotEmpty(t, begun)
}
