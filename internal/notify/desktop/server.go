package desktop

import (
	"context"
	"errors"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/godbus/dbus/v5"

	"resumed/internal/sessionbus"
)

const (
	notifications     = "org.freedesktop.Notifications"
	notificationsPath = dbus.ObjectPath("/org/freedesktop/Notifications")
)

var (
	errNoSession = errors.New("nobody is logged in to a desktop here")
	errNoServer  = errors.New("no program of this desktop session shows notices")
)

// dial connects to the session bus.
func dial(ctx context.Context) (*dbus.Conn, error) {
	conn, err := sessionbus.Dial(ctx)
	// A session that has ended may have left its socket.
	if errors.Is(err, sessionbus.ErrNone) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		err = errNoSession
	}
	return conn, err
}

// call calls a method of the notification server.
func call(ctx context.Context, conn *dbus.Conn, method string, args ...any) *dbus.Call {
	return conn.Object(notifications, notificationsPath).CallWithContext(ctx, notifications+"."+method, 0, args...)
}

// noServer reports whether an error means that no notification server runs, and none could be started.
func noServer(err error) bool {
	failure, _ := errors.AsType[dbus.Error](err)
	name, _ := strings.CutPrefix(failure.Name, "org.freedesktop.DBus.Error.")
	return slices.Contains([]string{"ServiceUnknown", "NameHasNoOwner"}, name) || strings.HasPrefix(name, "Spawn.")
}

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
	err = call(ctx, conn, "GetServerInformation").Store(&name, &vendor, &version, &spec)
	return name + " " + version, explain(ctx, "ask the desktop session which program shows notices", err)
}
