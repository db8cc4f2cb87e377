package desktop

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
	"github.com/stretchr/testify/require"

	"resumed/internal/notify"
	"resumed/internal/notify/notifytest"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
	"resumed/internal/sessionbus/bustest"
)

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

// all returns what was shown and which popups were closed.
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

func open(t *testing.T, change ...func(*Options)) *notify.Channel {
	t.Helper()
	o := Options{Common: notify.Common{Name: "desktop", Timeout: 5 * time.Second}}
	for _, f := range change {
		f(&o)
	}
	d, err := New(o)
	require.NoError(t, err)
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func send(t *testing.T, d *notify.Channel, n notify.Notice) error {
	t.Helper()
	return d.Send(t.Context(), n).Err
}

var everything = []string{"body", "body-markup", "actions", "persistence"}

func TestDesktopShowsANoticeThatCannotBeOverlooked(t *testing.T) {
	s := newScreen(t, bustest.Session(t).Address, everything...)
	d := open(t, func(o *Options) { o.Order = func(context.Context, notify.Action, resume.Key) {} })
	n := notifytest.Notice(notify.GaveUp, 1)
	n.Text = "a <b>bold</b> & bad thing"
	require.NoError(t, send(t, d, n))
	got := s.last()
	require.Equal(t, "resumed", got.App)
	require.Equal(t, n.Title, got.Summary)
	require.Equal(t, "a &lt;b&gt;bold&lt;/b&gt; &amp; bad thing", got.Body)
	require.EqualValues(t, 2, got.Urgency)
	require.Equal(t, []string{"retry", "Retry now"}, got.Actions)

	require.NoError(t, send(t, d, notifytest.WithoutStart(notify.Parked)))
	require.Equal(t, []string{"retry", "Continue with your settings as they are now"}, s.last().Actions)

	require.NoError(t, send(t, d, notifytest.Notice(notify.Limited, 1)))
	require.EqualValues(t, 1, s.last().Urgency)
	require.Empty(t, s.last().Actions)
}

func TestDesktopUsesOnlyWhatTheServerCan(t *testing.T) {
	s := newScreen(t, bustest.Session(t).Address, "body")
	d := open(t, func(o *Options) { o.Order = func(context.Context, notify.Action, resume.Key) {} })
	n := notifytest.Notice(notify.GaveUp, 1)
	n.Text = "1 < 2"
	require.NoError(t, send(t, d, n))
	require.Equal(t, "1 < 2", s.last().Body)
	require.Empty(t, s.last().Actions)
	s.change(func() { s.can = nil })
	require.NoError(t, send(t, d, n))
	require.Empty(t, s.last().Body)
}

func TestRetryNowRetriesTheSessionsOfThePopupOnce(t *testing.T) {
	s := newScreen(t, bustest.Session(t).Address, everything...)
	pressed := make(chan resume.Key, 10)
	d := open(t, func(o *Options) { o.Order = func(_ context.Context, _ notify.Action, k resume.Key) { pressed <- k } })
	require.NoError(t, send(t, d, notifytest.Notice(notify.GaveUp, 2)))
	id := s.last().ID
	s.emit(t, "ActionInvoked", id+1, "retry") // of another program's popup
	s.emit(t, "ActionInvoked", id, "retry")
	s.emit(t, "ActionInvoked", id, "retry") // a double click

	other := notifytest.Notice(notify.GaveUp, 1)
	other.Sessions = []view.Session{notifytest.Session(9)}
	require.NoError(t, send(t, d, other))
	s.emit(t, "ActionInvoked", s.last().ID, "retry")
	var got []string
	for range 3 {
		got = append(got, (<-pressed).ID)
	}
	require.ElementsMatch(t, []string{"0000-9c1e", "0001-9c1e", "0009-9c1e"}, got)
	require.NoError(t, d.Close())
	require.Empty(t, pressed)
}

func TestRetryThatTakesLongHoldsUpNeitherSignalsNorTheEnd(t *testing.T) {
	s := newScreen(t, bustest.Session(t).Address, everything...)
	kept := &memory{puts: make(chan struct{}, 10)}
	began := make(chan struct{})
	d := open(t, func(o *Options) {
		o.Memory = kept
		o.Order = func(ctx context.Context, _ notify.Action, _ resume.Key) {
			close(began)
			<-ctx.Done()
		}
	})
	require.NoError(t, send(t, d, notifytest.Notice(notify.GaveUp, 1)))
	<-kept.puts
	id := s.last().ID
	s.emit(t, "ActionInvoked", id, "retry")
	<-began
	s.emit(t, "NotificationClosed", id, uint32(2))
	soon(t, kept.puts, "the end of the popup is heard")
	closed := make(chan struct{})
	go func() { _ = d.Close(); close(closed) }()
	soon(t, closed, "the channel ends")
}

func soon(t *testing.T, happens <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-happens:
	case <-time.After(5 * time.Second):
		t.Fatal("not within 5 s: " + what)
	}
}

func TestRecoveredReplacesThePopupItCloses(t *testing.T) {
	s := newScreen(t, bustest.Session(t).Address, everything...)
	kept := new(memory)
	remembering := func(o *Options) { o.Memory = kept }
	first := open(t, remembering)
	require.NoError(t, send(t, first, notifytest.Notice(notify.GaveUp, 3))) // of sessions 0, 1 and 2
	group := s.last().ID
	require.NoError(t, first.Close())

	d := open(t, remembering) // after a restart
	require.NoError(t, send(t, d, notifytest.Notice(notify.Recovered, 1)))
	one := s.last().ID
	require.Zero(t, s.last().Replaces, "two of the three still need a person")
	require.NoError(t, send(t, d, notifytest.Notice(notify.Recovered, 3)))
	require.Equal(t, group, s.last().Replaces)
	_, closed := s.all()
	require.Equal(t, []uint32{one}, closed, "older news of the same session goes away")
}

func TestPopupThatAPersonClosedIsNotReplaced(t *testing.T) {
	s := newScreen(t, bustest.Session(t).Address, everything...)
	kept := &memory{puts: make(chan struct{}, 10)}
	d := open(t, func(o *Options) { o.Memory = kept })
	require.NoError(t, send(t, d, notifytest.Notice(notify.GaveUp, 1)))
	<-kept.puts
	s.emit(t, "NotificationClosed", s.last().ID, uint32(2))
	<-kept.puts
	require.NoError(t, send(t, d, notifytest.Notice(notify.Recovered, 1)))
	require.Zero(t, s.last().Replaces)
}

// memory stores values across restarts of the channel, and signals each of them if a test listens.
type memory struct {
	values sync.Map
	puts   chan struct{}
}

func (m *memory) PutValue(key string, value []byte) {
	m.values.Store(key, value)
	if m.puts != nil {
		m.puts <- struct{}{}
	}
}

func (m *memory) Value(key string) ([]byte, bool) {
	value, ok := m.values.Load(key)
	if !ok {
		return nil, false
	}
	return value.([]byte), true
}

func TestPopupsOfAnotherServerAreNotReplaced(t *testing.T) {
	address := bustest.Session(t).Address
	s := newScreen(t, address, everything...)
	d := open(t)
	require.NoError(t, send(t, d, notifytest.Notice(notify.GaveUp, 1)))
	s.quit()
	err := send(t, d, notifytest.Notice(notify.Recovered, 1))
	missing, ok := errors.AsType[*notify.SendError](err)
	require.True(t, ok && missing.Missing, "%v", err)

	other := newScreen(t, address, everything...)
	other.change(func() { other.nextID = 40 })
	require.NoError(t, send(t, d, notifytest.Notice(notify.Recovered, 1)))
	require.Zero(t, other.last().Replaces, "its number 1 is somebody else's")
}

func TestFailedReplacementIsTriedAgainInThePlaceOfTheOld(t *testing.T) {
	s := newScreen(t, bustest.Session(t).Address, everything...)
	d := open(t)
	require.NoError(t, send(t, d, notifytest.Notice(notify.GaveUp, 1)))
	old := s.last().ID
	s.change(func() { s.fail = "org.example.Busy" })
	require.Error(t, send(t, d, notifytest.Notice(notify.Recovered, 1)))
	s.change(func() { s.fail = "" })
	require.NoError(t, send(t, d, notifytest.Notice(notify.Recovered, 1)))
	require.Equal(t, old, s.last().Replaces)
}

func TestNoDesktopIsUnavailableAndSaysWhy(t *testing.T) {
	t.Run("no bus", func(t *testing.T) {
		t.Setenv("DBUS_SESSION_BUS_ADDRESS", "")
		t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
		if _, err := os.Stat(fmt.Sprintf("/run/user/%d/bus", os.Getuid())); err == nil {
			t.Skip("NO-BUS NOT TESTED: this machine has a session bus in its usual place")
		}
		err := send(t, open(t), notifytest.Notice(notify.GaveUp, 1))
		missing, ok := errors.AsType[*notify.SendError](err)
		require.True(t, ok && missing.Missing, "%v", err)
		require.ErrorContains(t, err, "nobody is logged in to a desktop here")
	})
	t.Run("no server on the bus", func(t *testing.T) {
		bustest.Session(t)
		err := send(t, open(t), notifytest.Notice(notify.GaveUp, 1))
		missing, ok := errors.AsType[*notify.SendError](err)
		require.True(t, ok && missing.Missing, "%v", err)
		require.ErrorContains(t, err, "no program of this desktop session shows notices")
	})
}

func TestDesktopServerSaysWhoShowsNotices(t *testing.T) {
	address := bustest.Session(t).Address
	_, err := Server(t.Context())
	require.ErrorContains(t, err, "no program of this desktop session shows notices")
	newScreen(t, address)
	name, err := Server(t.Context())
	require.NoError(t, err)
	require.Equal(t, "screen 1.0", name)
}

// silentBus makes the session bus of this test one that never answers.
func silentBus(t *testing.T) {
	t.Helper()
	dir, err := os.MkdirTemp("", "bus")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	silent, err := net.Listen("unix", filepath.Join(dir, "bus"))
	require.NoError(t, err)
	t.Cleanup(func() { silent.Close() })
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path="+filepath.Join(dir, "bus"))
}

func TestBusThatDoesNotAnswerEndsWithTheTimeout(t *testing.T) {
	silentBus(t)
	d := open(t, func(o *Options) { o.Timeout = 100 * time.Millisecond })
	require.ErrorContains(t, send(t, d, notifytest.Notice(notify.GaveUp, 1)), "no answer within 100ms")
}

func TestDesktopIsAChannel(t *testing.T) {
	silentBus(t)
	notifytest.Conform(t, func(c notify.Common) (*notify.Channel, error) { return New(Options{Common: c}) })
}

// outbox is a store for a notifier that is never restarted.
type outbox struct {
	*memory
	mu   sync.Mutex
	open []notify.Delivery
}

func (o *outbox) StoreOutbox(open []notify.Delivery, _ string, _ []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.open = append(o.open, open...)
}

func (o *outbox) Pending() []notify.Delivery {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.open)
}

func (o *outbox) Done(_ context.Context, id, _, _ string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.open = slices.DeleteFunc(o.open, func(d notify.Delivery) bool { return d.ID == id })
	return nil
}

func (*outbox) Sync(context.Context, ...resume.Key) error { return nil }

func TestDesktopWorksThroughTheNotifier(t *testing.T) {
	s := newScreen(t, bustest.Session(t).Address, everything...)
	store := &outbox{memory: new(memory)}
	d := open(t, func(o *Options) { o.Memory, o.Events = store, notify.Events() })
	done := make(chan notify.Outcome, 10)
	n := notify.New(notify.Options{
		Store: store, Log: slog.New(slog.DiscardHandler), Config: notify.Config{Channels: []*notify.Channel{d}},
		Count: func(_ string, o notify.Outcome) { done <- o },
	})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	n.Report(notify.GaveUp, notifytest.Session(7))
	require.Equal(t, notify.Delivered, <-done)
	n.Report(notify.Recovered, notifytest.Session(7))
	require.Equal(t, notify.Delivered, <-done)
	shown, _ := s.all()
	require.Equal(t, shown[0].ID, shown[1].Replaces)
	require.True(t, strings.HasPrefix(shown[1].Summary, "api7: "))

	results, err := notify.Try(t.Context(), []*notify.Channel{d}, "desktop", "box")
	require.NoError(t, err)
	require.NoError(t, results[0].Err)
	require.Contains(t, results[0].Answer, "shown as")
	stop()
	require.NoError(t, <-ended)
}

// A notice that waited for a desktop does not replace later news about its session; a notice that needs
// a person is always shown.
func TestOldNewsDoesNotReplaceLaterNews(t *testing.T) {
	s := newScreen(t, bustest.Session(t).Address, everything...)
	d := open(t)
	gaveUp := notifytest.Notice(notify.GaveUp, 1)
	require.NoError(t, send(t, d, gaveUp))
	shown := s.last().ID

	waits := notifytest.Notice(notify.Limited, 1)
	waits.At = gaveUp.At.Add(-time.Second)
	result := d.Send(t.Context(), waits)
	require.NoError(t, result.Err)
	require.Equal(t, "not shown: later news is on the screen", result.Answer)
	require.Equal(t, shown, s.last().ID)
	require.Zero(t, s.last().Replaces)

	waits.At = gaveUp.At.Add(time.Second) // the next limit
	require.NoError(t, send(t, d, waits))
	require.Equal(t, shown, s.last().Replaces)
	require.NoError(t, send(t, d, gaveUp))
	require.NotZero(t, s.last().Replaces)
}
