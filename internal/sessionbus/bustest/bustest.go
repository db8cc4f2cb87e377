// Package bustest gives tests their own session bus, with a service manager on it.
package bustest

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const config = `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>unix:path=%s</listen>
<policy context="default"><allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/></policy>
</busconfig>`

// Bus is a running D-Bus daemon.
type Bus struct {
	Dir     string // of its socket, like the runtime directory of a login
	Address string
	daemon  *exec.Cmd
}

// Session starts a bus and makes it the session bus of this process, at the path where a systemd user
// service finds it.
func Session(t *testing.T) *Bus {
	t.Helper()
	b := Start(t)
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "")
	t.Setenv("XDG_RUNTIME_DIR", b.Dir)
	return b
}

// Start starts a real D-Bus daemon.
func Start(t *testing.T) *Bus {
	t.Helper()
	program, err := exec.LookPath("dbus-daemon")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("dbus-daemon is not installed, and CI must test with it")
		}
		t.Skip("NOT TESTED WITHOUT A BUS: dbus-daemon is not installed")
	}
	dir, err := os.MkdirTemp("", "bus") // a socket's path must be short
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "bus")
	file := filepath.Join(dir, "bus.conf")
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, config, socket), 0o600))

	b := &Bus{Dir: dir, Address: "unix:path=" + socket, daemon: exec.Command(program, "--config-file="+file, "--nofork", "--print-address=1")}
	out, err := b.daemon.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, b.daemon.Start())
	t.Cleanup(b.Kill)
	_, err = bufio.NewReader(out).ReadString('\n') // it listens now
	require.NoError(t, err)
	return b
}

// Kill kills the bus, as a crash would.
func (b *Bus) Kill() {
	_ = b.daemon.Process.Kill()
	_ = b.daemon.Wait()
}
