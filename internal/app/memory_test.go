package app

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLittleIsCollectedWhereLittleIsHeldAndMemoryFollowsWhatIsHeldWhereMuchIs(t *testing.T) {
	for held, percent := range map[uint64]int{0: 400, 1 << 20: 400, 8 << 20: 200, 16 << 20: 100, 32 << 20: 50, 70 << 20: 50} {
		require.Equal(t, percent, garbage(held), held)
	}
}
