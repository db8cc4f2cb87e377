// Package soak runs the built daemon for as long as one wants and kills it all the
// time, while sessions meet limits and their commands leave a trace, leave none,
// fail or outlive it. Who checks stands outside: each command writes down that it
// ran.
//
//	SOAK=10m go test -v -timeout 0 ./soak          (make soak)
//	SOAK=10m SOAK_SEED=42 go test -v ./soak        the same dice again
//	SOAK=1m SOAK_BINARY=/usr/bin/resumed go test …  another build
//	SOAK=1m SOAK_SESSIONS=5000 go test …            more sessions than 24
//	SOAK=1m SOAK_FAULTS=calls,disk go test …        system calls that fail (strace), a disk of half a megabyte (root)
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
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const maxRetries = 3

const settings = `
[log]
level = "warn"
[resume]
settle = "300ms"
stagger = "0s"
margin = "0s"
max_concurrent = 8
max_windows = 1000000
[backoff]
base_delay = "50ms"
max_delay = "100ms"
max_retries = 3
[notify]
events = []
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

// command is what continues a session. What it does is decided by its mark, so
// that one who is sent twice does the same twice. It writes down for which
// interruption it runs, by the number of limits in the transcript.
const command = `#!/bin/sh
k=$(grep -c 'rate limited' "logs/$1.log")
echo "start $RESUMED_MARK $1 $k" >> calls
case $RESUMED_MARK in
[0-4]*) sleep 0.05; echo "step $RESUMED_MARK" >> "logs/$1.log" ;;
[5-8]*) ;; # it ends well and leaves no trace
[9ab]*) sleep 0.1; code=3 ;;
*) sleep 0.8; echo "step $RESUMED_MARK" >> "logs/$1.log" ;; # it likely outlives a daemon
esac
echo "end $RESUMED_MARK $1 $k" >> calls
exit ${code:-0}
`

// world is a home in which one daemon after the other lives.
type world struct {
	t      *testing.T
	dice   *rand.Rand
	home   string
	binary string
	daemon *exec.Cmd
	kills  map[syscall.Signal]int
	limits int

	sessions int
	faults   faults
	failing  bool // things fail in the life of this daemon: it may end with an error
}

func newWorld(t *testing.T, seed uint64) *world {
	home := t.TempDir()
	w := &world{t: t, dice: rand.New(rand.NewPCG(seed, 1)), home: home, kills: make(map[syscall.Signal]int)}
	for _, dir := range []string{".config/resumed", "logs", "run"} {
		require.NoError(t, os.MkdirAll(filepath.Join(home, dir), 0o700))
	}
	w.write(".config/resumed/resumed.toml", fmt.Sprintf(settings, home), 0o600)
	w.write("continue", command, 0o700)
	w.write("calls", "", 0o600)
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
	out, err := exec.Command("go", "build", "-o", w.binary, "resumed/cmd/resumed").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return w
}

func (w *world) write(name, text string, mode os.FileMode) {
	require.NoError(w.t, os.WriteFile(filepath.Join(w.home, name), []byte(text), mode))
}

func (w *world) command(args ...string) *exec.Cmd {
	cmd := exec.Command(w.binary, args...)
	cmd.Env = []string{"HOME=" + w.home, "PATH=" + os.Getenv("PATH"), "XDG_RUNTIME_DIR=" + filepath.Join(w.home, "run")}
	cmd.Stderr = new(bytes.Buffer)
	return cmd
}

// live runs a daemon for a while and ends it.
func (w *world) live() {
	w.daemon = w.faulty(w.command("run"))
	require.NoError(w.t, w.daemon.Start())
	life := time.Duration(20+w.dice.IntN(400)) * time.Millisecond
	for begun := time.Now(); time.Since(begun) < life; time.Sleep(time.Duration(5+w.dice.IntN(30)) * time.Millisecond) {
		w.happen()
	}
	signal := syscall.SIGKILL
	if w.dice.IntN(3) == 0 {
		signal = syscall.SIGTERM
	}
	w.end(signal)
}

func (w *world) end(signal syscall.Signal) {
	w.kills[signal]++
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

// happen lets one session meet a limit, after a person has gone on in it where it
// stands still.
func (w *world) happen() {
	if w.dice.IntN(3) > 0 {
		return
	}
	name := fmt.Sprintf("logs/s-%d.log", w.dice.IntN(w.sessions))
	file, err := os.OpenFile(filepath.Join(w.home, name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	require.NoError(w.t, err)
	defer file.Close()
	w.limits++
	_, err = fmt.Fprintf(file, "step by a person\nrate limited, retry in 0s (%d)\n", w.limits)
	require.NoError(w.t, err)
}

// settle lets a last daemon do what is left to do, until nothing moves any more.
func (w *world) settle() {
	w.mend()
	w.daemon = w.command("run")
	require.NoError(w.t, w.daemon.Start())
	var left []string
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if left = w.unsettled(); len(left) == 0 {
			w.end(syscall.SIGTERM)
			return
		}
	}
	w.t.Fatalf("sessions are not taken care of: %v", left)
}

// unsettled returns the sessions that neither work nor were given up.
func (w *world) unsettled() []string {
	out, err := w.command("status", "--json").Output()
	if err != nil {
		return []string{"no answer yet"}
	}
	var status struct {
		Sessions []struct{ ID, State, Reason string }
	}
	require.NoError(w.t, json.Unmarshal(out, &status))
	var left []string
	for _, s := range status.Sessions {
		if s.State != "watching" && s.State != "gave_up" {
			left = append(left, fmt.Sprintf("%s is %s (%s)", s.ID, s.State, s.Reason))
		}
	}
	return left
}

// check reads what the commands wrote down.
func (w *world) check() (commands int) {
	calls, err := os.ReadFile(filepath.Join(w.home, "calls"))
	require.NoError(w.t, err)
	begun, running, tries := make(map[string]int), make(map[string]string), make(map[string]int)
	for line := range strings.Lines(string(calls)) {
		fields := strings.Fields(line)
		require.Len(w.t, fields, 4, line)
		what, mark, session, interruption := fields[0], fields[1], fields[2], fields[2]+" "+fields[3]
		switch what {
		case "start":
			commands++
			begun[mark]++
			require.Equal(w.t, 1, begun[mark], "a resume was sent twice: %s", line)
			require.Empty(w.t, running[session], "a second command while the first one runs: %s", line)
			running[session] = mark
			tries[interruption]++
			require.LessOrEqual(w.t, tries[interruption], maxRetries, "more tries than max_retries: %s", line)
		case "end":
			require.Equal(w.t, mark, running[session], line)
			delete(running, session)
		}
	}
	require.Empty(w.t, running, "commands that never ended")
	return commands
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
	commands := w.check()
	t.Logf("%d daemons (%d killed, %d stopped), %d limits, %d commands: none doubled, none overlapping, none over max_retries",
		w.kills[syscall.SIGKILL]+w.kills[syscall.SIGTERM], w.kills[syscall.SIGKILL], w.kills[syscall.SIGTERM], w.limits, commands)
	require.Positive(t, commands)
}
