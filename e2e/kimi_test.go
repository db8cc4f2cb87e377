package e2e

import (
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agenttest"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// trusted lets Kimi Code trust the directory, and types the prompt.
func trusted(p *pane, prompt string) {
	p.until("a question", func(screen string) bool { return strings.Contains(screen, "Trust this folder?") })
	p.press("Enter")
	p.until("where to type", func(screen string) bool { return strings.Contains(screen, "No session yet") })
	p.write(prompt)
	p.until("what was typed", func(screen string) bool { return strings.Contains(screen, prompt) })
	p.until("what was sent", func(screen string) bool {
		if !strings.Contains(screen, "✨ "+prompt) && !strings.Contains(screen, "session_") {
			time.Sleep(2 * time.Second) // Enter within a burst of keys is a new line of the prompt
			p.press("Enter")
			time.Sleep(2 * time.Second)
		}
		return strings.Contains(p.screen(), "✨ "+prompt)
	})
}

// asking is a session of Kimi Code in a terminal that asks before it runs a command. Its
// runs without a terminal never ask: it is left to its person.
var asking = situation{"a session that asks", func(t *testing.T, b *box, row *result) {
	answer := agenttest.Allowance()
	row.provider = string(answer.Kind())
	b.kit.talk = func(string) []string { return []string{"kimi"} }
	b.start(b.config())
	b.provider.Script(b.step("one"), answer)
	p := b.talk(prompt)
	p.until("a question", func(screen string) bool { return strings.Contains(screen, "Run this command?") })
	p.press("1")
	s := b.untilState(resume.Waiting)
	require.Equal(t, limit.UsageLimit, s.Class)
	require.Equal(t, "one", b.done())
	b.untilHeld()
	before := b.provider.Requests()
	p.kill()
	s = b.untilState(resume.Parked)
	require.Contains(t, s.Reason, "kimi -p never asks")
	b.mustStayQuiet(before, 0)
	row.said, row.did, row.outcome = saw(s), "parked it", "left to a person"
}}

// waiting is a run of Kimi Code that waits for as long as its provider asked, and is
// killed meanwhile: it is continued when that time is over, and not before.
var waiting = situation{"killed in a long wait", func(t *testing.T, b *box, row *result) {
	answer := agenttest.RateLimit(65 * time.Second)
	row.provider = string(answer.Kind())
	b.extra = append(b.extra, "KIMI_LOOP_MAX_ATTEMPTS_PER_STEP=3")
	b.start(b.config())
	b.provider.Script(b.step("one"), answer)
	b.provider.Upon("continue", b.step("two"), agenttest.Text("All done."))
	agent := b.begin(prompt)
	s := b.untilState(resume.Waiting)
	require.Equal(t, limit.RateLimit, s.Class)
	before := b.refused()
	reset := before[len(before)-1].Reset
	require.NotNil(t, s.ResetAt)
	require.WithinDuration(t, reset, *s.ResetAt, 30*time.Second)
	require.False(t, agent.ended(), "it waits")
	require.NoError(t, syscall.Kill(-agent.cmd.Process.Pid, syscall.SIGKILL))
	agent.wait(t)
	b.finished(s, before, 1, once)
	row.said, row.did, row.outcome = saw(s), "continued once, when the time was over", "finished"
}}

// TestEveryFlagOfKimiIsKnown looks whether the table has every flag that the program
// tells of, and whether it has values there as it has here.
func TestEveryFlagOfKimiIsKnown(t *testing.T) {
	k := kimi("2.1.0")
	if !wanted(k.agent) {
		t.Skip("SKIPPED: E2E does not ask for it")
	}
	bin, _ := install(t, k)
	b, table := newBox(t, k, bin), flagsOf(t, k.agent)
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, k.program), "--help")
	cmd.Env, cmd.Dir = b.env(), b.work
	out, err := cmd.Output()
	require.NoError(t, err, string(out))
	found := commanderFlag.FindAllStringSubmatch(string(out), -1)
	require.Greater(t, len(found), 12, "the help is read")
	for _, f := range found {
		for name := range strings.SplitSeq(f[1], ", ") {
			require.Equal(t, commanderTakes(f[2]), table.Takes(name), name)
		}
	}
}
