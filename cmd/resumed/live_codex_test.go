package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

// codexHolderEnv makes the test binary a stand-in for a Codex that holds a session: it has the lock and
// the rollout open, and takes queued messages.
const codexHolderEnv = "RESUMED_TEST_CODEX"

// codexHolder configures the stand-in.
type codexHolder struct {
	Lock    string // empty: a version without a lock
	Rollout string
	Queue   string // the file with queued messages
	Ready   string // created when it holds the session
	Deaf    bool   // it takes no messages
}

func runCodexHolder(settings string) int {
	var h codexHolder
	if err := json.Unmarshal([]byte(settings), &h); err != nil {
		return fail(err)
	}
	if h.Lock != "" {
		lock, err := os.OpenFile(h.Lock, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return fail(err)
		}
		defer lock.Close()
		if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			return fail(err)
		}
	}
	rollout, err := os.OpenFile(h.Rollout, os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fail(err)
	}
	defer rollout.Close()
	if err := os.WriteFile(h.Ready, nil, 0o600); err != nil {
		return fail(err)
	}
	for taken := 0; ; time.Sleep(50 * time.Millisecond) {
		queue, _ := os.ReadFile(h.Queue)
		for n := strings.Count(string(queue), "\n"); taken < n && !h.Deaf; taken++ {
			if _, err := rollout.WriteString(codexTurn(fmt.Sprint("live", taken))); err != nil {
				return fail(err)
			}
		}
	}
}

// codexEvent is a line of a rollout.
func codexEvent(payload string) string {
	return fmt.Sprintf(`{"timestamp":%q,"type":"event_msg","payload":%s}`+"\n", time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), payload)
}

func codexTurn(id string) string {
	return codexEvent(`{"type":"task_started","turn_id":"`+id+`"}`) +
		codexEvent(`{"type":"item_completed","item":{"type":"UserMessage"}}`) +
		codexEvent(`{"type":"task_complete","turn_id":"`+id+`","last_agent_message":"Done."}`)
}

// codexLiveBox is a box in which a limit that is over stopped Codex.
type codexLiveBox struct{ *box }

func newCodexLiveBox(t *testing.T) *codexLiveBox {
	b := &codexLiveBox{newBox(t)}
	b.configure("")
	b.write("bin/codex", codexQueue)
	b.write(codexRollout, strings.SplitAfterN(shiftRollout(t, time.Now(), b.path("bot")), "\n", 2)[0])
	return b
}

// codexQueue replaces the command: it records its arguments, and queues the message.
const codexQueue = `#!/bin/sh
{ pwd; printf '%s\n' "$@"; } >> "$HOME/calls"
echo message >> "$HOME/queue"
`

func (b *codexLiveBox) configure(resumeKeys string) {
	b.write(configFile, "[backoff]\nbase_delay = \"100ms\"\n[resume]\nmargin = \"0s\"\nstagger = \"0s\"\n"+resumeKeys+"\n")
}

// hold runs a stand-in that holds the session.
func (b *codexLiveBox) hold(change func(*codexHolder), args ...string) {
	b.t.Helper()
	h := codexHolder{
		Lock: b.path(".codex/thread-writer-locks", codexSession+".lock"), Rollout: b.path(codexRollout),
		Queue: b.path("queue"), Ready: b.path("holds"),
	}
	require.NoError(b.t, os.MkdirAll(filepath.Dir(h.Lock), 0o700))
	if change != nil {
		change(&h)
	}
	b.standIn("codex", codexHolderEnv, h, b.path("bot"), args...)
	b.until("it holds the session", func() bool { _, err := os.Stat(h.Ready); return err == nil })
}

// standIn runs the test binary under that name, as the stand-in of that
// variable.
func (b *box) standIn(name, variable string, settings any, dir string, args ...string) {
	b.t.Helper()
	self, err := os.Executable()
	require.NoError(b.t, err)
	text, err := json.Marshal(settings)
	require.NoError(b.t, err)
	cmd := exec.Command(self)
	cmd.Args = append([]string{name}, args...)
	cmd.Dir, cmd.Env = dir, append(b.env(), variable+"="+string(text), "PWD="+dir)
	cmd.Stderr = os.Stderr
	require.NoError(b.t, cmd.Start())
	b.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
}

// stop writes what Codex writes when it is stopped.
func (b *codexLiveBox) stop(more ...string) {
	_, rest, _ := strings.Cut(shiftRollout(b.t, time.Now(), b.path("bot")), "\n")
	b.appendTo(codexRollout, rest+strings.Join(more, ""))
}

func (b *codexLiveBox) turns() int { return strings.Count(b.read(codexRollout), `"turn_id":"live`) / 2 }

var codexDaemon = []string{"app-server", "--listen", "unix://", "--analytics-default-enabled", "--managed-daemon"}

// Each situation has one correct action.
func TestACodexSessionThatLives(t *testing.T) {
	t.Parallel()
	holds := func(change func(*codexHolder), args ...string) func(*codexLiveBox) {
		return func(b *codexLiveBox) { b.hold(change, args...) }
	}
	configured := func(keys string) func(*codexLiveBox) {
		return func(b *codexLiveBox) { b.configure(keys); b.hold(nil, codexDaemon...) }
	}
	for name, c := range map[string]struct {
		live    func(*codexLiveBox)
		more    string // in the rollout, after the error that stopped it
		state   resume.State
		why     string
		queued  bool // the message was queued, once
		unknown bool
	}{
		"the server of its terminals is left a message": {live: holds(nil, codexDaemon...), state: resume.Watching, queued: true},
		"so is a terminal that is its own server":       {live: holds(nil, "resume", codexSession), state: resume.Watching, queued: true},
		"a process that works is left": {
			live: holds(nil, codexDaemon...), more: codexEvent(`{"type":"task_started","turn_id":"t2"}`),
			state: resume.Waiting, why: "works on the session",
		},
		"a run without a terminal ends by itself": {live: holds(nil, "exec", "hello"), state: resume.Waiting, why: "runs it without a terminal"},
		"a server of another program is told of": {
			live: holds(nil, "app-server"), state: resume.Parked, why: "serves another program",
		},
		"a version without locks is told of": {
			live:  holds(func(h *codexHolder) { h.Lock = "" }),
			state: resume.Parked, why: "before 0.146",
		},
		"a command that fails is unknown": {
			live: func(b *codexLiveBox) {
				b.hold(nil, codexDaemon...)
				b.write("bin/codex", strings.Replace(codexQueue, "echo message", "echo no such thread >&2; exit 1; echo", 1))
			},
			state: resume.Parked, why: "no such thread", queued: true, unknown: true,
		},
		"a person is told, where that is asked for": {live: configured(`live = "notify"`), state: resume.Parked, why: `resume.live is "notify"`},
		"nobody is told, where that is asked for":   {live: configured(`live = "ignore"`), state: resume.Waiting, why: `resume.live is "ignore"`},
		"a directory that moved away is told of": {
			live: func(b *codexLiveBox) {
				b.hold(nil, codexDaemon...)
				require.NoError(b.t, os.Rename(b.path("bot"), b.path("elsewhere")))
			},
			state: resume.Waiting, why: "is gone",
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newCodexLiveBox(t)
			c.live(b)
			b.start()
			b.stop(c.more)
			if c.why == "" {
				b.until("the command is called", func() bool { return b.read("calls") != "" })
			}
			var s view.Session
			b.until(fmt.Sprintf("it is %s because %q", c.state, c.why), func() bool {
				s = b.session(codexSession)
				return s.State == c.state && strings.Contains(s.Reason, c.why)
			})
			want := ""
			if c.queued {
				want = strings.Join([]string{b.path("bot"), "queue", "--thread", codexSession, "--message", "continue", ""}, "\n")
			}
			require.Equal(t, want, b.read("calls"))
			require.Equal(t, c.state == resume.Waiting, s.NextAt != nil, "looked at again")
			if c.unknown {
				require.Equal(t, resume.Unknown, s.Attempts[0].Outcome)
			} else {
				require.Empty(t, s.Attempts, "what was not sent costs no attempt, and movement forgives")
			}
			if c.state == resume.Watching {
				require.Equal(t, 1, b.turns())
			}
		})
	}
}

// If the daemon dies while it queues a message for Codex, no second message is queued.
func TestACrashWhileQueueing(t *testing.T) {
	t.Parallel()
	const dies = "mkdir \"$HOME/died\" 2>/dev/null && kill -9 $PPID\n"
	for name, c := range map[string]struct {
		script string
		deaf   bool
		state  resume.State
	}{
		"before the message is left": {script: strings.Replace(codexQueue, "echo message", dies+"exit 1\necho message", 1), state: resume.Parked},
		"before it is taken":         {script: codexQueue + dies, deaf: true, state: resume.Parked},
		"after it was taken":         {script: codexQueue + "sleep 1\n" + dies, state: resume.Watching},
	} {
		t.Run(name, func(t *testing.T) {
			b := newCodexLiveBox(t)
			b.write("bin/codex", c.script)
			b.hold(func(h *codexHolder) { h.Deaf = c.deaf }, codexDaemon...)
			b.start()
			b.stop()
			b.untilDead()
			b.kill(syscall.SIGKILL)
			b.start()
			s := b.untilState(codexSession, c.state)
			if c.state == resume.Parked {
				require.Contains(t, s.Reason, "does not tell whether it was sent")
				require.Equal(t, resume.Unknown, s.Attempts[0].Outcome)
				b.kill(syscall.SIGKILL)
				b.start()
				b.untilState(codexSession, resume.Parked)
			}
			require.Equal(t, 1, strings.Count(b.read("calls"), "queue"))
			require.LessOrEqual(t, b.turns(), 1)
		})
	}
}

// A message in Codex's own queue is neither lost nor queued again.
func TestACrashAfterQueueingFindsTheMessage(t *testing.T) {
	b := newCodexLiveBox(t)
	b.configure("settle = \"1h\"")
	b.write("bin/codex", codexQueue+"mkdir \"$HOME/died\" 2>/dev/null && kill -9 $PPID\n")
	b.hold(func(h *codexHolder) { h.Deaf = true }, codexDaemon...)
	b.start()
	b.stop()
	b.untilDead()
	b.kill(syscall.SIGKILL)

	queue, err := sql.Open("sqlite", b.path(".codex/queue_1.sqlite"))
	require.NoError(t, err)
	for _, statement := range []string{
		"CREATE TABLE queued_items (id TEXT, thread_id TEXT NOT NULL, payload_json TEXT)",
		"INSERT INTO queued_items VALUES ('1', '" + codexSession + "', '{}')",
	} {
		_, err = queue.ExecContext(t.Context(), statement)
		require.NoError(t, err)
	}
	require.NoError(t, queue.Close())
	b.start()
	b.untilState(codexSession, resume.Settling)

	b.appendTo(codexRollout, codexTurn("live0")) // now it is taken
	b.untilState(codexSession, resume.Watching)
	require.Equal(t, 1, strings.Count(b.read("calls"), "queue"))
}

func TestDryRunQueuesNothing(t *testing.T) {
	b := newCodexLiveBox(t)
	b.hold(nil, codexDaemon...)
	b.stop()
	b.proc = b.command("run", "--dry-run")
	require.NoError(t, b.proc.Start())
	t.Cleanup(func() { b.kill(syscall.SIGKILL) })
	b.until("it says what it would do", func() bool { return strings.Contains(b.logged(), "queue --thread") })
	require.Zero(t, b.kill(syscall.SIGTERM))
	_, err := os.Stat(b.path("calls"))
	require.ErrorIs(t, err, os.ErrNotExist)
}
