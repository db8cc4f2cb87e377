// Package sessionbus connects to the user's D-Bus session bus, with the desktop and the service
// manager.
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

// Dial connects to the session bus until ctx is done: the library itself would wait forever for a bus
// that does not answer.
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

// ErrNone says that DBUS_SESSION_BUS_ADDRESS is not set, and that the usual socket does not exist.
var ErrNone = errors.New("there is no session bus")

// address returns where the bus listens. A systemd user service often has no DBUS_SESSION_BUS_ADDRESS,
// but the bus is at its usual path. The library's own search is not used: it would start a new bus that
// no program uses.
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
