// Package desktop shows notices on the desktop of the person who runs the
// daemon, by D-Bus, or by a script of the system on macOS.
package desktop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/godbus/dbus/v5"

	"resumed/internal/notify"
	"resumed/internal/resume"
)

// Options describe the desktop.
type Options struct {
	notify.Common

	// Retry is called when a person presses "Retry now", once for each session
	// of the notice. It may take its time, until ctx ends with the channel. Nil:
	// there is no such button.
	Retry func(ctx context.Context, session resume.Key)

	// Memory remembers over a restart which popups are shown, so that good
	// news still replaces bad; may be nil.
	Memory notify.Memory
}

// Channel shows notices as popups. Where there is no session bus or no
// notification server, Send returns a notify.UnavailableError.
type Channel struct {
	notify.Base
	memory notify.Memory

	sending sync.Mutex // one try at a time

	press   func([]resume.Key) // "Retry now" of these; returns at once; nil: there is no button
	end     context.CancelFunc // of what was pressed
	running sync.WaitGroup     // what was pressed, and the goroutine that hears signals

	mu      sync.Mutex // guards everything that follows
	conn    *dbus.Conn
	owner   string                  // the server's connection on the bus
	buttons map[uint32][]resume.Key // what "Retry now" of a popup means
	shown   popups
}

// mostLines is what a desktop shows of a text: with the title that is four lines.
const mostLines = 3

// New checks the options; it connects to nothing.
func New(o Options) (*Channel, error) {
	o.Lines = mostLines
	b, err := notify.NewBase(o.Common)
	if err != nil {
		return nil, err
	}
	d := &Channel{
		Base:    b,
		memory:  o.Memory,
		buttons: make(map[uint32][]resume.Key),
	}
	life, end := context.WithCancel(context.Background())
	d.end = end
	if o.Retry != nil {
		// An order waits for the engine and the disk. What the server says is
		// heard meanwhile.
		d.press = func(sessions []resume.Key) {
			d.running.Go(func() {
				for _, key := range sessions {
					o.Retry(life, key)
				}
			})
		}
	}
	if d.memory != nil {
		if data, found := d.memory.Value(d.memoryKey()); found {
			d.shown = decodePopups(data)
		}
	}
	return d, nil
}

func (d *Channel) memoryKey() string { return "notify/desktop/" + d.Name() }

// To returns what the channel is.
func (d *Channel) To() string { return "desktop" }

const (
	notifications     = "org.freedesktop.Notifications"
	notificationsPath = dbus.ObjectPath("/org/freedesktop/Notifications")
	retryAction       = "retry"
)

// Send shows the notice.
func (d *Channel) Send(ctx context.Context, n notify.Notice) (string, error) {
	d.sending.Lock()
	defer d.sending.Unlock()
	ctx, cancel := d.Bound(ctx)
	defer cancel()
	if runtime.GOOS == "darwin" {
		return sendByScript(ctx, n)
	}

	conn, err := d.connect(ctx)
	if err != nil {
		return "", err
	}
	can, err := d.meet(ctx, conn)
	if err != nil {
		return "", d.explain(ctx, "ask notification server", err)
	}
	id, err := d.show(ctx, conn, n, can)
	switch {
	case errors.Is(err, errOvertaken):
		return errOvertaken.Error(), nil
	case err != nil:
		return "", d.explain(ctx, "show notice", err)
	}
	return fmt.Sprintf("shown as %d", id), nil
}

// errOvertaken is the answer for old news.
var errOvertaken = errors.New("not shown: later news is on the screen")

// explain says why nothing is shown.
func (d *Channel) explain(ctx context.Context, act string, err error) error {
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", act, context.Cause(ctx))
	case nobodyShows(err):
		return &notify.UnavailableError{Err: errNobodyShows}
	case errors.Is(err, dbus.ErrClosed):
		return &notify.UnavailableError{Err: errors.New("the desktop session has ended")}
	default:
		return fmt.Errorf("%s: %w", act, err)
	}
}

// connect returns the connection, a new one where the old one has ended. It
// stays open after a notice was shown: buttons are pressed later.
func (d *Channel) connect(ctx context.Context) (*dbus.Conn, error) {
	d.mu.Lock()
	conn := d.conn
	d.mu.Unlock()
	if conn != nil && conn.Connected() {
		return conn, nil
	}
	conn, err := dial(ctx)
	if err != nil {
		return nil, &notify.UnavailableError{Err: err}
	}
	if err := conn.AddMatchSignalContext(ctx, dbus.WithMatchInterface(notifications), dbus.WithMatchObjectPath(notificationsPath)); err != nil {
		conn.Close()
		return nil, d.explain(ctx, "listen to notification server", err)
	}
	signals := make(chan *dbus.Signal, 16)
	conn.Signal(signals)
	d.mu.Lock()
	d.conn = conn
	clear(d.buttons)
	d.mu.Unlock()
	d.running.Go(func() {
		for s := range signals { // closed with the connection
			d.hear(s)
		}
	})
	return conn, nil
}

// meet finds out who shows notices and what the server can do.
func (d *Channel) meet(ctx context.Context, conn *dbus.Conn) (can []string, err error) {
	server := conn.Object(notifications, notificationsPath)
	// This first, for it may start the server.
	if err := server.CallWithContext(ctx, notifications+".GetCapabilities", 0).Store(&can); err != nil {
		return nil, err
	}
	var bus, owner string
	if err := conn.BusObject().CallWithContext(ctx, "org.freedesktop.DBus.GetId", 0).Store(&bus); err != nil {
		return nil, err
	}
	if err := conn.BusObject().CallWithContext(ctx, "org.freedesktop.DBus.GetNameOwner", 0, notifications).Store(&owner); err != nil {
		return nil, err
	}
	d.mu.Lock()
	d.owner = owner
	d.shown.meet(bus + " " + owner)
	d.mu.Unlock()
	return can, nil
}

// show puts a notice on the screen, in the place of older news of the same
// sessions.
func (d *Channel) show(ctx context.Context, conn *dbus.Conn, n notify.Notice, can []string) (uint32, error) {
	sessions, keys := subjects(n)
	calls := n.Event == notify.GaveUp || n.Event == notify.Parked
	d.mu.Lock()
	if !calls && d.shown.overtaken(keys, n.At) { // it waited for a desktop, and others did not
		d.mu.Unlock()
		return 0, errOvertaken
	}
	before := popups{Server: d.shown.Server, Shown: slices.Clone(d.shown.Shown)}
	old := d.shown.supersede(keys)
	d.mu.Unlock()

	var replaces uint32
	if len(old) > 0 {
		replaces = old[0]
	}
	var actions []string
	if calls && d.press != nil && len(sessions) > 0 && slices.Contains(can, "actions") {
		actions = []string{retryAction, "Retry now"}
	}
	urgency := byte(1)
	if calls {
		urgency = 2
	}
	hints := map[string]dbus.Variant{"urgency": dbus.MakeVariant(urgency)}
	server := conn.Object(notifications, notificationsPath)
	var id uint32
	err := server.CallWithContext(ctx, notifications+".Notify", 0, "resumed", replaces, "",
		n.Title, body(n.Text, can), actions, hints, int32(-1)).Store(&id)

	d.mu.Lock()
	if err != nil {
		d.shown = before // what was to be replaced is still there
		d.mu.Unlock()
		return 0, err
	}
	d.shown.show(id, keys, n.At)
	delete(d.buttons, id)
	if len(actions) > 0 {
		d.buttons[id] = sessions
	}
	d.mu.Unlock()
	d.remember()
	for _, other := range old[min(1, len(old)):] {
		// Best effort: it is old news, and may be gone already.
		server.CallWithContext(ctx, notifications+".CloseNotification", 0, other)
	}
	return id, nil
}

// subjects are what a notice is about, for buttons and for replacing. Without
// sessions the event is its own subject.
func subjects(n notify.Notice) (sessions []resume.Key, keys []string) {
	for _, v := range n.Sessions {
		sessions = append(sessions, v.Key())
		keys = append(keys, v.Key().String())
	}
	if len(keys) == 0 {
		keys = []string{"event " + string(n.Event)}
	}
	return sessions, keys
}

var markup = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// body is a text as the server can show it.
func body(text string, can []string) string {
	switch {
	case !slices.Contains(can, "body"):
		return ""
	case slices.Contains(can, "body-markup"):
		return markup.Replace(text)
	default:
		return text
	}
}

// hear acts on what the server says.
func (d *Channel) hear(s *dbus.Signal) {
	d.mu.Lock()
	known := s.Sender == d.owner
	d.mu.Unlock()
	if !known || len(s.Body) < 2 {
		return
	}
	id, ok := s.Body[0].(uint32)
	if !ok {
		return
	}
	switch s.Name {
	case notifications + ".ActionInvoked":
		d.mu.Lock()
		sessions := d.buttons[id]
		delete(d.buttons, id) // a second press is no second order
		d.mu.Unlock()
		if len(sessions) > 0 && s.Body[1] == any(retryAction) {
			d.press(sessions)
		}
	case notifications + ".NotificationClosed":
		d.mu.Lock()
		d.shown.forget(id)
		delete(d.buttons, id)
		d.mu.Unlock()
		d.remember()
	}
}

// remember keeps what is shown over a restart.
func (d *Channel) remember() {
	if d.memory == nil {
		return
	}
	d.mu.Lock()
	data, err := json.Marshal(d.shown)
	d.mu.Unlock()
	if err == nil {
		d.memory.PutValue(d.memoryKey(), data)
	}
}

// Close ends the connection. Notices stay on the screen; their buttons do
// nothing any more.
func (d *Channel) Close() error {
	d.mu.Lock()
	conn := d.conn
	d.conn = nil
	d.mu.Unlock()
	var err error
	if conn != nil {
		err = conn.Close()
	}
	d.end()
	d.running.Wait()
	return err
}
