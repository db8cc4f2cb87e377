package doctor

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Agents that are not installed share one line at the end, and what needs a person is at the beginning.
func TestAgentsThatAreNotInstalledTakeOneLine(t *testing.T) {
	agent := func(name, text string) Check { return Check{Name: "agent " + name, Status: OK, Text: text} }
	folded := (&Report{Checks: []Check{agent("a", notInstalled), agent("b", "here"), agent("c", notInstalled), {Name: "daemon", Status: Warn, Text: "not running"}}}).ForPeople()
	require.Equal(t, []Check{
		{Name: "daemon", Status: Warn, Text: "not running"},
		agent("b", "here"),
		{Name: "other agents", Status: OK, Text: "not installed: a, c"},
	}, folded)
	one := []Check{agent("b", "here"), agent("a", notInstalled)}
	require.Equal(t, one, (&Report{Checks: one}).ForPeople())
}
