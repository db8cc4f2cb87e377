package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agenttest"
	"resumed/internal/limit"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

// What Codex does in a terminal when it was stopped. With a setting of its own
// it works in the terminal's process, else in the server that all terminals
// share; both read the queue.
var (
	queued = situation{"live and idle", func(t *testing.T, b *box, row *result) {
		b.kit.talk = func(prompt string) []string { return []string{"codex", "-c", "hide_agent_reasoning=true", prompt} }
		p, s := b.queue(row)
		for _, pid := range holders(t, s.Transcript) { // a child of what npm starts
			group, err := syscall.Getpgid(pid)
			require.NoError(t, err)
			require.Equal(t, p.pid(), group, "who has the session is the terminal's process")
		}
	}}

	shared = situation{"live on the shared server", func(t *testing.T, b *box, row *result) {
		p, s := b.queue(row)
		var server struct{ PID int }
		data, err := os.ReadFile(b.path(".codex/app-server-daemon/daemon.pid"))
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(data, &server))
		require.NotEqual(t, p.pid(), server.PID)
		require.Equal(t, []int{server.PID}, holders(t, s.Transcript), "who has the session is the server")
	}}
)

// queue stops Codex in a terminal and checks that it is given the prompt by its
// queue, once, and finishes in the same process.
func (b *box) queue(row *result) (*pane, view.Session) {
	b.t.Helper()
	p, s, before := b.stopped(agenttest.Overloaded(), row)
	pid := p.pid()
	require.Equal(b.t, limit.Overloaded, s.Class)
	b.finished(s, before, 1, once)
	require.Equal(b.t, pid, p.pid(), "the same process")
	require.Contains(b.t, b.log.String(), `msg="handed over"`)
	row.did, row.outcome = "queued the prompt once", "finished"
	return p, s
}

// holders returns the processes that have the file open.
func holders(t *testing.T, path string) []int {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/fd/*")
	require.NoError(t, err)
	var pids []int
	for _, link := range links {
		if target, err := os.Readlink(link); err != nil || target != path {
			continue
		}
		pid, err := strconv.Atoi(strings.Split(link, "/")[2])
		require.NoError(t, err)
		pids = append(pids, pid)
	}
	slices.Sort(pids)
	return slices.Compact(pids)
}

const unreachable = "live and out of reach"

// outOfReach is an agent in a terminal to which no prompt can be given: it is
// left alone and says so, a person is told who wants to be, and it is continued
// when its process is gone.
func outOfReach(answer agenttest.Answer, class limit.Class) situation {
	return situation{unreachable, func(t *testing.T, b *box, row *result) {
		p, s, _ := b.stopped(answer, row)
		require.Equal(t, class, s.Class)
		b.untilHeld()
		before := b.calm()

		b.reload(b.telling())
		_, err := b.ask("retry", "--now", s.ID)
		require.NoError(t, err)
		b.untilState(resume.Parked)
		b.until("a person is told", func() bool { return b.notices() > 0 })
		b.mustStayQuiet(before, 0)
		require.Equal(t, 1, b.notices(), "a person is told once")

		b.provider.Script(b.step("two"), agenttest.Text("All done."))
		p.kill()
		_, err = b.ask("retry", "--now", s.ID)
		require.NoError(t, err)
		b.finished(s, before, 1, once)
		row.did, row.outcome = "told a person, and continued once, when it was killed", "finished"
	}}
}

// calm waits until the agent has given up trying by itself.
func (b *box) calm() []agenttest.Request {
	b.t.Helper()
	before := b.provider.Requests()
	b.until("the agent has given up", func() bool {
		time.Sleep(b.backoff + time.Second)
		now := b.provider.Requests()
		calm := len(now) == len(before)
		before = now
		return calm
	})
	return before
}

// telling is the configuration of somebody who wants to be told of live
// sessions.
func (b *box) telling() string {
	return fmt.Sprintf(hurry, b.kit.margin, cmp.Or(b.kit.unseen, "park"), "notify", b.backoff, `["parked"]`) + fmt.Sprintf(`
[[notify.command]]
name = "file"
run = ["/bin/sh", "-c", "cat >> %s"]
`, b.path("notices"))
}

// notices returns how many were sent.
func (b *box) notices() int {
	data, _ := os.ReadFile(b.path("notices")) // none before the first
	decoder := json.NewDecoder(strings.NewReader(string(data)))
	for n := 0; ; n++ {
		var notice any
		if decoder.Decode(&notice) != nil {
			return n
		}
	}
}

// untilHeld waits until the daemon has seen that a live process holds the
// session.
func (b *box) untilHeld() {
	b.t.Helper()
	b.until("the daemon sees who holds the session", func() bool {
		s, _ := b.session()
		return strings.Contains(s.Reason, "open in ")
	})
}

// reload gives the daemon another configuration.
func (b *box) reload(config string) {
	b.t.Helper()
	const inForce = `msg="configuration in force"`
	before := strings.Count(b.log.String(), inForce)
	b.write(".config/resumed/resumed.toml", config)
	b.until("the configuration is in force", func() bool { return strings.Count(b.log.String(), inForce) > before })
}
