package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/doctor"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

// heldClaude stands in for Claude Code, as a script that node runs: with -p it records its arguments
// and answers, else it runs until it is told to end.
const heldClaude = `#!/usr/bin/env node
case " $* " in
*" --version "*) echo 2.1.325; exit;;
*" -p "*)
	[ ! -e "$HOME/fails" ] || exit 1
	for arg; do printf '%%s\n' "$arg"; done > "$HOME/ran.args"
	env > "$HOME/ran.env"
	readlink /proc/self/ns/mnt > "$HOME/ran.mounts"
	echo "$(umask) $(ulimit -S -n) $(ulimit -H -n) $(nice) $(pwd)" > "$HOME/ran.limits"
	echo "$0" >> "$HOME/ran"
	now=$(date -u +%%Y-%%m-%%dT%%H:%%M:%%S.000Z)
	printf '{"type":"assistant","sessionId":"%[1]s","timestamp":"%%s","message":{"model":"m","content":[{"type":"text","text":"Done."}]}}\n' "$now" >> "$HOME/%[2]s"
	exit;;
esac
while [ ! -e "$HOME/over" ]; do sleep 0.05; done
`

// leashBox is a box with a Claude Code that a person starts.
type leashBox struct {
	*box
	claude string
	held   []*exec.Cmd
	behind []string // the words between exec and the agent
}

func newLeashBox(t *testing.T) *leashBox {
	b := &leashBox{box: newBox(t)}
	b.claude = b.path("node20/bin/claude")
	b.install("node20/bin/claude", fmt.Sprintf(heldClaude, claudeSession, claudeTranscript))
	shell, err := os.ReadFile("/bin/sh")
	require.NoError(t, err)
	b.install("node20/bin/node", string(shell))
	b.write(configFile, leashConfig)
	require.NoError(t, os.MkdirAll(filepath.Dir(b.path(claudeTranscript)), 0o700))
	return b
}

// install writes a program. Another process does the writing: a process that a test starts meanwhile
// would inherit the open file and keep it busy.
func (b *leashBox) install(name, text string) {
	b.t.Helper()
	require.NoError(b.t, os.MkdirAll(filepath.Dir(b.path(name)), 0o755))
	write := exec.Command("sh", "-c", `cat > "$0" && chmod +x "$0"`, b.path(name))
	write.Stdin = strings.NewReader(text)
	require.NoError(b.t, write.Run())
}

// leashConfig is a configuration with short waits.
const leashConfig = "[backoff]\nbase_delay = \"200ms\"\njitter = false\n[resume]\nlive = \"ignore\"\n"

// hold starts a command in the session's directory that runs until release.
func (b *leashBox) hold(env []string, argv ...string) (pid int) {
	b.t.Helper()
	if argv[0] == "claude" {
		argv[0] = b.claude // the test itself has another PATH
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = b.path("bot")
	own := b.env()
	own = own[:len(own)-len(b.vars)] // those are the daemon's
	cmd.Env = slices.Concat(own, []string{"PATH=" + b.path("node20/bin") + ":" + os.Getenv("PATH")}, env)
	require.NoError(b.t, cmd.Start())
	b.held = append(b.held, cmd)
	b.until("it runs", func() bool {
		pid = b.running()
		return pid != 0
	})
	return pid
}

// running returns the process that runs claude, or 0.
func (b *leashBox) running() int { return b.runs(b.claude) }

// runs returns a process of this box that runs the script of that name, or 0.
func (b *leashBox) runs(script string) int {
	for _, pid := range processes() {
		cmdline := string(ofProcess(pid, "cmdline"))
		if strings.HasPrefix(cmdline, "node\x00") && strings.Contains(cmdline, script+"\x00") && strings.Contains(string(ofProcess(pid, "environ")), "HOME="+b.home+"\x00") {
			return pid
		}
	}
	return 0
}

// register writes that a process holds the session.
func (b *leashBox) register(pid int) {
	b.write(fmt.Sprintf(".claude/sessions/%d.json", pid), fmt.Sprintf(
		`{"pid":%d,"sessionId":%q,"procStart":%q,"status":"idle","entrypoint":"cli"}`, pid, claudeSession, procStart(pid)))
}

// release ends the processes of hold.
func (b *leashBox) release() {
	b.t.Helper()
	b.write("over", "")
	for _, cmd := range b.held {
		require.NoError(b.t, cmd.Wait())
	}
	b.held = nil
	require.NoError(b.t, os.Remove(b.path("over")))
}

func (b *leashBox) prompted() {
	b.appendTo(claudeTranscript, promptLine(claudeSession, b.path("bot"), "work"))
}

func (b *leashBox) stopped() {
	b.appendTo(claudeTranscript, refusalLine(claudeSession, b.path("bot")))
}

// anySession also finds a session that was never stopped.
func (b *leashBox) anySession() view.Session {
	status, err := b.daemon.Status(b.t.Context(), true)
	require.NoError(b.t, err)
	for _, s := range status.Sessions {
		if s.ID == claudeSession {
			return s
		}
	}
	return view.Session{}
}

func (b *leashBox) untilSeen(word string) {
	b.t.Helper()
	b.until("it is known what it was started with", func() bool { return slices.Contains(b.anySession().Started.Argv, word) })
}

// ran returns the arguments of the resume.
func (b *leashBox) ran() []string {
	b.t.Helper()
	b.until("it is continued", func() bool { return b.read("ran") != "" })
	return strings.Split(strings.TrimSpace(b.read("ran.args")), "\n")
}

// ranAtLast retries until the resume is sent: one that is due while the configuration changes is
// delayed for a minute.
func (b *leashBox) ranAtLast() []string {
	b.t.Helper()
	b.until("it is continued", func() bool {
		b.run("retry", claudeSession)
		return b.read("ran") != ""
	})
	return b.ran()
}

// ranWith returns a variable of the resume, as NAME=value.
func (b *leashBox) ranWith(name string) string {
	for line := range strings.SplitSeq(b.read("ran.env"), "\n") {
		if strings.HasPrefix(line, name+"=") {
			return line
		}
	}
	return ""
}

func TestASessionIsContinuedAsItWasStarted(t *testing.T) {
	b := newLeashBox(t)
	b.vars = []string{"SSL_CERT_FILE=/of/the/daemon", "HTTPS_PROXY=http://me:hunter2pass@proxy:1"}
	b.start()
	b.steer("pause")
	pid := b.hold([]string{"SSL_CERT_FILE=/of/the/session", "NODE_EXTRA_CA_CERTS=/more"}, "claude",
		"--disallowedTools", "Bash(touch:*)", "--max-turns", "3", "--", "my secret plans")
	b.register(pid)
	b.prompted()
	b.untilSeen("Bash(touch:*)")
	v := b.anySession()
	require.Equal(t, []string{b.claude, "--disallowedTools", "Bash(touch:*)", "--max-turns", "3"}, v.Started.Argv)
	require.True(t, v.Started.Seen)
	require.Subset(t, v.Started.Env, []string{"SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "PATH"})
	require.Nil(t, v.Started.Sandbox)
	require.Empty(t, v.Carried.LeftOut)

	b.release()
	require.Zero(t, b.kill(syscall.SIGTERM)) // after the process was observed, and before the limit
	b.stopped()
	b.start()
	require.Equal(t, resume.Waiting, b.untilState(claudeSession, resume.Waiting).State)
	require.Equal(t, v.Started, b.session(claudeSession).Started, "it is kept with the session")
	b.tellsWhatItWouldRun()
	b.steer("unpause")
	args := b.ran()
	require.Subset(t, args, []string{"-p", "--resume", claudeSession, "--disallowedTools", "Bash(touch:*)", "--max-turns", "3", "continue"})
	require.NotContains(t, args, "my secret plans")
	require.Equal(t, "SSL_CERT_FILE=/of/the/session", b.ranWith("SSL_CERT_FILE"))
	require.Equal(t, "NODE_EXTRA_CA_CERTS=/more", b.ranWith("NODE_EXTRA_CA_CERTS"))
	require.Empty(t, b.ranWith("HTTPS_PROXY"), "the session had none")
	require.True(t, strings.HasPrefix(b.ranWith("PATH"), "PATH="+b.path("node20/bin")+":"))
}

// tellsWhatItWouldRun checks what people are shown before a resume.
func (b *leashBox) tellsWhatItWouldRun() {
	b.t.Helper()
	command := b.claude + " -p --disallowedTools 'Bash(touch:*)' --max-turns 3 --resume " + claudeSession + " continue"
	file := b.path(claudeTranscript)
	for _, args := range [][]string{{"status", "4f2a"}, {"explain", file}} {
		out, errOut, code := b.run(args...)
		require.Zero(b.t, code, errOut)
		require.Contains(b.t, out, "Started with\n  "+b.claude+" --disallowedTools 'Bash(touch:*)' --max-turns 3\n  with the variables ")
		require.Contains(b.t, out, "The next resume runs\n  "+command+"\n")
		require.Contains(b.t, out, "Repeated from its start\n  --disallowedTools 'Bash(touch:*)' --max-turns 3\n")
		require.Contains(b.t, out, "Without those of the daemon\n  HTTPS_PROXY\n")
		require.NotContains(b.t, out, "hunter2pass")
	}
	var one struct{ Sessions []view.Session }
	out, _, _ := b.run("status", "--json", claudeSession)
	require.NoError(b.t, json.Unmarshal([]byte(out), &one))
	require.Equal(b.t, []string{"--disallowedTools", "Bash(touch:*)", "--max-turns", "3"}, one.Sessions[0].Plan.Repeated)
	require.Equal(b.t, b.path("bot"), one.Sessions[0].Plan.Dir)
	require.Empty(b.t, one.Sessions[0].Plan.Instead)
	out, _, _ = b.run("status", "--json")
	require.NotContains(b.t, out, `"plan"`, "a list is told without asking for each")

	b.write("elsewhere.toml", leashConfig)
	out, _, _ = b.run("explain", "--config", b.path("elsewhere.toml"), "--json", file)
	require.Contains(b.t, out, `"repeated":["--disallowedTools"`)
}

// Without its empty value, --tools would take --resume as its value, and a new session would begin.
func TestAnEmptyArgumentIsRepeated(t *testing.T) {
	b := newLeashBox(t)
	b.start()
	b.steer("pause")
	b.register(b.hold(nil, "claude", "--max-turns", "3", "--tools", ""))
	b.prompted()
	b.untilSeen("--tools")
	b.release()
	b.stopped()
	b.untilState(claudeSession, resume.Waiting)
	out, errOut, code := b.run("status", claudeSession)
	require.Zero(t, code, errOut)
	require.Contains(t, out, "--tools '' --resume "+claudeSession)
	b.steer("unpause")
	args := b.ran()
	require.Equal(t, []string{"-p", "--max-turns", "3", "--tools", "", "--resume", claudeSession}, args[:7])
}

// Another process with other flags takes the next prompt: its flags are used.
func TestTheNewestStartOfASessionCounts(t *testing.T) {
	b := newLeashBox(t)
	b.start()
	b.steer("pause")
	b.register(b.hold(nil, "claude", "--max-turns", "3"))
	b.prompted()
	b.untilSeen("--max-turns")
	b.release()
	b.register(b.hold(nil, "claude", "--resume", claudeSession, "--tools", "Read"))
	b.prompted()
	prompted := time.Now()
	b.untilSeen("--tools")
	require.NotContains(t, b.anySession().Started.Argv, "--max-turns")
	b.release()
	b.stopped()
	b.untilState(claudeSession, resume.Waiting)

	// A person opens it only to read: the process that took its last prompt still counts.
	b.until("its prompt is older than a second", func() bool { return time.Since(prompted) > 1100*time.Millisecond }) // some agents write whole ones
	b.register(b.hold(nil, "claude", "--resume", claudeSession, "--verbose"))
	b.steer("unpause")
	b.until("it is held", func() bool { return strings.Contains(b.session(claudeSession).Reason, "open in its terminal") })
	b.release()
	require.Contains(t, b.session(claudeSession).Started.Argv, "--tools")
	args := b.ranAtLast()
	require.Contains(t, args, "--tools")
	require.NotContains(t, args, "--max-turns")
}

// A process that was not observed took the last prompt: the flags of an earlier one say nothing about
// it.
func TestAPromptOfAnUnseenProcessMakesItsStartUnknown(t *testing.T) {
	b := newLeashBox(t)
	require.NoError(t, os.Symlink(filepath.Dir(b.claude), b.path("bin"))) // its program is as unknown as its flags: the one in PATH is run
	b.start()
	b.steer("pause")
	b.register(b.hold(nil, "claude", "--max-turns", "3"))
	b.prompted()
	b.untilSeen("--max-turns")
	b.release()
	b.prompted()
	b.stopped()
	b.until("that start does not count", func() bool {
		s := b.session(claudeSession)
		return s.State == resume.Waiting && !s.Started.Seen
	})
	require.Equal(t, view.Start{Argv: []string{}, Env: []string{}}, b.session(claudeSession).Started)
	b.steer("unpause")
	require.NotContains(t, b.ran(), "--max-turns")
}

// namespaces returns a command that runs another one with its own mounts, processes and users.
func namespaces(t *testing.T) []string {
	argv := []string{"unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork"}
	if out, err := exec.Command(argv[0], append(argv[1:], "true")...).CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: SESSIONS IN NAMESPACES OF THEIR OWN ARE NOT TESTED HERE: unshare is not allowed: %v: %s", err, out)
	}
	return argv
}

func TestASandboxedSessionIsNotContinuedOutside(t *testing.T) {
	sandbox := namespaces(t)
	b := newLeashBox(t)
	b.start()
	b.register(b.hold(nil, append(sandbox, "sh", "-c", "exec claude --max-turns 3")...))
	b.prompted()
	b.untilSeen("--max-turns")
	require.Contains(t, *b.anySession().Started.Sandbox, "mounts, processes, users of its own")
	b.release()
	b.stopped()
	parked := b.untilState(claudeSession, resume.Parked)
	require.Contains(t, parked.Reason, "it ran in a sandbox")
	require.Contains(t, parked.Reason, " && claude --resume "+claudeSession)
	require.Zero(t, parked.Attempt)
	require.Empty(t, b.read("ran"))

	// The user names the command that enters the sandbox.
	b.install("way-in", "#!/bin/sh\necho \"$1 $HOME\" > \"$HOME/way\"\nshift\nPATH="+filepath.Dir(b.claude)+":$PATH exec "+strings.Join(sandbox, " ")+" \"$@\"\n")
	b.reconfigure(leashConfig + fmt.Sprintf("[[agent]]\nname = \"claude-code\"\ncommand = %q\n", b.path("way-in")+" {cwd} "+b.claude))
	b.ranAtLast()
	require.Equal(t, b.path("bot")+" "+b.home+"\n", b.read("way"))
	mounts, err := os.Readlink("/proc/self/ns/mnt")
	require.NoError(t, err)
	require.NotEqual(t, mounts, strings.TrimSpace(b.read("ran.mounts")))
}

// A wrapper that was before the program at the start is used again.
func TestWhatStoodBeforeASessionStandsThereAgain(t *testing.T) {
	t.Parallel()
	sandbox := namespaces(t)
	for name, c := range map[string]struct {
		way   func(b *leashBox) []string
		apart bool
	}{
		"a sandbox": {func(*leashBox) []string { return append(slices.Clone(sandbox), "claude") }, true},
		"a script by the program's name": {func(b *leashBox) []string {
			b.install("wrap/claude", "#!/bin/sh\nexport NODE_EXTRA_CA_CERTS=/of/the/script\n"+b.claude+" --strict-mcp-config \"$@\"\n")
			return []string{b.path("wrap/claude")}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newLeashBox(t)
			b.start()
			b.register(b.hold(nil, append(c.way(b), "--max-turns", "3")...))
			b.prompted()
			b.untilSeen("--max-turns")
			started := b.anySession().Started
			require.Equal(t, "--max-turns", started.Argv[len(started.Argv)-2])
			b.release()
			b.stopped()
			require.Contains(t, b.ran(), "--max-turns")
			mounts, err := os.Readlink("/proc/self/ns/mnt")
			require.NoError(t, err)
			require.Equal(t, c.apart, mounts != strings.TrimSpace(b.read("ran.mounts")))
			if !c.apart {
				require.Contains(t, b.read("ran.args"), "--strict-mcp-config")
				require.Equal(t, 1, strings.Count(b.read("ran.args"), "--strict-mcp-config"), "the script adds it, and nobody else")
			}
		})
	}
}

// A key that the session had and that is unknown now is not replaced by another.
func TestAKeyThatNobodyHasIsNotReplaced(t *testing.T) {
	b := newLeashBox(t)
	b.runtimeOnDisk()
	b.vars = []string{"HTTPS_PROXY=http://me:of-the-daemon@proxy:1"}
	b.start()
	b.register(b.hold([]string{"HTTPS_PROXY=http://me:of-the-session@proxy:1"}, "claude", "--max-turns", "3"))
	b.prompted()
	b.untilSeen("--max-turns")
	b.release()
	b.restart() // values are only in memory
	b.stopped()
	parked := b.untilState(claudeSession, resume.Parked)
	require.Contains(t, parked.Reason, "HTTPS_PROXY")
	require.Contains(t, parked.Reason, "neither the daemon nor env_file of [[agent]] has the same value")
	require.Empty(t, b.read("ran"))

	b.write("keys", "HTTPS_PROXY=http://me:of-the-session@proxy:1\n")
	require.NoError(t, os.Chmod(b.path("keys"), 0o600))
	b.reconfigure(leashConfig + fmt.Sprintf("[[agent]]\nname = \"claude-code\"\nenv_file = %q\n", b.path("keys")))
	b.ranAtLast()
	require.Equal(t, "HTTPS_PROXY=http://me:of-the-session@proxy:1", b.ranWith("HTTPS_PROXY"))
}

func TestDoctorTellsOfADaemonWithMountsOfItsOwn(t *testing.T) {
	if out, err := exec.Command("unshare", "-m", "true").CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: A DAEMON WITH MOUNTS OF ITS OWN IS NOT TESTED HERE: unshare is not allowed: %v: %s", err, out)
	}
	b := newLeashBox(t)
	b.start()
	said, _ := b.examined()
	require.NotContains(t, said, "daemon's mounts")
	b.kill(syscall.SIGTERM)
	b.install("apart", "#!/bin/sh\nexec unshare -m '"+program+"' \"$@\"\n")
	b.binary = b.path("apart")
	b.start()
	b.binary = program
	said, _ = b.examined()
	require.Equal(t, doctor.Warn, said["daemon's mounts"].Status)
	require.Contains(t, said["daemon's mounts"].Text, "look sandboxed to the daemon")
}
