package desktop

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"syscall"

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

// errNoSession says what people know of having no session bus.
var errNoSession = errors.New("nobody is logged in to a desktop here")

// dial reaches the desktop session.
func dial(ctx context.Context) (*dbus.Conn, error) {
	conn, err := sessionbus.Dial(ctx)
	switch {
	case errors.Is(err, sessionbus.ErrNone):
		return nil, errNoSession
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED): // it was there, and ended
		return nil, errNoSession
	default:
		return conn, err
	}
}

// errNobodyShows says that there is a desktop session and no program in it for notices.
var errNobodyShows = errors.New("no program of this desktop session shows notices")

// Server returns the name of the program that shows notices on the user's
// desktop, or why there is none.
func Server(ctx context.Context) (string, error) {
	if runtime.GOOS == "darwin" {
		return macOS()
	}
	conn, err := dial(ctx)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	var name, vendor, version, spec string
	call := conn.Object(notifications, notificationsPath).CallWithContext(ctx, notifications+".GetServerInformation", 0)
	if err := call.Store(&name, &vendor, &version, &spec); err != nil {
		if nobodyShows(err) {
			return "", errNobodyShows
		}
		return "", fmt.Errorf("ask the desktop session who shows notices: %w", err)
	}
	return name + " " + version, nil
}
