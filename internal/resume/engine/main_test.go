package engine

import (
	"os"
	"runtime/debug"
	"testing"
)

// Random histories make much garbage and use little memory: a less frequent collection saves a third of
// the time.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}
