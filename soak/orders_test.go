package soak

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent/claude/claudetest"
)

// waiter is Claude Code, whose sessions a usage limit stops for hours, unless a person orders a retry.
const waiter = `
[[agent]]
name = "claude-code"
command = "%[1]s/ordered-claude"
`

// orderedClaude writes down each run, and for which limit it is. Its mark decides whether it works, works for
// longer than a daemon lives, or fails.
const orderedClaude = `#!/bin/sh
while [ $# -gt 0 ]; do
	case $1 in --resume) id=$2 ;; esac
	shift
done
file="$HOME/.claude/projects/-src/$id.jsonl"
k=$(grep -c rateLimitType "$file")
echo "start $RESUMED_MARK $id $k" >> "$HOME/ordered"
say() { printf '{"type":"%s","sessionId":"%s","cwd":"%s","timestamp":"%s",%s}\n' "$1" "$id" "$HOME" "$(date -u +%Y-%m-%dT%H:%M:%S.%3NZ)" "$2" >> "$file"; }
case $RESUMED_MARK in
[0-9]*) sleep 0.05 ;;
[a-d]*) sleep 0.8 ;;
*) code=1 ;;
esac
if [ -z "$code" ]; then
	say user '"permissionMode":"default","message":{"role":"user","content":"continue"}'
	say assistant '"message":{"role":"assistant","model":"claude-opus-5-5","stop_reason":"end_turn","content":[{"type":"text","text":"Done."}]}'
fi
echo "end $RESUMED_MARK $id $k" >> "$HOME/ordered"
exit ${code:-0}
`

// orders are those of a person who retries one session after the other before its limit is over.
type orders struct {
	session int
	hit     int       // limits that the session met
	since   time.Time // of the last of them

	asked    *exec.Cmd       // the daemon that showed the limit
	order    chan bool       // whether the order that is being given is accepted; nil: none is
	ordered  map[string]int  // by session and limit
	accepted map[string]bool // sessions and limits of which one surely was

	records
	begun   map[string]int    // runs, by mark,
	ran     map[string]int    // and by session and limit
	running map[string]string // marks, by session
	traced  map[string]bool   // sessions and limits after which one left a trace
}

func newOrders(w *world) orders {
	w.write("ordered-claude", orderedClaude, 0o700)
	w.write("ordered", "", 0o600)
	require.NoError(w.t, os.MkdirAll(filepath.Join(w.home, filepath.Dir(transcript(""))), 0o700))
	return orders{
		records: records{path: filepath.Join(w.home, "ordered")}, ordered: make(map[string]int), accepted: make(map[string]bool), begun: make(map[string]int),
		ran: make(map[string]int), running: make(map[string]string), traced: make(map[string]bool),
	}
}

// retry lets the session meet a usage limit or, where it has met one, orders that it goes on all the same. The
// daemon may be killed while the order is given.
func (m *machine) retry() {
	m.runs()
	id := claudeID(m.session)
	limit := fmt.Sprint(id, " ", m.hit)
	switch {
	case m.order != nil:
		m.answered(limit)
	case m.hit == 0 || m.traced[limit]:
		m.useUp(id)
	case m.ran[limit] > 0 && time.Since(m.since) > 20*time.Second: // it failed, and waits
		m.session, m.hit = m.session+1, 0
	case m.ran[limit] == 0 && !m.accepted[limit] && m.lives && m.waits(id):
		m.ordered[limit]++
		m.asked, m.order = m.daemon, make(chan bool, 1)
		order := m.command("retry", id, "--now")
		go func(to chan bool) { to <- order.Run() == nil }(m.order)
	}
}

// waits reports whether the daemon shows that the session waits, so that a person can order a retry.
func (m *machine) waits(id string) bool {
	var known struct {
		Sessions []struct{ State string }
	}
	return m.ask(&known, "status", id, "--json") && len(known.Sessions) == 1 && known.Sessions[0].State == "waiting"
}

// answered takes in how an order ended. If it failed, or the daemon is another one than the person looked at,
// nobody knows whether it was accepted.
func (m *machine) answered(limit string) {
	select {
	case accepted := <-m.order:
		m.order = nil
		m.accepted[limit] = accepted && m.asked == m.daemon
	default:
	}
}

// useUp writes what Claude Code writes at a usage limit. No two sessions have the same reset: that one works
// would show that the limit of the other is over.
func (m *machine) useUp(id string) {
	m.hit++
	m.limits++
	m.since = time.Now()
	reset := m.since.Add(3*time.Hour + time.Duration(m.session)*5*time.Minute)
	m.appendTo(transcript(id), claudeTurn(id, m.home, "by a person", claudetest.OutOfQuota(m.since, reset)))
}

// runs takes in the runs since, holds them against what was promised, and returns how many there were.
func (m *machine) runs() int {
	for line := range m.fresh(m.t) {
		var what, mark, id string
		var hit int
		_, err := fmt.Sscanf(line, "%s %s %s %d\n", &what, &mark, &id, &hit)
		require.NoError(m.t, err, line)
		limit := fmt.Sprint(id, " ", hit)
		if what == "end" {
			require.Equal(m.t, mark, m.running[id], line)
			delete(m.running, id)
			m.traced[limit] = mark[0] < 'e'
			continue
		}
		m.begun[mark]++
		m.ran[limit]++
		require.Equal(m.t, 1, m.begun[mark], "a run was begun twice: %s", line)
		require.Empty(m.t, m.running[id], "a second run while the first one runs: %s", line)
		require.LessOrEqual(m.t, m.ran[limit], m.ordered[limit], "nobody has ordered that before its limit was over: %s", line)
		require.False(m.t, m.traced[limit], "it works, and was resumed again: %s", line)
		m.running[id] = mark
	}
	return len(m.begun)
}

// lost returns the orders that were accepted, and that nothing came of.
func (m *machine) lost() (left []string) {
	if m.runs() == 0 {
		m.retry()
		return []string{"nothing was ordered yet"}
	}
	for limit, accepted := range m.accepted {
		if accepted && m.ran[limit] == 0 {
			left = append(left, limit+" was ordered, and nothing came of it")
		}
	}
	return left
}
