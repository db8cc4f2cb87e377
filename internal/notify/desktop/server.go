package desktop

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/godbus/dbus/v5"

	"resumed/internal/childenv"
	"resumed/internal/notify"
	"resumed/internal/sanitize"
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

func dial(ctx context.Context) (*dbus.Conn, error) {
	conn, err := sessionbus.Dial(ctx)
	// A session that has ended may have left its socket.
	if errors.Is(err, sessionbus.ErrNone) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		err = errNoSession
	}
	return conn, err
}

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

// osascript is the program that shows notices on macOS, which has no D-Bus.
const osascript = "osascript"

// script shows its second argument under the title of its first. The text of a notice is never part of
// the script: it is an argument, and is not executed.
var script = []string{
	"-e", "on run argv",
	"-e", "display notification (item 2 of argv) with title (item 1 of argv)",
	"-e", "end run",
}

func macOS() (string, error) {
	path, err := exec.LookPath(osascript)
	if err != nil {
		err = &notify.SendError{Missing: true, Err: fmt.Errorf("find the program that shows notices: %w", err)}
	}
	return path, err
}

// sendByScript shows the notice on macOS. There are no buttons, and older notices are not replaced.
func sendByScript(ctx context.Context, n notify.Notice) (string, error) {
	program, err := macOS()
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, program, slices.Concat(script, []string{plain(n.Title), n.Text})...)
	cmd.Env = childenv.Helper(os.Environ())
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	_, ran := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil:
		return "shown", nil
	case ctx.Err() != nil:
		return "", fmt.Errorf("show notice: %w", context.Cause(ctx))
	case ran: // nobody is logged in, or it is not permitted
		return "", &notify.SendError{Missing: true, Err: fmt.Errorf("%s: %w: %s", osascript, err, sanitize.Short(string(out), 200))}
	default:
		return "", fmt.Errorf("show notice: %w", err)
	}
}

// plain returns a title that is not parsed as an option: arguments after it are not parsed either.
func plain(title string) string {
	if title == "" || strings.HasPrefix(title, "-") {
		return "resumed: " + title
	}
	return title
}
