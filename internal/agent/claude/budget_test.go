package claude

import (
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
)

func TestARunIsBoundedByWhatItMayCost(t *testing.T) {
	sc := newScene(t, asked(map[string]any{"permissionMode": "default"}, "work"), overload())
	bound := func(most float64) []string {
		plan, err := sc.agent.Plan(t.Context(), sc.session, agent.Prompt{Text: "continue", MaxUSD: most})
		require.NoError(t, err)
		return plan.Run.Argv
	}
	require.NotContains(t, bound(0), budgetFlag)
	argv := bound(4.1)
	require.Equal(t, []string{budgetFlag, "4.10", "continue"}, argv[len(argv)-3:])
	sc.startedWith(budgetFlag, "2")
	require.NotContains(t, bound(4.1), "4.10", "its own bound is smaller")
	require.Contains(t, bound(1.5), "1.50")
}
