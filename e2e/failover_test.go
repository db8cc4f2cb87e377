package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/agenttest"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// fallback is a model that is overloaded for longer than the agent waits: the resume goes
// on with the one that the user wrote down, and the one after that with the first again.
var fallback = situation{"overload, with a fallback_model", func(t *testing.T, b *box, row *result) {
	row.provider = "overloaded for one model"
	b.extra = append(b.extra, "CLAUDE_CODE_MAX_RETRIES=3")
	b.start(b.config() + "[[agent]]\nname = \"claude-code\"\nfallback_model = \"claude-sonnet-4-5\"\n")
	b.provider.Script(b.step("one"), agenttest.Overloaded())
	agent := b.launch(filepath.Join(b.bin, "claude"), "-p", "--model", "claude-opus-4-5", prompt)
	b.until("the first step is done", func() bool { return b.done() == "one" })
	b.provider.Busy("opus")
	b.provider.Upon("continue", b.step("two"), agenttest.RateLimit(0))
	s := b.untilState(resume.Waiting)
	agent.wait(t)
	require.Equal(t, limit.Overloaded, s.Class)
	row.said = saw(s)

	s = b.untilState(resume.Watching)
	require.Contains(t, s.Reason, "with claude-sonnet-4-5 instead of claude-opus-4-5 (fallback_model)")
	require.Equal(t, "claude-sonnet-4-5", s.Past[0].Model)
	s = b.untilState(resume.Waiting)
	require.Equal(t, limit.RateLimit, s.Class)
	require.Equal(t, "one two", b.done())
	var asked []string
	for _, r := range b.provider.Requests() {
		asked = append(asked, r.Model)
	}
	require.Equal(t, "claude-opus-4-5 claude-sonnet-4-5", strings.Join(changes(asked), " "), "its own model is tried first")

	b.provider.Busy("")
	b.provider.Script(agenttest.Text("All done."))
	b.untilState(resume.Watching)
	all := b.provider.Requests()
	last := all[len(all)-1]
	require.Equal(t, "claude-opus-4-5", last.Model, "after a limit it has its own model and no other")
	require.Equal(t, agenttest.KindText, last.Answer)
	row.did, row.outcome = "continued with the other model, and then with its own", "finished"
}}

// changes returns the list without repetitions of what stands before.
func changes(list []string) []string {
	var all []string
	for _, word := range list {
		if len(all) == 0 || all[len(all)-1] != word {
			all = append(all, word)
		}
	}
	return all
}
