// Package sessionbus reaches the D-Bus of the user's login, on which desktop
// and service manager answer.
package sessionbus

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/godbus/dbus/v5"

	"resumed/internal/dirs"
)

// Dial connects to the session bus, and gives up with ctx: the library itself
// would wait for ever for a bus that does not answer.
func Dial(ctx context.Context) (*dbus.Conn, error) {
	address, err := address()
	if err != nil {
		return nil, err
	}
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

// ErrNone says that DBUS_SESSION_BUS_ADDRESS is not set, and that there is no socket in
// the usual place.
var ErrNone = errors.New("there is no session bus")

// address returns where the bus listens. A systemd user service often has no
// DBUS_SESSION_BUS_ADDRESS, but the bus has its usual place. The library's own
// search is not used: it would start a bus of its own, which nobody looks at.
func address() (string, error) {
	if address := os.Getenv("DBUS_SESSION_BUS_ADDRESS"); address != "" && address != "autolaunch:" {
		return address, nil
	}
	told, _ := dirs.Login(os.Getenv)
	usual, _ := dirs.Login(func(string) string { return "" })
	for _, dir := range []string{told, usual} {
		path := filepath.Join(dir, "bus")
		if info, err := os.Stat(path); err == nil && info.Mode().Type() == os.ModeSocket {
			return "unix:path=" + dbus.EscapeBusAddressValue(path), nil
		}
	}
	return "", ErrNone
}
