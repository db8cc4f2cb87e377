package notify

import (
	"errors"

	"github.com/godbus/dbus/v5"
)

// nobodyShows reports whether an error means that no notification server runs
// on the bus.
func nobodyShows(err error) bool {
	failure, ok := errors.AsType[dbus.Error](err)
	if !ok {
		return false
	}
	switch failure.Name {
	case "org.freedesktop.DBus.Error.ServiceUnknown",
		"org.freedesktop.DBus.Error.NameHasNoOwner",
		"org.freedesktop.DBus.Error.Spawn.ChildExited",
		"org.freedesktop.DBus.Error.Spawn.ChildSignaled",
		"org.freedesktop.DBus.Error.Spawn.ExecFailed",
		"org.freedesktop.DBus.Error.Spawn.Failed",
		"org.freedesktop.DBus.Error.Spawn.ServiceNotFound":
		return true
	}
	return false
}
