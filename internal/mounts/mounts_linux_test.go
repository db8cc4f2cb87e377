package mounts

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEveryNumberHasAKnownName(t *testing.T) {
	for _, name := range magic {
		require.True(t, shared[name], name)
	}
}
