package e2e

import (
	"fmt"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/agenttest"
	"resumed/internal/limit"
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
		b.start(b.with("cut_off = \"resume\"\n") + "[[resume.prompt_for]]\nclasses = [\"cut_off\"]\nprompt = \"continue\"\n")
		var agent *run
		b.stuck(func() { agent = b.begin(prompt) })
		require.NoError(t, syscall.Kill(-agent.cmd.Process.Pid, syscall.SIGKILL))
		s := b.untilState(resume.Waiting, resume.Resuming, resume.Settling)
		row.said = saw(s)
		require.Equal(t, limit.CutOff, s.Class)
		b.finished(s, b.refused(), 1, once)
		row.did, row.outcome = "continued once", "finished"
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

	longTool = situation{"a tool that sleeps in the middle", func(t *testing.T, b *box, row *result) {
		b.start(b.with("silent = \"10s\"\n"))
		b.provider.Script(agenttest.Tool(sleeps))
		b.begin(prompt)
		b.until("it is measured", func() bool { return strings.Contains(b.log.String(), "a tool waits for a time") })
		_, stopped := b.session()
		require.False(t, stopped)
		row.said, row.did, row.outcome = "a tool waits for a time", "nothing", "left alone"
	}}

	// Codex gives a command that takes longer than some seconds a result, and lets it run on.
	leftTool = situation{"silent, with a tool in the background that sleeps", func(t *testing.T, b *box, row *result) {
		row.provider = string(agenttest.StuckStream().Kind())
		b.start(b.with("silent = \"10s\"\n"))
		b.provider.Script(agenttest.Tool(sleeps), agenttest.StuckStream())
		b.begin(prompt)
		b.mustTellSilence(t, row)
	}}

	liveQuiet = situation{"live and silent in the middle", func(t *testing.T, b *box, row *result) {
		row.provider = string(agenttest.StuckStream().Kind())
		b.start(b.with("silent = \"10s\"\n"))
		b.stuck(func() { b.talk(prompt) })
		b.mustTellSilence(t, row)
	}}
)

const sleeps = "until test -e never; do sleep 3; done"

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
