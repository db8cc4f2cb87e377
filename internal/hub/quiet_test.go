//go:build linux && !race

package hub

import (
	"testing"

	"github.com/nats-io/nats-server/v2/server/pse"
	"github.com/stretchr/testify/require"
)

// If this fails, the library has changed: see what wakes up a daemon that rests.
func TestTheServersLibraryDoesNotLookAtTheProcessEverySecond(t *testing.T) {
	var cpu float64
	var resident, virtual int64
	require.Error(t, pse.ProcUsage(&cpu, &resident, &virtual), "it has no file to read")
}
