package desktop

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/godbus/dbus/v5"

	"resumed/internal/sessionbus"
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

// Server returns the name of the program that shows notices on the user's
// desktop, or why there is none.
func Server(ctx context.Context) (string, error) {
	if runtime.GOOS == "darwin" {
		return macOS()
	}
	conn, err := sessionbus.Dial(ctx)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	var name, vendor, version, spec string
	call := conn.Object(notifications, notificationsPath).CallWithContext(ctx, notifications+".GetServerInformation", 0)
	if err := call.Store(&name, &vendor, &version, &spec); err != nil {
		return "", fmt.Errorf("ask for the notification server: %w", err)
	}
	return name + " " + version, nil
}
