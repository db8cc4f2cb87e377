package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agenttest"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// outOfMemory are sessions whose agent the kernel kills in the middle of a turn, as its group has used up
// its memory: told and continued by a command, and continued by itself.
var outOfMemory = []situation{
	{"out of memory in the middle, told and retried", func(t *testing.T, b *box, row *result) {
		b.starve(row, "")
		s := b.untilState(resume.Parked)
		require.Equal(t, limit.CutOff, s.Class)
		row.said = saw(s)
		told, err := b.ask("status")
		require.NoError(t, err)
		require.Contains(t, strings.Join(strings.Fields(string(told)), " "), "was cut off: its process was killed, or crashed, in the middle of a turn")
		command := regexp.MustCompile(`resumed retry (\S+)`).FindStringSubmatch(string(told))
		require.NotNil(t, command, "the command that continues it: %s", told)
		b.mustStayQuiet(b.provider.Requests(), 0)
		before := b.refused()
		_, err = b.ask("retry", command[1])
		require.NoError(t, err)
		b.finished(s, before, 1, once)
		row.did, row.outcome = "told a person, and continued once by retry", "finished"
	}},
	{"out of memory in the middle, and resumed", func(t *testing.T, b *box, row *result) {
		b.starve(row, "cut_off = \"resume\"\n")
		s := b.untilState(resume.Waiting, resume.Resuming, resume.Settling)
		require.Equal(t, limit.CutOff, s.Class)
		row.said = saw(s)
		b.finished(s, b.refused(), 1, once)
		row.did, row.outcome = "continued once", "finished"
	}},
}

// starve lets the kernel kill the agent while its provider keeps it waiting.
func (b *box) starve(row *result, keys string) {
	b.t.Helper()
	row.provider = string(agenttest.StuckStream().Kind())
	b.start(b.with(keys) + "[[resume.prompt_for]]\nclasses = [\"cut_off\"]\nprompt = \"continue\"\n")
	group := newMemoryGroup(b.t)
	var agent *run
	b.stuck(func() {
		argv := b.kit.begin(prompt)
		argv[0] = filepath.Join(b.bin, argv[0])
		agent = b.launch(group.inside("echo 1000 >/proc/self/oom_score_adj", argv...)...)
	})
	group.useUp(b)
	agent.wait(b.t)
	require.GreaterOrEqual(b.t, group.kills(), 2, "the kernel killed it, and the program that used up its memory")
}

// memoryGroup is a control group whose memory can be limited.
type memoryGroup struct {
	t                      *testing.T
	dir                    string
	limit, usage, counters string
}

func newMemoryGroup(t *testing.T) memoryGroup {
	t.Helper()
	const root = "/sys/fs/cgroup"
	g := memoryGroup{t: t, dir: root, limit: "memory.max", usage: "memory.current", counters: "memory.events"}
	if _, err := os.Stat(root + "/memory/memory.limit_in_bytes"); err == nil { // of version 1
		g = memoryGroup{t: t, dir: root + "/memory", limit: "memory.limit_in_bytes", usage: "memory.usage_in_bytes", counters: "memory.oom_control"}
	} else {
		_ = os.WriteFile(root+"/cgroup.subtree_control", []byte("+memory"), 0) // the limit below tells whether that worked
	}
	dir, err := os.MkdirTemp(g.dir, "resumed-e2e-") //nolint:usetesting // no other file system has such groups
	g.dir = dir
	if err == nil {
		t.Cleanup(func() {
			require.Eventually(t, func() bool { return os.Remove(g.dir) == nil }, patience, 100*time.Millisecond, "its processes have ended")
		})
		err = g.write(g.limit, 8<<30)
	}
	if err != nil {
		t.Skipf("SKIPPED: no memory can be limited here: %v", err)
	}
	return g
}

func (g memoryGroup) write(name string, value int) error {
	return os.WriteFile(filepath.Join(g.dir, name), []byte(strconv.Itoa(value)), 0)
}

// inside is a command line that runs a program in the group, after a line of shell.
func (g memoryGroup) inside(first string, argv ...string) []string {
	return append([]string{"sh", "-ec", "echo $$ >" + g.dir + "/cgroup.procs; " + first + `; exec "$@"`, "sh"}, argv...)
}

// useUp lets a program in the group use more memory than there is.
func (g memoryGroup) useUp(b *box) {
	text, err := os.ReadFile(filepath.Join(g.dir, g.usage))
	require.NoError(g.t, err)
	used, err := strconv.Atoi(strings.TrimSpace(string(text)))
	require.NoError(g.t, err)
	require.NoError(g.t, g.write(g.limit, used+16<<20))
	greedy := b.launch(g.inside(":", "tail", "/dev/zero")...) // tail keeps all until the last line ends
	greedy.wait(g.t)
	require.Equal(g.t, syscall.SIGKILL, greedy.cmd.ProcessState.Sys().(syscall.WaitStatus).Signal())
}

// kills is how many processes of the group the kernel killed for want of memory.
func (g memoryGroup) kills() int {
	text, err := os.ReadFile(filepath.Join(g.dir, g.counters))
	require.NoError(g.t, err)
	count := regexp.MustCompile(`(?m)^oom_kill (\d+)$`).FindSubmatch(text)
	require.NotNil(g.t, count, "%s", text)
	n, err := strconv.Atoi(string(count[1]))
	require.NoError(g.t, err)
	return n
}
