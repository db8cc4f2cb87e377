package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/doctor"
	"resumed/internal/resume"
)

// nodeClaude stands in for a Claude Code from npm: it needs the node next to it, which is a shell here.
// With -p it answers, else it runs until it is told to end.
const nodeClaude = `#!/usr/bin/env node
if [ "$1" = -p ]; then
	echo "$0 $PATH" >> "$HOME/calls"
	now=$(date -u +%%Y-%%m-%%dT%%H:%%M:%%S.000Z)
	printf '{"type":"assistant","sessionId":"%[1]s","timestamp":"%%s","message":{"model":"m","content":[{"type":"text","text":"Done."}]}}\n' "$now" >> "$HOME/%[2]s"
	exit
fi
while [ ! -e "$HOME/over" ]; do sleep 0.05; done
`

// nodeAt installs a node and a claude in a directory of that name.
func (b *box) nodeAt(dir string) (claude string) {
	b.t.Helper()
	b.write(dir+"/claude", fmt.Sprintf(nodeClaude, claudeSession, claudeTranscript))
	shell, err := os.ReadFile("/bin/sh")
	require.NoError(b.t, err)
	b.write(dir+"/node", string(shell))
	return b.path(dir, "claude")
}

// live starts a claude without a terminal and registers it as the holder of the session.
func (b *box) live(claude, dir string) *exec.Cmd {
	b.t.Helper()
	return b.liveWith([]string{"PATH=" + dir + ":" + os.Getenv("PATH")}, claude)
}

// liveWith is live with variables and arguments.
func (b *box) liveWith(vars []string, claude string, args ...string) *exec.Cmd {
	b.t.Helper()
	cmd := exec.Command(claude, args...)
	cmd.Dir, cmd.Env = b.path("bot"), append(b.env(), vars...)
	require.NoError(b.t, cmd.Start())
	pid := cmd.Process.Pid
	b.until("it runs", func() bool {
		cmdline, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		return strings.HasPrefix(string(cmdline), "node\x00"+claude)
	})
	b.write(fmt.Sprintf(".claude/sessions/%d.json", pid), fmt.Sprintf(
		`{"pid":%d,"sessionId":%q,"procStart":%q,"status":"idle","entrypoint":"cli"}`, pid, claudeSession, procStart(pid)))
	return cmd
}

func (b *box) steer(order string) {
	b.t.Helper()
	_, errOut, code := b.run(order)
	require.Zero(b.t, code, errOut)
}

func TestASessionIsContinuedWithTheProgramItWasRunWith(t *testing.T) {
	b := newBox(t)
	b.write(configFile, "[backoff]\nbase_delay = \"500ms\"\njitter = false\n[resume]\nlive = \"ignore\"\n")
	b.write("bin/claude", "#!/bin/sh\n[ \"$1\" = --version ] || echo \"$0\" >> \"$HOME/calls\"\n") // the one in PATH
	claude := b.nodeAt("node20/bin")
	b.start()
	b.steer("pause") // until everything is set up
	holder := b.live(claude, b.path("node20/bin"))
	b.write(claudeTranscript, promptLine(claudeSession, b.path("bot"), "work")+refusalLine(claudeSession, b.path("bot")))
	b.until("its program is known", func() bool { return b.session(claudeSession).Program == claude })
	b.write("over", "")
	require.NoError(t, holder.Wait())
	out, _, _ := b.run("status", claudeSession)
	require.Contains(t, out, "node20/bin/claude")

	require.Zero(t, b.kill(syscall.SIGTERM))
	b.start()
	require.Equal(t, claude, b.session(claudeSession).Program, "it is kept")
	said, _ := b.examined()
	require.Contains(t, said["session 4f2a9c1e of claude-code"].Text, claude)
	require.Contains(t, said["agent claude-code"].Text, b.path("bin/claude"))
	require.Contains(t, said["agent claude-code"].Text, "found in PATH")

	b.steer("unpause")
	b.untilState(claudeSession, resume.Watching)
	require.Regexp(t, "^"+claude+" "+b.path("node20/bin")+":", b.read("calls"), "with the node that ran it first in PATH")
	require.Equal(t, 1, strings.Count(b.read("calls"), "\n"))
}

// A headless run ends as soon as it has hit a limit: it is observed when it begins.
func TestTheProgramOfAShortRunIsKnownFromItsBeginning(t *testing.T) {
	b := newBox(t)
	b.write(configFile, "[backoff]\nbase_delay = \"200ms\"\njitter = false\n")
	claude := b.nodeAt("node20/bin")
	b.start()
	holder := b.live(claude, b.path("node20/bin"))
	b.write(claudeTranscript, promptLine(claudeSession, b.path("bot"), "work"))
	b.until("its program is known", func() bool {
		out, _, _ := b.run("status", "--all", "--json")
		return strings.Contains(out, `"program":"`+claude+`"`)
	})
	b.write("over", "")
	require.NoError(t, holder.Wait())
	b.appendTo(claudeTranscript, refusalLine(claudeSession, b.path("bot")))
	b.until("it is continued", func() bool { return b.read("calls") != "" })
	require.Regexp(t, "^"+claude+" ", b.read("calls"))
}

// The service has the PATH of the shell that installed it, which may differ from this one.
func TestDoctorLooksWhereTheServiceLooks(t *testing.T) {
	b := newBox(t)
	b.write("bin/claude", "#!/bin/sh\necho here\n")
	b.write("there/claude", "#!/bin/sh\necho there\n")
	b.write(dropInPath, "# Written by `resumed install`; `resumed uninstall` removes it.\n[Service]\nEnvironment=\"PATH="+b.path("there")+":/usr/bin:/bin:/100%%\"\n")
	said, _ := b.examined()
	require.Contains(t, said["agent claude-code"].Text, b.path("there/claude")+" (there), found in the PATH that install recorded")
	require.NoError(t, os.RemoveAll(b.path(".config/systemd")))
	said, _ = b.examined()
	require.Contains(t, said["agent claude-code"].Text, b.path("bin/claude")+" (here), found in PATH")
}

func TestARecordedProgramThatIsGoneGivesWay(t *testing.T) {
	b := newBox(t)
	b.write(configFile, "[backoff]\nbase_delay = \"500ms\"\njitter = false\n[resume]\nlive = \"ignore\"\n")
	claude := b.nodeAt("node20/bin")
	b.start()
	b.steer("pause") // until everything is set up
	holder := b.live(claude, b.path("node20/bin"))
	b.write(claudeTranscript, promptLine(claudeSession, b.path("bot"), "work")+refusalLine(claudeSession, b.path("bot")))
	b.until("its program is known", func() bool { return b.session(claudeSession).Program == claude })
	b.write("over", "")
	require.NoError(t, holder.Wait())
	require.NoError(t, os.RemoveAll(b.path("node20")))
	said, _ := b.examined()
	require.Equal(t, doctor.Warn, said["session 4f2a9c1e of claude-code"].Status)

	usual := b.nodeAt(".nvm/versions/node/v22.1.0/bin")
	b.steer("unpause")
	b.untilState(claudeSession, resume.Watching)
	require.Regexp(t, "^"+usual+" ", b.read("calls"))
}

func TestAMissingProgramParksAndCostsNothing(t *testing.T) {
	b := newBox(t)
	b.vars = []string{"PATH=/usr/bin:/bin"}
	b.write(configFile, "[backoff]\nbase_delay = \"100ms\"\njitter = false\n[[agent]]\nname = \"claude-code\"\ncommand = \"~/none/claude\"\n[resume]\nstagger = \"0s\"\n"+bot)
	b.write("bot/resume.sh", recordCall)
	b.start()
	b.write(claudeTranscript, promptLine(claudeSession, b.path("bot"), "work")+refusalLine(claudeSession, b.path("bot")))
	parked := b.untilState(claudeSession, resume.Parked)
	require.Contains(t, parked.Reason, "claude was not found")
	require.Zero(t, parked.Attempt)
	require.Nil(t, parked.NextAt, "it is not tried again")
	b.laterIsResumed()
	require.Equal(t, resume.Parked, b.session(claudeSession).State)
}
