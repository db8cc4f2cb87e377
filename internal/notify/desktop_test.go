package notify

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

const busConfig = `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>unix:path=%s</listen>
<policy context="default"><allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/></policy>
</busconfig>`

// realBus starts a D-Bus daemon of its own and makes it the session bus of
// this test, found where a systemd user service finds it.
func realBus(t *testing.T) (address string) {
	t.Helper()
	program, err := exec.LookPath("dbus-daemon")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("dbus-daemon is not installed, and CI must test the desktop")
		}
		t.Skip("DESKTOP NOT TESTED: dbus-daemon is not installed")
	}
	dir, err := os.MkdirTemp("", "bus") // a socket's path must be short
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "bus")
	config := filepath.Join(dir, "bus.conf")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, busConfig, socket), 0o600))

	cmd := exec.Command(program, "--config-file="+config, "--nofork", "--print-address=1")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	_, err = bufio.NewReader(out).ReadString('\n') // it listens now
	require.NoError(t, err)
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "")
	t.Setenv("XDG_RUNTIME_DIR", dir)
	return "unix:path=" + socket
}

// shownNote is one call of Notify.
type shownNote struct {
	ID, Replaces         uint32
	App, Summary, Body   string
	Actions              []string
	Urgency              byte
	SenderConnectionName string
}

// screen is a small notification server.
type screen struct {
	conn   *dbus.Conn
	can    []string
	fail   string // the name of the error that Notify answers with
	mu     sync.Mutex
	nextID uint32
	shown  []shownNote
	closed []uint32
}

func newScreen(t *testing.T, address string, can ...string) *screen {
	t.Helper()
	conn, err := dbus.Connect(address)
	require.NoError(t, err)
	s := &screen{conn: conn, can: can}
	require.NoError(t, conn.Export(screenMethods{s}, notificationsPath, notifications))
	reply, err := conn.RequestName(notifications, dbus.NameFlagDoNotQueue)
	require.NoError(t, err)
	require.Equal(t, dbus.RequestNameReplyPrimaryOwner, reply)
	t.Cleanup(s.quit)
	return s
}

func (s *screen) quit() { s.conn.Close() }

// change changes the server while it runs.
func (s *screen) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// all returns what was shown and which bubbles were closed.
func (s *screen) all() ([]shownNote, []uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.shown), slices.Clone(s.closed)
}

func (s *screen) last() shownNote {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shown[len(s.shown)-1]
}

func (s *screen) emit(t *testing.T, signal string, values ...any) {
	t.Helper()
	require.NoError(t, s.conn.Emit(notificationsPath, notifications+"."+signal, values...))
}

type screenMethods struct{ s *screen }

func (m screenMethods) GetCapabilities() ([]string, *dbus.Error) {
	m.s.mu.Lock()
	defer m.s.mu.Unlock()
	return m.s.can, nil
}

func (m screenMethods) GetServerInformation() (name, vendor, version, spec string, failure *dbus.Error) {
	return "screen", "resumed", "1.0", "1.2", nil
}

func (m screenMethods) CloseNotification(id uint32) *dbus.Error {
	m.s.mu.Lock()
	defer m.s.mu.Unlock()
	m.s.closed = append(m.s.closed, id)
	return nil
}

func (m screenMethods) Notify(from dbus.Sender, app string, replaces uint32, _, summary, body string, actions []string, hints map[string]dbus.Variant, _ int32) (uint32, *dbus.Error) {
	m.s.mu.Lock()
	defer m.s.mu.Unlock()
	if m.s.fail != "" {
		return 0, dbus.NewError(m.s.fail, nil)
	}
	id := replaces
	if id == 0 {
		m.s.nextID++
		id = m.s.nextID
	}
	urgency, _ := hints["urgency"].Value().(byte)
	m.s.shown = append(m.s.shown, shownNote{
		ID: id, Replaces: replaces, App: app, Summary: summary, Body: body,
		Actions: actions, Urgency: urgency, SenderConnectionName: string(from),
	})
	return id, nil
}

func desktop(t *testing.T, change ...func(*DesktopOptions)) *Desktop {
	t.Helper()
	o := DesktopOptions{Common: Common{Name: "desktop"}, Timeout: 5 * time.Second}
	for _, f := range change {
		f(&o)
	}
	d, err := NewDesktop(o)
	require.NoError(t, err)
	t.Cleanup(func() { _ = d.Close() })
	return d
}

var everything = []string{"body", "body-markup", "actions", "persistence"}

func TestDesktopShowsANoticeThatCannotBeOverlooked(t *testing.T) {
	s := newScreen(t, realBus(t), everything...)
	d := desktop(t, func(o *DesktopOptions) { o.Retry = func(resume.Key) {} })
	n := sample(GaveUp, 1)
	n.Text = "a <b>bold</b> & bad thing"
	require.NoError(t, d.Send(t.Context(), n))
	got := s.last()
	require.Equal(t, "resumed", got.App)
	require.Equal(t, n.Title, got.Summary)
	require.Equal(t, "a &lt;b&gt;bold&lt;/b&gt; &amp; bad thing", got.Body)
	require.EqualValues(t, 2, got.Urgency)
	require.Equal(t, []string{"retry", "Retry now"}, got.Actions)

	require.NoError(t, d.Send(t.Context(), sample(Limited, 1)))
	require.EqualValues(t, 1, s.last().Urgency)
	require.Empty(t, s.last().Actions)
}

func TestDesktopUsesOnlyWhatTheServerCan(t *testing.T) {
	s := newScreen(t, realBus(t), "body")
	d := desktop(t, func(o *DesktopOptions) { o.Retry = func(resume.Key) {} })
	n := sample(GaveUp, 1)
	n.Text = "1 < 2"
	require.NoError(t, d.Send(t.Context(), n))
	require.Equal(t, "1 < 2", s.last().Body)
	require.Empty(t, s.last().Actions)
	s.change(func() { s.can = nil })
	require.NoError(t, d.Send(t.Context(), n))
	require.Empty(t, s.last().Body)
}

func TestRetryNowRetriesTheSessionsOfTheBubbleOnce(t *testing.T) {
	s := newScreen(t, realBus(t), everything...)
	pressed := make(chan resume.Key, 10)
	d := desktop(t, func(o *DesktopOptions) { o.Retry = func(k resume.Key) { pressed <- k } })
	require.NoError(t, d.Send(t.Context(), sample(GaveUp, 2)))
	id := s.last().ID
	s.emit(t, "ActionInvoked", id+1, "retry") // of somebody else's bubble
	s.emit(t, "ActionInvoked", id, "retry")
	s.emit(t, "ActionInvoked", id, "retry") // a double click

	other := sample(GaveUp, 1)
	other.Sessions = []resume.View{session("x", 9)}
	require.NoError(t, d.Send(t.Context(), other))
	s.emit(t, "ActionInvoked", s.last().ID, "retry")
	for _, want := range []string{"0000-9c1e", "0001-9c1e", "0009-9c1e"} {
		require.Equal(t, resume.Key{Agent: "claude-code", ID: want}, <-pressed)
	}
}

func TestRecoveredReplacesTheBubbleItCloses(t *testing.T) {
	s := newScreen(t, realBus(t), everything...)
	memory := newMemStore()
	remembering := func(o *DesktopOptions) { o.Memory = memory }
	first := desktop(t, remembering)
	require.NoError(t, first.Send(t.Context(), sample(GaveUp, 3))) // of sessions 0, 1 and 2
	group := s.last().ID
	require.NoError(t, first.Close())

	d := desktop(t, remembering) // after a restart
	require.NoError(t, d.Send(t.Context(), sample(Recovered, 1)))
	one := s.last().ID
	require.Zero(t, s.last().Replaces, "two of the three still need a person")
	require.NoError(t, d.Send(t.Context(), sample(Recovered, 3)))
	require.Equal(t, group, s.last().Replaces)
	_, closed := s.all()
	require.Equal(t, []uint32{one}, closed, "older news of the same session goes away")
}

func TestBubbleThatAPersonClosedIsNotReplaced(t *testing.T) {
	s := newScreen(t, realBus(t), everything...)
	memory := &watchedMemory{memStore: newMemStore(), puts: make(chan struct{}, 10)}
	d := desktop(t, func(o *DesktopOptions) { o.Memory = memory })
	require.NoError(t, d.Send(t.Context(), sample(GaveUp, 1)))
	<-memory.puts
	s.emit(t, "NotificationClosed", s.last().ID, uint32(2))
	<-memory.puts
	require.NoError(t, d.Send(t.Context(), sample(Recovered, 1)))
	require.Zero(t, s.last().Replaces)
}

// watchedMemory says when it is given something.
type watchedMemory struct {
	*memStore
	puts chan struct{}
}

func (m *watchedMemory) PutValue(key string, value []byte) {
	m.memStore.PutValue(key, value)
	m.puts <- struct{}{}
}

func TestBubblesOfAnotherServerAreNotReplaced(t *testing.T) {
	address := realBus(t)
	s := newScreen(t, address, everything...)
	d := desktop(t)
	require.NoError(t, d.Send(t.Context(), sample(GaveUp, 1)))
	s.quit()
	err := d.Send(t.Context(), sample(Recovered, 1))
	_, unavailable := errors.AsType[*UnavailableError](err)
	require.True(t, unavailable, "%v", err)

	other := newScreen(t, address, everything...)
	other.change(func() { other.nextID = 40 })
	require.NoError(t, d.Send(t.Context(), sample(Recovered, 1)))
	require.Zero(t, other.last().Replaces, "its number 1 is somebody else's")
}

func TestFailedReplacementIsTriedAgainInThePlaceOfTheOld(t *testing.T) {
	s := newScreen(t, realBus(t), everything...)
	d := desktop(t)
	require.NoError(t, d.Send(t.Context(), sample(GaveUp, 1)))
	old := s.last().ID
	s.change(func() { s.fail = "org.example.Busy" })
	require.Error(t, d.Send(t.Context(), sample(Recovered, 1)))
	s.change(func() { s.fail = "" })
	require.NoError(t, d.Send(t.Context(), sample(Recovered, 1)))
	require.Equal(t, old, s.last().Replaces)
}

func TestNoDesktopIsUnavailableAndSaysWhy(t *testing.T) {
	t.Run("no bus", func(t *testing.T) {
		t.Setenv("DBUS_SESSION_BUS_ADDRESS", "")
		t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
		if _, err := os.Stat(fmt.Sprintf("/run/user/%d/bus", os.Getuid())); err == nil {
			t.Skip("NO-BUS NOT TESTED: this machine has a session bus in its usual place")
		}
		err := desktop(t).Send(t.Context(), sample(GaveUp, 1))
		_, unavailable := errors.AsType[*UnavailableError](err)
		require.True(t, unavailable, "%v", err)
		require.ErrorContains(t, err, "no session bus")
	})
	t.Run("no server on the bus", func(t *testing.T) {
		realBus(t)
		err := desktop(t).Send(t.Context(), sample(GaveUp, 1))
		_, unavailable := errors.AsType[*UnavailableError](err)
		require.True(t, unavailable, "%v", err)
		require.ErrorContains(t, err, "no notification server")
	})
}

func TestDesktopServerSaysWhoShowsNotices(t *testing.T) {
	address := realBus(t)
	_, err := DesktopServer(t.Context())
	require.ErrorContains(t, err, "ask for the notification server")
	newScreen(t, address)
	name, err := DesktopServer(t.Context())
	require.NoError(t, err)
	require.Equal(t, "screen 1.0", name)
}

func TestBusThatDoesNotAnswerEndsWithTheTimeout(t *testing.T) {
	dir, err := os.MkdirTemp("", "bus")
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	silent, err := net.Listen("unix", filepath.Join(dir, "bus"))
	require.NoError(t, err)
	defer silent.Close()
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path="+filepath.Join(dir, "bus"))
	d := desktop(t, func(o *DesktopOptions) { o.Timeout = 100 * time.Millisecond })
	require.ErrorContains(t, d.Send(t.Context(), sample(GaveUp, 1)), "no answer within 100ms")
}

func TestDesktopWorksThroughTheNotifier(t *testing.T) {
	s := newScreen(t, realBus(t), everything...)
	store := newMemStore()
	d := desktop(t, func(o *DesktopOptions) { o.Memory, o.Events = store, Events() })
	done := make(chan Outcome, 10)
	n, err := New(Options{Store: store, Log: quiet(), Config: Config{Channels: []Channel{d}}, Count: func(_ string, o Outcome) { done <- o }})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	n.Tell(GaveUp, session("x", 7), "0007")
	require.Equal(t, Delivered, <-done)
	n.Tell(Recovered, session("x", 7), "0007")
	require.Equal(t, Delivered, <-done)
	shown, _ := s.all()
	require.Equal(t, shown[0].ID, shown[1].Replaces)
	require.True(t, strings.HasPrefix(shown[1].Summary, "api7: "))

	results, err := n.Test(t.Context(), "desktop")
	require.NoError(t, err)
	require.NoError(t, results[0].Err)
	require.Contains(t, results[0].Answer, "shown as")
	stop()
	require.NoError(t, <-ended)
}
