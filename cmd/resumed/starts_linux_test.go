package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
	"resumed/internal/terminal/terminaltest"
)

// inMemory gives the box a runtime directory in memory, as a login has.
func (b *leashBox) inMemory() { b.runtimeIn("/dev/shm") }

// develops holds a session that works on a development database, with its own limits.
func (b *leashBox) develops(changedEnv string) {
	b.t.Helper()
	require.NoError(b.t, os.MkdirAll(b.path("bot/sub"), 0o755))
	b.vars = []string{"DATABASE_URL=postgres://prod", "KUBECONFIG=/of/the/daemon", "RESUMED_RESUME_CHANGED_ENV=" + changedEnv}
	b.start()
	script := "cd sub && umask 077 && ulimit -S -n 512 && ulimit -H -n 768 && exec nice -n 7 " + b.claude + ` "$@"`
	b.register(b.hold([]string{"DATABASE_URL=postgres://dev", "MY_DIRENV=on", "TMUX_PANE=%7", "EDITOR=vi"}, "sh", "-c", script, "sh", "--max-turns", "3"))
	b.prompted()
	b.untilSeen("--max-turns")
}

func TestAResumeHasTheWorldOfItsSession(t *testing.T) {
	t.Parallel()
	raw, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0)
	require.NoError(t, err)
	nice := 20 - raw // of this test
	for _, restarts := range []bool{false, true} {
		t.Run(fmt.Sprint("the daemon restarts: ", restarts), func(t *testing.T) {
			b := newLeashBox(t)
			b.inMemory()
			b.develops("auto")
			b.release()
			if restarts {
				b.restart()
			}
			b.stopped()
			b.ran()
			require.Equal(t, "DATABASE_URL=postgres://dev", b.ranWith("DATABASE_URL"))
			require.Equal(t, "MY_DIRENV=on", b.ranWith("MY_DIRENV"))
			require.Equal(t, "EDITOR=vi", b.ranWith("EDITOR"))
			require.Empty(t, b.ranWith("KUBECONFIG"), "the session had none")
			require.Empty(t, b.ranWith("TMUX_PANE"), "it belongs to the terminal")
			require.Equal(t, fmt.Sprintf("0077 512 768 %d %s\n", nice+7, b.path("bot/sub")), b.read("ran.limits"))
			require.Empty(t, b.anySession().Carried.LeftOut)
			require.NotContains(t, b.read(".local/state/resumed/state.db"), "postgres://dev", "no disk has a value")
		})
	}
}

// After a reboot nobody has the values.
func TestAResumeOnAnotherTargetWaitsForItsUsersWord(t *testing.T) {
	b := newLeashBox(t)
	b.runtimeOnDisk()
	b.develops("auto")
	b.release()
	b.restart()
	b.stopped()
	parked := b.untilState(claudeSession, resume.Parked)
	require.Contains(t, parked.Reason, "DATABASE_URL: the values that the session had are lost since a restart, and yours differ; `resumed retry ")
	require.NotContains(t, parked.Reason+b.logged(), "postgres://")
	out, errOut, code := b.run("status", claudeSession)
	require.Zero(t, code, errOut)
	require.Contains(t, out, "MY_DIRENV")
	require.Empty(t, b.read("ran"))

	b.ranAtLast()
	require.Equal(t, "DATABASE_URL=postgres://prod", b.ranWith("DATABASE_URL"))
	require.Empty(t, b.ranWith("KUBECONFIG"), "the session had none")
	require.Contains(t, strings.Join(b.anySession().Carried.LeftOut, "; "), "variables DATABASE_URL, EDITOR, MY_DIRENV")
}

func TestAChangedVariableIsToldIfThatIsWanted(t *testing.T) {
	b := newLeashBox(t)
	b.runtimeOnDisk()
	b.develops("tell")
	b.release()
	b.restart()
	b.stopped()
	b.ran()
	require.Contains(t, strings.Join(b.anySession().Carried.LeftOut, "; "), "variables DATABASE_URL, EDITOR, MY_DIRENV")
}

func TestAFlagsFileThatChangedIsNoticed(t *testing.T) {
	t.Parallel()
	for mode, asks := range map[string]bool{"default": true, "bypassPermissions": false} {
		t.Run(mode, func(t *testing.T) {
			b := newLeashBox(t)
			b.write("own.json", `{"permissions":{"deny":["Bash"]}}`)
			b.start()
			b.steer("pause")
			b.register(b.hold([]string{"IS_SANDBOX=1"}, "claude", "--permission-mode", mode, "--settings", b.path("own.json")))
			b.appendTo(claudeTranscript, strings.Replace(promptLine(claudeSession, b.path("bot"), "work"), "{", `{"permissionMode":"`+mode+`",`, 1))
			b.untilSeen("--settings")
			b.release()
			b.write("own.json", `{}`)
			b.stopped()
			b.steer("unpause")
			if asks {
				b.ran()
				require.Contains(t, b.anySession().Carried.LeftOut, b.path("own.json")+": changed since the session was started")
				return
			}
			parked := b.untilState(claudeSession, resume.Parked)
			require.Contains(t, parked.Reason, b.path("own.json")+" changed since the session was started; `resumed retry ")
			b.ranAtLast()
		})
	}
}

// Hooks run while no daemon does.
func TestAHookRecordsAStartThatNoDaemonSaw(t *testing.T) {
	b := newLeashBox(t)
	b.inMemory()
	b.vars = []string{"RESUMED_RESUME_UNSEEN=park"}
	b.install("node20/bin/claude", strings.Replace(fmt.Sprintf(heldClaude, claudeSession, claudeTranscript), "while [",
		"while [ ! -e \"$HOME/limit\" ]; do sleep 0.05; done\necho '{\"session_id\":\""+claudeSession+"\",\"hook_event_name\":\"StopFailure\"}' | "+program+" hook claude-code\ntouch \"$HOME/hooked\"\nwhile [", 1))
	b.hold([]string{"DATABASE_URL=postgres://dev"}, "claude", "--disallowedTools", "Bash")
	b.prompted()
	b.write("limit", "")
	b.until("the hook ran", func() bool { return b.exists("hooked") })
	b.release()
	b.stopped()
	b.start()
	require.Contains(t, b.ran(), "--disallowedTools")
	require.Equal(t, "DATABASE_URL=postgres://dev", b.ranWith("DATABASE_URL"))
	require.True(t, b.anySession().Started.Seen)
}

// So does a resumed shell.
func TestAShellRecordsAStart(t *testing.T) {
	b := newLeashBox(t)
	b.inMemory()
	b.vars = []string{"RESUMED_RESUME_UNSEEN=park"}
	b.install("node20/bin/claude", strings.Replace(fmt.Sprintf(heldClaude, claudeSession, claudeTranscript), "sleep 0.05", "echo .; sleep 0.05", 1))
	cmd := exec.Command(program, "shell", b.claude, "--disallowedTools", "Bash")
	cmd.Dir, cmd.Env = b.path("bot"), append(b.env(), "PATH="+b.path("node20/bin")+":"+os.Getenv("PATH"), "DATABASE_URL=postgres://dev")
	person := terminaltest.Open(t, cmd)
	go func() { _, _ = io.Copy(io.Discard, person) }()
	b.until("the agent runs", func() bool { return b.running() != 0 })
	b.prompted()
	prompted := time.Now()
	b.register(b.running())
	record := b.path("runtime/resumed/starts/claude-code@" + claudeSession + ".json")
	b.until("its start is recorded", func() bool {
		info, err := os.Stat(record)
		return err == nil && info.ModTime().After(prompted)
	})
	b.write("over", "")
	require.NoError(t, cmd.Wait())
	require.NoError(t, os.Remove(b.path("over")))
	b.stopped()
	b.start()
	require.Contains(t, b.ran(), "--disallowedTools")
	require.Equal(t, "DATABASE_URL=postgres://dev", b.ranWith("DATABASE_URL"))
	require.Empty(t, b.ranWith("RESUMED_SHELL"), "it belongs to the terminal")
	require.True(t, b.anySession().Started.Seen)
}

func (b *box) exists(name string) bool {
	_, err := os.Stat(b.path(name))
	return err == nil
}

// Restrictions that no name in a command line shows.
func TestASessionThatIsHeldTighterIsNotContinuedOutside(t *testing.T) {
	t.Parallel()
	for want, wrapper := range map[string][]string{
		"no_new_privs":              {"setpriv", "--no-new-privs", "--"},
		"fewer capabilities":        {"setpriv", "--bounding-set", "-sys_admin", "--"},
		"users, network of its own": {"unshare", "--user", "--map-root-user", "--net", "--", "sh", "-c", `exec "$@"`, "sh"},
	} {
		t.Run(want, func(t *testing.T) {
			if out, err := exec.Command(wrapper[0], append(wrapper[1:], "true")...).CombinedOutput(); err != nil {
				t.Skipf("SKIPPED: THIS SANDBOX IS NOT TESTED HERE: %v: %s", err, out)
			}
			b := newLeashBox(t)
			b.start()
			b.register(b.hold(nil, append(wrapper, b.claude, "--max-turns", "3")...))
			b.prompted()
			b.untilSeen("--max-turns")
			require.Contains(t, *b.anySession().Started.Sandbox, want)
			b.release()
			b.stopped()
			require.Contains(t, b.untilState(claudeSession, resume.Parked).Reason, "it ran in a sandbox")
			require.Empty(t, b.read("ran"))
		})
	}
}
