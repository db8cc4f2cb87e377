package e2e

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agenttest"
	"resumed/internal/control"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// paid is a session that its user has go on with a key of their own after a usage limit. When
// the key is refused it waits for the limit, and goes on with the account that it had.
var paid = situation{"usage limit, with an own_key_file", func(t *testing.T, b *box, row *result) {
	const own = "sk-ant-REDACTED"
	row.provider = "usage limit, and no more credit for the key"
	b.write("my.key", own+"\n")
	b.start(b.config() + "[[agent]]\nname = \"claude-code\"\nown_key_file = \"~/my.key\"\nbudget = \"5 USD a session, 20 USD a month\"\n")
	b.provider.Script(b.step("one"), agenttest.UsageLimit(90*time.Second))
	agent := b.launch(filepath.Join(b.bin, "claude"), "-p", prompt)
	s := b.untilState(resume.Waiting)
	agent.wait(t)
	require.Equal(t, limit.UsageLimit, s.Class)
	row.said = saw(s)
	b.until("what it has cost is known", func() bool {
		out, err := b.ask("status", "--json", s.ID)
		var status control.Status
		return err == nil && json.Unmarshal(out, &status) == nil && status.Sessions[0].OwnKey != nil && status.Sessions[0].OwnKey.Cost != nil
	})

	b.provider.Script(b.step("two"), agenttest.Unauthorized())
	_, err := b.ask("retry", s.ID, "--own-key", "--yes")
	require.NoError(t, err)
	s = b.untilState(resume.Watching)
	require.Contains(t, s.Reason, "with your own key")
	s = b.untilState(resume.Waiting)
	require.Contains(t, s.Reason, "your own key was refused")
	b.provider.Script(agenttest.Text("All done."))
	require.Equal(t, "one two", b.done())
	b.until("it is known what it has cost", func() bool { return strings.Contains(b.log.String(), "a run with your own key is over") })

	s = b.untilState(resume.Watching)
	require.NotContains(t, s.Reason, "own key")
	var keys []string
	for _, r := range b.provider.Requests() {
		keys = append(keys, r.Key)
	}
	require.Equal(t, []string{dummy, own, dummy}, changes(keys))
	require.NotContains(t, b.log.String(), own)
	row.did, row.outcome = "continued with the key, and after the limit with the account", "finished"
}}
