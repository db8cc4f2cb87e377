package agent

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A program that starts itself in a container is not its forebear there; one that a
// person runs in a container of their own is another one.
func TestWhatAProgramStartedInItsOwnSandboxIsNoOther(t *testing.T) {
	outer := Process{PID: 1, Args: []string{"--sandbox"}}
	inner := Process{PID: 2, Args: []string{"--sandbox"}, sandboxed: true}
	require.Equal(t, []Process{outer}, begun([]Process{inner, outer}))
	inner.sandboxed = false
	require.Len(t, begun([]Process{inner, outer}), 2)
	require.Len(t, begun([]Process{{PID: 3, sandboxed: true}, outer}), 2, "of other arguments")
}
