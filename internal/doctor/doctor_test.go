package doctor

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Agents that are not installed share one line, after the installed ones.
func TestAgentsThatAreNotInstalledTakeOneLine(t *testing.T) {
	agent := func(name, text string) Check { return Check{Name: "agent " + name, Status: OK, Text: text} }
	folded := (&Report{Checks: []Check{agent("a", notInstalled), agent("b", "here"), agent("c", notInstalled), {Name: "daemon", Status: Warn, Text: "not running"}}}).ForPeople()
	require.Equal(t, []Check{
		agent("b", "here"),
		{Name: "other agents", Status: OK, Text: "not installed: a, c"},
		{Name: "daemon", Status: Warn, Text: "not running"},
	}, folded)
	one := []Check{agent("a", notInstalled), agent("b", "here")}
	require.Equal(t, one, (&Report{Checks: one}).ForPeople())
}
