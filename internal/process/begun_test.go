package process

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A program that starts itself in a container is not its own ancestor there; one that a person
// runs in another container is a different one.
func TestWhatAProgramStartedInItsOwnSandboxIsNoOther(t *testing.T) {
	outer := Live{PID: 1, Args: []string{"--sandbox"}}
	inner := Live{PID: 2, Args: []string{"--sandbox"}, sandboxed: true}
	require.Equal(t, []Live{outer}, begun([]Live{inner, outer}))
	inner.sandboxed = false
	require.Len(t, begun([]Live{inner, outer}), 2)
	require.Len(t, begun([]Live{{PID: 3, sandboxed: true}, outer}), 2, "of other arguments")
}
