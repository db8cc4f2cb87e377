package agents

import (
	"testing"

	"resumed/internal/agent"
)

// Add adds an agent to the list for one test.
func Add(t *testing.T, b agent.Builtin) {
	had := builtin
	builtin = append(Builtin(), b)
	t.Cleanup(func() { builtin = had })
}
