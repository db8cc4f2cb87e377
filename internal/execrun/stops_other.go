//go:build !linux

package execrun

// followStops is not needed where it cannot be told that a command was
// stopped.
func (t *terminal) followStops(int) {}
