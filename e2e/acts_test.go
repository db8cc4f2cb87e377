package e2e

import (
	"cmp"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/agenttest"
	"resumed/internal/resume"
)

// TestAResumeIsOneTurn tries the newest Claude Code with the switch that programs which host it set: it continues a turn that
// was cut off as soon as it starts. 2.1.328 made two turns of a resume with it.
func TestAResumeIsOneTurn(t *testing.T) {
	k := claude("")
	if !wanted(k.agent) {
		t.Skip("SKIPPED: E2E does not ask for it")
	}
	k.version = cmp.Or(newestOf(t, k.npm), "2.1.328")
	const acts = "CLAUDE_CODE_RESUME_INTERRUPTED_TURN"
	for name, c := range map[string]struct {
		variables []string
		settings  string
	}{
		"in its environment": {[]string{acts + "=1"}, ""},
		"in its settings":    {nil, `{"permissions":{"allow":["Bash"]},"env":{"` + acts + `":"1"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			bin, _ := install(t, k)
			b := newBox(t, k, bin)
			if c.settings != "" {
				b.write(".claude/settings.json", c.settings)
			}
			b.start(b.config())
			b.provider.Script(b.step("one"), agenttest.RateLimit(0).Thinking(thought))
			b.provider.Upon("continue", b.step("two"), agenttest.Text("All done."))
			agent := b.ours(c.variables, "claude", "-p", prompt)
			s := b.untilState(resume.Waiting, resume.Resuming, resume.Settling)
			agent.wait(t)
			if c.settings == "" {
				b.finished(s, b.refused(), 1, once)
				return
			}
			require.Contains(t, b.untilState(resume.Parked).Reason, "sets "+acts)
			b.mustStayQuiet(b.refused(), 0)
		})
	}
}
