package engine

import (
	"os"
	"runtime/debug"
	"testing"
)

// Random histories make garbage by the million and keep little: to look for it less often saves a
// third of what these tests cost.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}
