// Package soak runs the built daemon for as long as one wants and kills it all the
// time, while sessions meet limits and their commands leave a trace, leave none,
// fail or outlive it, tasks are queued, prompts are typed into open terminals, and a second machine shares
// an account and gets orders of a person. Who checks stands outside: each command writes down that it ran.
//
//	SOAK=10m go test -v -timeout 0 ./soak          (make soak)
//	SOAK=10m SOAK_SEED=42 go test -v ./soak        the same dice again
//	SOAK=1m SOAK_BINARY=/usr/bin/resumed go test …  another build
//	SOAK=1m SOAK_SESSIONS=5000 go test …            more sessions than 24
//	SOAK=1m SOAK_WORLDS=4 go test …                 four of them at a time, which mostly wait; every second one without faults
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
	"slices"
	"strconv"
	"strings"
	"sync"
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
unseen = "same_mode"
changed_env = "tell"
[backoff]
base_delay = "50ms"
max_delay = "100ms"
max_retries = 3
[[backoff.policy]]
name = "like-limits"
classes = ["overloaded"]
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
	clockOff bool

	open   []*openSession // in terminals
	sent   prompts        // to them
	team   *calls         // of sessions whose account the machines share
	second *machine
}

func newWorld(t *testing.T, binary, faults string, seed uint64) *world {
	home, err := os.MkdirTemp("", "soak-") // kept where something is found
	require.NoError(t, err)
	t.Cleanup(func() {
		if !t.Failed() {
			require.NoError(t, os.RemoveAll(home))
			return
		}
		t.Logf("what there was at the end: %s", home)
	})
	w := &world{t: t, dice: rand.New(rand.NewPCG(seed, 1)), home: home, binary: binary, kills: make(map[syscall.Signal]int), queued: make(map[string]bool)}
	w.furnish(taskbot + typist + teambot)
	w.write("begin", begin, 0o700)
	require.NoError(t, os.Mkdir(filepath.Join(home, "tasks"), 0o700))
	w.sessions = 24
	if given := os.Getenv("SOAK_SESSIONS"); given != "" {
		var err error
		w.sessions, err = strconv.Atoi(given)
		require.NoError(t, err)
	}
	w.strew()
	w.faults = w.wanted(faults)
	w.set(0)
	return w
}

// programs builds the daemon and the hub, in a directory of their own.
func programs(t *testing.T) (binary string) {
	dir := t.TempDir()
	build := func(args ...string) {
		out, err := exec.Command("go", append([]string{"build", "-ldflags=-s -w", "-o", dir}, args...)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	build("resumed/cmd/resumed-hub")
	binary = filepath.Join(dir, "resumed")
	switch given := os.Getenv("SOAK_BINARY"); {
	case given != "":
		require.NoError(t, os.Symlink(given, binary))
	case strings.Contains(os.Getenv("SOAK_FAULTS"), "clock"):
		build(overlay(t, dir), "resumed/cmd/resumed")
	default:
		build("resumed/cmd/resumed")
	}
	return binary
}

// furnish makes what every machine has.
func (w *world) furnish(agents string) {
	for _, dir := range []string{".config/resumed", "logs", "run", "rung", "team/logs"} {
		require.NoError(w.t, os.MkdirAll(filepath.Join(w.home, dir), 0o700))
	}
	w.write(".config/resumed/resumed.toml", fmt.Sprintf(settings+agents, w.home), 0o600)
	w.write("continue", command, 0o700)
	w.write("phone", phone, 0o700)
	w.write("calls", "", 0o600)
	w.write("begun", "", 0o600)
	w.write("team/calls", "", 0o600)
	w.calls = newCalls(w.t, filepath.Join(w.home, "calls"))
	w.team = newCalls(w.t, filepath.Join(w.home, "team/calls"))
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
	if w.dice.IntN(3) == 0 {
		w.lookAfter(5 * time.Second)
	}
	w.daemon = w.faulty(w.command("run"))
	require.NoError(w.t, w.daemon.Start())
	life := time.Duration(20+w.dice.IntN(400)) * time.Millisecond
	switch w.dice.IntN(6) {
	case 0, 1:
	case 2:
		w.untilKeys()
		life /= 8
	default:
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
		require.Less(w.t, time.Since(begun), 20*time.Second, "it stops when it is told to, before systemd would kill it (TimeoutStopSec)")
	}
	said := w.daemon.Stderr.(*bytes.Buffer).String()
	require.NotContains(w.t, said, "panic:")
	if status, ok := w.daemon.ProcessState.Sys().(syscall.WaitStatus); ok && !status.Signaled() && signal == syscall.SIGTERM && !w.failing {
		require.NoError(w.t, err, "%s\n%s", said, w.lockHolders())
	}
}

// lockHolders names the processes that have the lock of the state open: a daemon says that another one has it.
func (w *world) lockHolders() string {
	out, _ := exec.Command("sh", "-c", `for fd in $(find /proc/[0-9]*/fd -lname "$1" 2>/dev/null); do pid=${fd#/proc/}; ps -o pid,ppid,stat,wchan:20,etimes,args -p "${pid%%/*}"; done`,
		"sh", filepath.Join(w.home, ".local/state/resumed/resumed.lock")).Output()
	return string(out)
}

// happen lets one session meet a limit, after a person has gone on in it: mostly
// where it stands still, and now and then in the midst of things.
func (w *world) happen() {
	w.second.turn()
	if w.dice.IntN(12) > 0 {
		return
	}
	switch w.dice.IntN(12) {
	case 0:
		w.enqueue()
	case 1:
		w.interrupt()
	case 2:
		w.meet(w.team, "team/logs", fmt.Sprint("t-", w.dice.IntN(6)), "retry in 0s")
	case 3:
		w.second.meet(w.second.team, "team/logs", fmt.Sprint("t-", w.dice.IntN(6)), "retry in 0s")
	default:
		w.meet(w.calls, "logs", fmt.Sprint("s-", w.dice.IntN(w.sessions)), "retry in 0s")
	}
}

// meet lets a session meet a limit, if it stands still or now and then.
func (w *world) meet(calls *calls, dir, session, says string) {
	rests := calls.rests(session)
	if !rests && w.dice.IntN(4) > 0 {
		return
	}
	w.limits++
	calls.limited(session, rests)
	w.appendTo(filepath.Join(dir, session+".log"), fmt.Sprintf("step by a person\nrate limited, %s (%d)\n", says, w.limits))
}

// appendTo writes by another process: the daemon may see it as the session's own, and its environment is the daemon's.
func (w *world) appendTo(name, text string) {
	write := exec.Command("sh", "-c", `cat >>"$1"`, "sh", filepath.Join(w.home, name))
	write.Env, write.Stdin = w.environ(), strings.NewReader(text)
	require.NoError(w.t, write.Run())
}

// settle lets a last daemon do what is left to do, until nothing moves any more.
func (w *world) settle(also func() []string) {
	w.mend()
	w.lookAfter(0)
	w.daemon = w.command("run")
	require.NoError(w.t, w.daemon.Start())
	var left []string
	for deadline := time.Now().Add(4 * time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if left = w.unsettled(); len(left) == 0 {
			_, tasks := w.started()
			left = slices.Concat(w.listen().untold, tasks, also()) // a notice is written a moment after its session gave up
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
		Sessions []struct{ ID, Agent, State, Reason string }
		Daemon   struct{ Notices struct{ Pending int } }
	}
	require.NoError(w.t, json.Unmarshal(out, &known))
	var left []string
	for _, s := range known.Sessions {
		waits := s.Agent == "claude-code" && (s.State == "waiting" || s.State == "parked") // for a person, who is looked at from outside
		if s.State != "watching" && s.State != "gave_up" && !waits {
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
	worlds := 1
	if given := os.Getenv("SOAK_WORLDS"); given != "" {
		worlds, err = strconv.Atoi(given)
		require.NoError(t, err)
	}
	t.Logf("seed %d: SOAK_SEED=%d throws the same dice", seed, seed)
	binary, faults := programs(t), []string{os.Getenv("SOAK_FAULTS"), ""}
	var mu sync.Mutex
	all := make(figures)
	t.Run("worlds", func(t *testing.T) {
		for i := range worlds {
			t.Run(strconv.Itoa(i+1), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, binary, faults[i%2], seed+uint64(i))
				w.openTerminals(3)
				w.joinFleet()
				for begun := time.Now(); time.Since(begun) < duration; {
					w.live()
				}
				found := w.conclude()
				t.Log(found)
				mu.Lock()
				defer mu.Unlock()
				for name, n := range found {
					all[name] += n
				}
			})
		}
	})
	if t.Failed() {
		return
	}
	t.Logf("%d daemons (%d killed, %d stopped), %d limits, %d steps of the clock, %d commands: none doubled, none overlapping, none over max_retries",
		all["killed"]+all["stopped"], all["killed"], all["stopped"], all["limits"], all["steps"], all["commands"])
	t.Logf("%d tasks were queued, %d of them begun: none lost, none twice", all["tasks"], all["begun"])
	t.Logf("%d prompts were typed: none lost, none twice for a limit, none mixed with another text", all["typed"])
	t.Logf("%d commands of two machines with one account; a limit of one held back the other", all["shared"])
	t.Logf("%d runs by order before their limit was over: none twice, none without an order, no order lost", all["ordered"])
	t.Logf("%d notices: none lost, none under two names, %d came again under the same id after a kill", all["notices"], all["again"])
}

// figures are counts of what happened, by name.
type figures map[string]int

// conclude lets both machines do what is left to do, checks all of it, and returns what there was.
func (w *world) conclude() figures {
	w.second.stop(syscall.SIGTERM)
	w.until("the last order is answered", func() bool { w.second.retry(); return w.second.order == nil })
	w.interrupt()
	w.settle(w.untyped)
	w.second.lives = true
	w.second.settle(w.second.lost)
	w.holdTogether()
	begun, _ := w.started()
	f := figures{
		"killed": w.kills[syscall.SIGKILL], "stopped": w.kills[syscall.SIGTERM], "limits": w.limits + w.second.world.limits, "steps": w.steps,
		"commands": w.calls.read(), "shared": w.team.read() + w.second.team.read(), "tasks": len(w.queued), "begun": len(begun), "ordered": w.second.runs(),
	}
	for _, c := range []*calls{w.calls, w.team, w.second.team} {
		require.Empty(w.t, c.running, "commands that never ended")
	}
	for _, heard := range []heard{w.listen(), w.second.listen()} {
		f["notices"] += heard.notices
		f["again"] += heard.again
	}
	if len(w.open) > 0 {
		f["typed"] = len(w.sent.read(w.t))
		require.Positive(w.t, f["typed"])
	}
	for _, name := range []string{"commands", "begun", "shared", "ordered"} {
		require.Positive(w.t, f[name], name)
	}
	return f
}
