package e2e

import (
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agenttest"
	"resumed/internal/resume"
)

// restriction is a way to restrict a session by the command line that starts it.
type restriction struct {
	name  string
	words string                // of the daemon
	argv  func(b *box) []string // before the agent
}

// restrictions are those that no name in the agent's own command line shows.
var restrictions = []restriction{
	{"with no_new_privs", "no_new_privs", func(*box) []string { return []string{"setpriv", "--no-new-privs", "--"} }},
	{"in a Landlock sandbox", "no_new_privs", func(*box) []string { return []string{"python3", "-c", landlocked} }},
	{"with fewer capabilities", "fewer capabilities", func(*box) []string {
		return []string{"setpriv", "--bounding-set", "-sys_module", "--inh-caps", "-sys_module", "--"}
	}},
	{"behind a system call filter", "system call filter", func(*box) []string { return []string{"python3", "-c", filtered} }},
	{"in a network of its own", "network of its own", alone},
	{"in a pid namespace that shows all processes", "processes of its own", func(*box) []string {
		return []string{"unshare", "--pid", "--fork"}
	}},
}

// filtered runs a command with a filter that allows everything.
const filtered = `import ctypes, os, struct, sys
allow = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7fff0000))
libc = ctypes.CDLL(None)
libc.prctl(38, 1, 0, 0, 0)
if libc.prctl(22, 2, struct.pack("@HP", 1, ctypes.addressof(allow)), 0, 0): sys.exit("no filter")
os.execvp(sys.argv[1], sys.argv[1:])`

// landlocked runs a command that may make no block devices.
const landlocked = `import ctypes, os, struct, sys
libc = ctypes.CDLL(None)
libc.prctl(38, 1, 0, 0, 0)
rules = libc.syscall(444, struct.pack("Q", 1 << 11), 8, 0)
if rules < 0 or libc.syscall(446, rules, 0): sys.exit("no Landlock")
os.execvp(sys.argv[1], sys.argv[1:])`

// alone is a network in which only the provider is reached, at the same address.
func alone(b *box) []string {
	socket := b.path("provider.sock")
	listener, err := net.Listen("unix", socket)
	require.NoError(b.t, err)
	b.t.Cleanup(func() { _ = listener.Close() })
	at, err := url.Parse(b.provider.URL)
	require.NoError(b.t, err)
	go func() {
		for {
			inside, err := listener.Accept()
			if err != nil {
				return
			}
			outside, err := net.Dial("tcp", at.Host)
			if err != nil {
				_ = inside.Close()
				continue
			}
			go func() { _, _ = io.Copy(outside, inside); _ = outside.Close() }()
			go func() { _, _ = io.Copy(inside, outside); _ = inside.Close() }()
		}
	}()
	b.write("relay.js", `const net = require('net');
net.createServer((c) => { const u = net.connect(process.argv[2]); c.on('error', () => {}); u.on('error', () => {}); c.pipe(u); u.pipe(c); }).listen(`+at.Port()+`, '127.0.0.1');`)
	return []string{"unshare", "--net", "--fork", "sh", "-c", `ip link set lo up; node "$0" "$1" & shift; "$@"; code=$?; kill $!; exit $code`, b.path("relay.js"), socket}
}

// restricted is a session that its user holds tighter than a resume would be: it is continued through
// the program that does that, if it still stands before the session, and not at all otherwise.
func restricted(r restriction, behind bool, argv func(*box) []string) situation {
	name := r.name
	if behind {
		name += ", behind a wrapper"
	}
	return situation{name, func(t *testing.T, b *box, row *result) {
		before := r.argv(b)
		if err := exec.Command(before[0], append(before[1:], "true")...).Run(); err != nil {
			t.Skipf("SKIPPED: this restriction cannot be had here: %v", err)
		}
		limited := agenttest.RateLimit(0)
		row.provider = string(limited.Kind())
		b.start(b.config())
		b.provider.Script(b.step("one"), limited.Thinking(thought))
		b.provider.Upon("continue", b.step("two"), agenttest.Text("All done."))
		inside := argv(b)
		inside[0] = filepath.Join(b.bin, inside[0])
		if !behind {
			inside = []string{"sh", "-c", "exec '" + strings.Join(inside, "' '") + "'"}
		}
		agent := b.launch(append(before, inside...)...)
		if behind {
			s := b.untilState(resume.Waiting, resume.Resuming, resume.Settling)
			agent.wait(t)
			b.finished(s, b.refused(), 1, once)
			row.said, row.did, row.outcome = saw(s), "continued once behind the same wrapper", "finished"
			return
		}
		s := b.untilState(resume.Parked)
		agent.wait(t)
		require.Equal(t, "one", b.done())
		require.Contains(t, s.Reason, "it ran in a sandbox (")
		require.Contains(t, s.Reason, r.words)
		b.mustStayQuiet(b.provider.Requests(), 0)
		row.said, row.did, row.outcome = saw(s), "parked it", "left to a person"
	}}
}

// killedInNamespace is a session in a terminal, in a pid namespace that shows all processes: old versions do not
// register their namespace, but a pid and a start that fit the machine's first process. When it is killed, it
// is not open there for ever.
var killedInNamespace = situation{"killed in a pid namespace that shows all processes", func(t *testing.T, b *box, row *result) {
	if out, err := exec.Command("unshare", "--pid", "--fork", "true").CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: namespaces cannot be made: %s", out)
	}
	unshare, err := exec.LookPath("unshare")
	require.NoError(t, err)
	unshare, err = filepath.Rel(b.bin, unshare) // where a program of the agent's is looked for
	require.NoError(t, err)
	b.kit.talk = func(prompt string) []string {
		return []string{unshare, "--pid", "--fork", filepath.Join(b.bin, "claude"), prompt}
	}
	b.set("autoContinueAtUsageLimit", false)
	p, s, before := b.stopped(agenttest.UsageLimit(15*time.Second), row)
	b.until("its start is seen", func() bool { return b.latestSession().Started.Seen })
	p.kill()
	b.finished(s, before, 1, once)
	row.did, row.outcome = "continued once behind the same wrapper", "finished"
}}

// changedSettings is a session whose settings were loosened after it was started, in a mode that does not
// ask.
var changedSettings = situation{"settings that changed meanwhile", func(t *testing.T, b *box, row *result) {
	row.provider = string(agenttest.KindRateLimit)
	b.write("src/shop/mine.json", `{"permissions":{"deny":["WebSearch"]}}`)
	b.start(b.config())
	b.hold(true)
	b.provider.Script(b.step("one"), agenttest.RateLimit(0).Thinking(thought))
	b.provider.Upon("continue", b.step("two"), agenttest.Text("All done."))
	agent := b.ours([]string{"IS_SANDBOX=1"}, "claude", "--dangerously-skip-permissions", "--settings", "mine.json", "-p", prompt)
	b.untilState(resume.Waiting)
	agent.wait(t)
	before := b.refused()
	b.write("src/shop/mine.json", `{}`)
	b.hold(false)
	s := b.untilState(resume.Parked)
	require.Contains(t, s.Reason, "mine.json changed since the session was started")
	b.mustStayQuiet(before, 0)
	_, err := b.ask("retry", s.ID)
	require.NoError(t, err)
	b.finished(s, before, 1, once)
	row.said, row.did, row.outcome = saw(s), "parked it, and continued it on its user's word", "finished"
}}

// lostVariables is a session with a database of its own, of which nobody knows the name after the machine
// was started again.
var lostVariables = situation{"variables of its own, which nobody knows any more", func(t *testing.T, b *box, row *result) {
	row.provider = string(agenttest.KindRateLimit)
	b.extra = append(b.extra, "DATABASE_URL=prod")
	b.start(b.config())
	b.hold(true)
	b.provider.Script(b.step("one"), agenttest.RateLimit(0).Thinking(thought))
	agent := b.ours([]string{"DATABASE_URL=dev", "COLOUR=red"}, "claude", "-p", prompt)
	b.untilState(resume.Waiting)
	agent.wait(t)
	before := b.refused()
	require.NoError(t, os.RemoveAll(b.path("runtime/resumed/starts")))
	b.restart()
	b.hold(false)
	s := b.untilState(resume.Parked)
	require.Contains(t, s.Reason, "DATABASE_URL: the values that the session had are lost since a restart")
	shown, err := b.ask("status", s.ID)
	require.NoError(t, err)
	require.Contains(t, string(shown), "COLOUR")
	b.mustStayQuiet(before, 0)
	row.said, row.did, row.outcome = saw(s), "parked it", "left to a person"
}}
