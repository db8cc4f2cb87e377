package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/agenttest"
	"resumed/internal/limit"
	"resumed/internal/procfs"
	"resumed/internal/resume"
)

// with is the daemon's configuration with these keys of [resume].
func (b *box) with(keys string) string {
	return strings.Replace(b.config(), "[resume]\n", "[resume]\n"+keys, 1)
}

// stuck makes the provider keep the agent waiting in the middle of a turn.
func (b *box) stuck(begin func()) {
	b.t.Helper()
	b.provider.Script(b.step("one"), agenttest.StuckStream())
	b.provider.Upon("continue", b.step("two"), agenttest.Text("All done."))
	begin()
	b.until("the provider keeps the agent waiting", func() bool { return len(b.provider.Requests()) == 2 })
}

var (
	cutOff = situation{"killed in the middle, and resumed", func(t *testing.T, b *box, row *result) {
		row.provider = string(agenttest.StuckStream().Kind())
		b.start(b.with("cut_off = \"resume\"\n"))
		var agent *run
		b.stuck(func() { agent = b.begin(prompt) })
		require.NoError(t, syscall.Kill(-agent.cmd.Process.Pid, syscall.SIGKILL))
		s := b.untilState(resume.Waiting, resume.Resuming, resume.Settling)
		row.said = saw(s)
		require.Equal(t, limit.CutOff, s.Class)
		b.finished(s, b.refused(), 1, once)
		row.did, row.outcome = "continued once", "finished"
	}}

	outOfMemory = situation{"out of memory in the middle", func(t *testing.T, b *box, row *result) {
		row.provider = string(agenttest.StuckStream().Kind())
		b.start(b.config())
		var agent *run
		b.stuck(func() { agent = b.begin(prompt) })
		runOutOfMemory(t, agent.cmd.Process.Pid)
		s := b.untilState(resume.Parked)
		row.said = saw(s)
		require.Equal(t, limit.CutOff, s.Class)
		require.Contains(t, s.Reason, "was cut off: its process was killed, or crashed, in the middle of a turn")
		before := b.refused()
		b.mustStayQuiet(b.provider.Requests(), 0)
		_, err := b.ask("retry", s.ID)
		require.NoError(t, err)
		b.finished(s, before, 1, once)
		row.did, row.outcome = "told its user, and continued once at its user's word", "finished"
	}}

	quiet = situation{"silent in the middle", func(t *testing.T, b *box, row *result) {
		row.provider = string(agenttest.StuckStream().Kind())
		b.start(b.with("silent = \"10s\"\n"))
		var agent *run
		b.stuck(func() { agent = b.begin(prompt) })
		b.mustTellSilence(t, row)
		require.NoError(t, syscall.Kill(-agent.cmd.Process.Pid, syscall.SIGKILL))
		b.until("it is cut off", func() bool { s, _ := b.session(); return s.Class == limit.CutOff })
	}}

	liveQuiet = situation{"live and silent in the middle", func(t *testing.T, b *box, row *result) {
		row.provider = string(agenttest.StuckStream().Kind())
		b.start(b.with("silent = \"10s\"\n"))
		b.stuck(func() { b.talk(prompt) })
		b.mustTellSilence(t, row)
	}}
)

// mustTellSilence waits until the daemon tells of a silence, and checks that it does nothing else.
func (b *box) mustTellSilence(t *testing.T, row *result) {
	t.Helper()
	s := b.untilState(resume.Parked)
	require.Contains(t, s.Reason, "silent for 10s in the middle of a turn")
	require.NotNil(t, s.Owner)
	require.Equal(t, "look", *s.Needs)
	b.mustStayQuiet(b.provider.Requests(), 0)
	used := measured.FindStringSubmatch(b.log.String())
	require.NotNil(t, used)
	row.said, row.outcome = saw(s), "left to a person"
	row.did = fmt.Sprintf("told a person, and pressed no key (%s of the processor in %s)", used[1], used[2])
}

// measured is what the agent used while it was silent, in the daemon's log.
var measured = regexp.MustCompile(`msg=silent .*cpu=(\S+) in=(\S+)`)

// runOutOfMemory puts a process and its children into a control group, and lets another process fill its
// memory until the kernel has killed them.
func runOutOfMemory(t *testing.T, pid int) {
	t.Helper()
	group, bound := fmt.Sprintf("/sys/fs/cgroup/memory/resumed-e2e-%d", pid), "memory.limit_in_bytes"
	if _, err := os.Stat("/sys/fs/cgroup/memory"); err != nil {
		group, bound = fmt.Sprintf("/sys/fs/cgroup/resumed-e2e-%d", pid), "memory.max"
	}
	put := func(file string, value any) error {
		return os.WriteFile(filepath.Join(group, file), []byte(fmt.Sprint(value)), 0o600)
	}
	if err := os.Mkdir(group, 0o700); err != nil {
		t.Skip("OUT OF MEMORY IS NOT TESTED HERE: ", err)
	}
	t.Cleanup(func() { _ = os.Remove(group) })
	if err := put(bound, 32<<20); err != nil {
		t.Skip("OUT OF MEMORY IS NOT TESTED HERE: ", err)
	}
	tree, known := procfs.Proc.TreeOf(pid)
	require.True(t, known)
	for each := range tree.Began {
		require.NoError(t, put("cgroup.procs", each))
		first := fmt.Sprintf("/proc/%d/oom_score_adj", each) // the kernel kills the process that fills the memory last
		require.NoError(t, os.WriteFile(first, []byte("1000"), 0o600))
	}
	hog := exec.CommandContext(t.Context(), "sh", "-c", "read -r line; exec tail /dev/zero")
	in, err := hog.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, hog.Start())
	require.NoError(t, put("cgroup.procs", hog.Process.Pid))
	_, err = in.Write([]byte("go\n"))
	require.NoError(t, err)
	_ = hog.Wait() // it ends by the same signal
}
