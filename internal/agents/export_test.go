package agents

import (
	"testing"

	"resumed/internal/agent"
)

// Add puts one more line into the list, for the time of a test.
func Add(t *testing.T, b agent.Builtin) {
	had := builtin
	builtin = append(Builtin(), b)
	t.Cleanup(func() { builtin = had })
}
