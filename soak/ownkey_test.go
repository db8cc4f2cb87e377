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

// payer is Claude Code, whose sessions a usage limit stops for hours, unless their user pays.
const payer = `
[[agent]]
name = "claude-code"
command = "%[1]s/paid-claude"
own_key_file = "%[1]s/my.key"
budget = "3 USD a session, 100000 USD a month"
`

const (
	dummyKey        = "sk-ant-REDACTED"
	budgetOfSession = 3 // each run costs 1
)

// paidClaude writes down each run: for which limit, with a key or without, and what it may cost. Its
// mark decides whether it works, works for longer than a daemon lives, or fails.
const paidClaude = `#!/bin/sh
key=none; [ -z "$ANTHROPIC_API_KEY" ] || key=key
while [ $# -gt 0 ]; do
	case $1 in --resume) id=$2 ;; --max-budget-usd) most=$2 ;; esac
	shift
done
file="$HOME/.claude/projects/-src/$id.jsonl"
k=$(grep -c rateLimitType "$file")
echo "start $RESUMED_MARK $id $k $key ${most:-0.00}" >> "$HOME/paid"
say() { printf '{"type":"%s","sessionId":"%s","cwd":"%s","timestamp":"%s",%s}\n' "$1" "$id" "$HOME" "$(date -u +%Y-%m-%dT%H:%M:%S.%3NZ)" "$2" >> "$file"; }
case $RESUMED_MARK in
[0-9]*) sleep 0.05 ;;
[a-d]*) sleep 0.8 ;;
*) code=1 ;;
esac
if [ -z "$code" ]; then
	say user '"permissionMode":"default","message":{"role":"user","content":"continue"}'
	say assistant '"message":{"role":"assistant","model":"claude-opus-5-5","stop_reason":"end_turn","content":[{"type":"text","text":"Done."}]}'
	say cost-state "\"totalCostUSD\":$(($(grep -c cost-state "$file") + 1)).0,\"totalAPIDuration\":3600000,\"totalToolDuration\":0"
fi
echo "end $RESUMED_MARK $id $k $key ${most:-0.00}" >> "$HOME/paid"
exit ${code:-0}
`

// ownKey is a person who pays for one session after the other.
type ownKey struct {
	session int
	hit     int       // limits that the session met
	since   time.Time // of the last of them

	asked    *exec.Cmd       // the daemon that showed the limit
	order    chan bool       // whether the order that is being given is accepted; nil: none is
	ordered  map[string]bool // sessions and limits
	accepted map[string]bool // those of them that surely were

	records
	begun   map[string]int    // runs, by mark,
	spent   map[string]int    // by session,
	ran     map[string]int    // and by session and limit
	running map[string]string // marks, by session
	traced  map[string]bool   // sessions and limits after which one left a trace
}

func newOwnKey(w *world) ownKey {
	w.write("paid-claude", paidClaude, 0o700)
	w.write("my.key", dummyKey+"\n", 0o600)
	w.write("paid", "", 0o600)
	require.NoError(w.t, os.MkdirAll(filepath.Join(w.home, filepath.Dir(transcript(""))), 0o700))
	return ownKey{
		records: records{path: filepath.Join(w.home, "paid")}, ordered: make(map[string]bool), accepted: make(map[string]bool), begun: make(map[string]int),
		spent: make(map[string]int), ran: make(map[string]int), running: make(map[string]string), traced: make(map[string]bool),
	}
}

// pay lets the session meet a usage limit or, where it has met one, orders that it goes on with the
// user's own key. The daemon may be killed while the order is given.
func (m *machine) pay() {
	m.runs()
	id := claudeID(m.session)
	limit := fmt.Sprint(id, " ", m.hit)
	switch {
	case m.order != nil:
		m.answered(limit)
	case m.hit == 0 || m.traced[limit]:
		m.useUp(id)
	case m.ran[limit] > 0 && time.Since(m.since) > 20*time.Second: // it fails
		m.session, m.hit = m.session+1, 0
	case m.ran[limit] == 0 && !m.accepted[limit] && m.lives && m.offers(id):
		m.ordered[limit], m.asked, m.order = true, m.daemon, make(chan bool, 1)
		order := m.command("retry", id, "--own-key", "--yes")
		go func(to chan bool) { to <- order.Run() == nil }(m.order)
	}
}

// offers reports whether the daemon offers to go on with the own key, so that a person can answer.
func (m *machine) offers(id string) bool {
	var known struct {
		Sessions []struct {
			State  string
			OwnKey struct{ Command, Instead string } `json:"own_key"`
		}
	}
	if !m.ask(&known, "status", id, "--json") || len(known.Sessions) != 1 || known.Sessions[0].State != "waiting" {
		return false
	}
	if offer := known.Sessions[0].OwnKey; offer.Instead == "" {
		return offer.Command != ""
	}
	m.session, m.hit = m.session+1, 0 // its budget is used up
	return false
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

// useUp writes what Claude Code writes at a usage limit.
func (m *machine) useUp(id string) {
	m.hit++
	m.limits++
	m.since = time.Now()
	then := []map[string]any{claudetest.OutOfQuota(m.since, m.since.Add(3*time.Hour))}
	if m.hit == 1 {
		then = append(then, claudetest.Record(map[string]any{"type": "cost-state", "totalCostUSD": 1.0, "totalAPIDuration": 1800000, "totalToolDuration": 0}))
	}
	m.appendTo(transcript(id), claudeTurn(id, m.home, "by a person", then...))
}

// runs takes in the runs since, holds them against what was promised, and returns how many there were.
func (m *machine) runs() int {
	for line := range m.fresh(m.t) {
		var what, mark, id, key string
		var hit, most int
		_, err := fmt.Sscanf(line, "%s %s %s %d %s %d.00\n", &what, &mark, &id, &hit, &key, &most)
		require.NoError(m.t, err, line)
		limit := fmt.Sprint(id, " ", hit)
		if what == "end" {
			require.Equal(m.t, mark, m.running[id], line)
			delete(m.running, id)
			m.traced[limit] = mark[0] < 'e'
			continue
		}
		m.begun[mark]++
		m.spent[id]++
		m.ran[limit]++
		require.Equal(m.t, 1, m.begun[mark], "a run was begun twice: %s", line)
		require.Empty(m.t, m.running[id], "a second run while the first one runs: %s", line)
		require.Equal(m.t, "key", key, "it went on without a key before its limit was over: %s", line)
		require.True(m.t, m.ordered[limit], "nobody has ordered that: %s", line)
		require.False(m.t, m.traced[limit], "it works, and was resumed again: %s", line)
		require.LessOrEqual(m.t, m.spent[id]+most, budgetOfSession+1, "what it spent and may spend is over its budget: %s", line)
		m.running[id] = mark
	}
	return len(m.begun)
}

// unpaid returns the orders that were accepted, and that nothing came of.
func (m *machine) unpaid() (left []string) {
	if m.runs() == 0 {
		m.pay()
		return []string{"nothing was paid yet"}
	}
	for limit, accepted := range m.accepted {
		if accepted && m.ran[limit] == 0 {
			left = append(left, limit+" was ordered, and nothing came of it")
		}
	}
	return left
}

// keepsNoKey checks that the key is in no file of the daemon.
func (m *machine) keepsNoKey() {
	out, err := exec.Command("grep", "-rlF", dummyKey, filepath.Join(m.home, ".local"), filepath.Join(m.home, "run")).Output()
	require.Empty(m.t, string(out))
	require.ErrorContains(m.t, err, "exit status 1")
}
