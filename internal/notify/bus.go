package notify

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/godbus/dbus/v5"
)

// sessionBus returns the address of the session bus. A systemd user service
// often has no DBUS_SESSION_BUS_ADDRESS, but the bus has its usual place. The
// library's own search is not used: it would start a bus of its own, which
// nobody looks at.
func sessionBus() (string, error) {
	if address := os.Getenv("DBUS_SESSION_BUS_ADDRESS"); address != "" && address != "autolaunch:" {
		return address, nil
	}
	places := []string{filepath.Join("/run/user", strconv.Itoa(os.Getuid()), "bus")}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" {
		places = append([]string{filepath.Join(dir, "bus")}, places...)
	}
	for _, path := range places {
		if info, err := os.Stat(path); err == nil && info.Mode().Type() == os.ModeSocket {
			return "unix:path=" + dbus.EscapeBusAddressValue(path), nil
		}
	}
	return "", fmt.Errorf("no session bus: DBUS_SESSION_BUS_ADDRESS is not set and there is no socket %s", places[0])
}

// dialBus connects to a bus, and gives up with ctx: the library itself would
// wait for ever for a bus that does not answer.
func dialBus(ctx context.Context, address string) (*dbus.Conn, error) {
	life, end := context.WithCancel(context.Background())
	stop := context.AfterFunc(ctx, end)
	conn, err := dbus.Connect(address, dbus.WithContext(life))
	if !stop() && err == nil {
		conn.Close()
		err = context.Cause(ctx)
	}
	if err != nil {
		end()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, fmt.Errorf("connect to session bus: %w", err)
	}
	return conn, nil
}

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
