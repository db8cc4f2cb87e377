package main

import (
	"os"
	"strings"
	"testing"

	"github.com/godbus/dbus/v5"
	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
	"resumed/internal/sessionbus/bustest"
)

// A resume that a person stops must not start a moment later.
func TestACommandThatIsBeingStartedCanBeStopped(t *testing.T) {
	b := newBox(t)
	b.write(configFile, fastBackoff+bot)
	b.write("bot/resume.sh", recordCall+"exec sleep 600\n")
	bus := bustest.Start(t)
	ordered, begin := make(chan struct{}), make(chan struct{})
	bus.Manager(t).Behave(func(m *bustest.Manager) {
		m.Before = func() *dbus.Error { // it takes some time
			close(ordered)
			<-begin
			return nil
		}
	})
	b.write("runtime/systemd/private", "")
	b.vars = []string{"INVOCATION_ID=1", "NOTIFY_SOCKET=" + b.path("no-manager"), "DBUS_SESSION_BUS_ADDRESS=" + bus.Address}
	b.start()
	b.write("bot/logs/s1.log", "rate limited\n")
	<-ordered

	done := make(chan int, 1)
	go func() { _, _, code := b.run("cancel", "--stop", "s1"); done <- code }()
	b.untilState("s1", resume.Watching)
	close(begin)
	require.Zero(t, <-done)
	b.until("the command is known", func() bool { return strings.Contains(b.logged(), "msg=resumed") })
	for _, pid := range b.marked() {
		t.Errorf("process %s still runs", pid)
	}
}

// marked returns the running processes of the box that a resume has started.
func (b *box) marked() []string {
	entries, err := os.ReadDir("/proc")
	require.NoError(b.t, err)
	var all []string
	for _, entry := range entries {
		environ, _ := os.ReadFile("/proc/" + entry.Name() + "/environ")
		if text := "\x00" + string(environ); strings.Contains(text, "\x00HOME="+b.home+"\x00") && strings.Contains(text, "\x00RESUMED_MARK=") {
			all = append(all, entry.Name())
		}
	}
	return all
}
