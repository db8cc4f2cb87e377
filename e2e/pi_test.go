package e2e

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/agenttest"
	"resumed/internal/leash"
	"resumed/internal/resume"
)

// otherModel is a session whose model is not in pi's configuration any more: pi itself would
// continue with the model for new sessions.
var otherModel = situation{"its model is gone", func(t *testing.T, b *box, row *result) {
	answer := agenttest.RateLimit(0)
	row.provider = string(answer.Kind())
	b.start(b.config())
	b.hold(true)
	b.provider.Script(b.step("one"), answer)
	b.provider.Upon("continue", b.step("two"), agenttest.Text("All done."))
	b.begin(prompt).wait(t)
	s := b.untilState(resume.Waiting)
	before := b.refused()
	b.change(".pi/agent/models.json", `{"id":"fake"},`, "")
	b.hold(false)
	b.finished(s, before, 1, once)
	for _, r := range b.provider.Requests() {
		require.Equal(t, "fake", r.Model)
	}
	row.said, row.did, row.outcome = saw(s), "continued once with its own model", "finished"
}}

// startUnseen is a session of pi, whose title hides its flags: it waits for its user's word.
var startUnseen = situation{"its flags are hidden", func(t *testing.T, b *box, row *result) {
	answer := agenttest.RateLimit(0)
	row.provider = string(answer.Kind())
	b.kit.unseen = "park"
	b.start(b.config())
	b.provider.Script(b.step("one"), answer)
	b.provider.Upon("continue", b.step("two"), agenttest.Text("All done."))
	b.begin(prompt).wait(t)
	s := b.untilState(resume.Parked)
	require.Contains(t, s.Reason, "its start was not seen")
	before := b.refused()
	b.mustStayQuiet(before, 0)
	_, err := b.ask("retry", "--now", s.ID)
	require.NoError(t, err)
	b.finished(s, before, 1, once)
	row.said, row.did, row.outcome = saw(s), "parked it, and continued once at its user's word", "finished"
}}

// piFlag is a line of pi's help: the names of a flag, and its value.
var piFlag = regexp.MustCompile(`(?m)^ {2}(--[\w-]+(?:, -\w+)?)(?: (<\S+>|\[\S+\]))?(?: \[output\])? {2,}`)

// TestEveryFlagOfPiIsKnown looks whether the table has every flag that the program
// tells of, and whether it has values there as it has here.
func TestEveryFlagOfPiIsKnown(t *testing.T) {
	for _, k := range []kit{bundled(pi("1.5.0")), pi("0.87.1")} {
		if !wanted(k.agent) {
			t.Skip("SKIPPED: E2E does not ask for it")
		}
		bin, _ := install(t, k)
		b, table := newBox(t, k, bin), flagsOf(t, k.agent)
		cmd := exec.CommandContext(t.Context(), filepath.Join(bin, k.program), "--help")
		cmd.Env, cmd.Dir = b.env(), b.work
		out, err := cmd.Output()
		require.NoError(t, err, string(out))
		found := piFlag.FindAllStringSubmatch(string(out), -1)
		require.Greater(t, len(found), 35, "the help is read")
		for _, f := range found {
			want := helpTakes(f[2])
			if strings.HasPrefix(f[1], "--print") {
				want = leash.Maybe // the prompt may follow
			}
			for name := range strings.SplitSeq(f[1], ", ") {
				require.Equal(t, want, table.Takes(name), name)
			}
		}
	}
}
