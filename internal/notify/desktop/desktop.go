// Package desktop shows notices on the desktop of the user who runs the daemon, with D-Bus, or with
// osascript on macOS.
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
	"sync/atomic"
	"time"

	"github.com/godbus/dbus/v5"

	"resumed/internal/notify"
	"resumed/internal/resume"
)

// Options configure the desktop channel.
type Options struct {
	notify.Common
	notify.Orders // a popup has only the button to retry
}

// sender shows notices as popups. Without a session bus or a notification server, the error of Send is
// Missing.
type sender struct {
	options Options
	sending sync.Mutex // one try at a time

	life    context.Context    // of the orders that people give; ends with the channel
	end     context.CancelFunc // ends life
	running sync.WaitGroup     // orders, and the goroutine that reads signals

	conn atomic.Pointer[dbus.Conn]

	mu    sync.Mutex // guards everything that follows
	owner string     // the bus name of the notification server
	shown popups
}

// mostLines is how much of a text a desktop shows: with the title that is four lines.
const mostLines = 3

// New checks the options; it connects to nothing.
func New(o Options) (*notify.Channel, error) {
	o.Lines, o.To = mostLines, "desktop"
	d := &sender{options: o}
	d.life, d.end = context.WithCancel(context.Background())
	if o.Memory != nil {
		// Only the display depends on it: data that cannot be read is ignored.
		if data, found := o.Memory.Value(d.memoryKey()); found && json.Unmarshal(data, &d.shown) != nil {
			d.shown = popups{}
		}
	}
	return notify.NewChannel(o.Common, d)
}

func (d *sender) memoryKey() string { return "notify/desktop/" + d.options.Name }

func (d *sender) Send(ctx context.Context, n notify.Notice) (string, error) {
	d.sending.Lock()
	defer d.sending.Unlock()
	if runtime.GOOS == "darwin" {
		return sendByScript(ctx, n)
	}
	conn, err := d.connect(ctx)
	if err != nil {
		return "", err
	}
	can, err := d.capabilities(ctx, conn)
	if err != nil {
		return "", explain(ctx, "ask notification server", err)
	}
	answer, err := d.show(ctx, conn, n, can)
	return answer, explain(ctx, "show notice", err)
}

// connect returns the connection, or a new one if the old one has ended. It stays open after a notice
// is shown: buttons are pressed later.
func (d *sender) connect(ctx context.Context) (*dbus.Conn, error) {
	if conn := d.conn.Load(); conn != nil && conn.Connected() {
		return conn, nil
	}
	conn, err := dial(ctx)
	if err != nil {
		return nil, &notify.SendError{Missing: true, Err: err}
	}
	if err := conn.AddMatchSignalContext(ctx, dbus.WithMatchInterface(notifications), dbus.WithMatchObjectPath(notificationsPath)); err != nil {
		conn.Close()
		return nil, explain(ctx, "listen to notification server", err)
	}
	signals := make(chan *dbus.Signal, 16)
	conn.Signal(signals)
	d.conn.Store(conn)
	d.running.Go(func() {
		for s := range signals { // closed with the connection
			d.observe(s)
		}
	})
	return conn, nil
}

func (d *sender) capabilities(ctx context.Context, conn *dbus.Conn) (can []string, err error) {
	// This comes first: it may start the server.
	if err := call(ctx, conn, "GetCapabilities").Store(&can); err != nil {
		return nil, err
	}
	var bus, owner string
	err = errors.Join(conn.BusObject().CallWithContext(ctx, "org.freedesktop.DBus.GetId", 0).Store(&bus),
		conn.BusObject().CallWithContext(ctx, "org.freedesktop.DBus.GetNameOwner", 0, notifications).Store(&owner))
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.owner = owner
	if server := bus + " " + owner; d.shown.Server != server { // another server shows none of our popups
		d.shown = popups{Server: server}
	}
	return can, nil
}

const retryAction = "retry"

func (d *sender) show(ctx context.Context, conn *dbus.Conn, n notify.Notice, can []string) (answer string, err error) {
	p, sessions := popup{At: n.At}, n.Keys()
	for _, key := range sessions {
		p.Keys = append(p.Keys, key.String())
	}
	if len(p.Keys) == 0 {
		p.Keys = []string{"event " + string(n.Event)}
	}
	needsPerson := n.Event == notify.GaveUp || n.Event == notify.Parked
	d.mu.Lock()
	overtaken := d.shown.overtaken(p)
	_, old := d.shown.without(p.Keys)
	d.mu.Unlock()
	if overtaken && !needsPerson { // it waited for a desktop, and later notices did not
		return "not shown: later news is on the screen", nil
	}
	var replaces uint32
	if len(old) > 0 {
		replaces, old = old[0], old[1:]
	}
	var actions []string
	if needsPerson && d.options.Order != nil && len(sessions) > 0 && slices.Contains(can, "actions") {
		actions, p.retry = []string{retryAction, n.RetryLabel()}, sessions
	}
	urgency := byte(1)
	if needsPerson {
		urgency = 2
	}
	hints := map[string]dbus.Variant{"urgency": dbus.MakeVariant(urgency)}
	err = call(ctx, conn, "Notify", "resumed", replaces, "", n.Title, body(n.Text, can), actions, hints, int32(-1)).Store(&p.ID)
	if err != nil {
		return "", err
	}
	d.mu.Lock()
	rest, _ := d.shown.without(p.Keys)
	d.shown.Shown = append(rest[max(0, len(rest)+1-maxPopups):], p)
	d.store()
	d.mu.Unlock()
	for _, other := range old {
		call(ctx, conn, "CloseNotification", other) // best effort: it is old news, and may be gone already
	}
	return fmt.Sprintf("shown as %d", p.ID), nil
}

var markup = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

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

func (d *sender) observe(s *dbus.Signal) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s.Sender != d.owner || len(s.Body) < 2 {
		return
	}
	i := slices.IndexFunc(d.shown.Shown, func(p popup) bool { return s.Body[0] == any(p.ID) })
	if i < 0 {
		return
	}
	switch s.Name {
	case notifications + ".ActionInvoked":
		sessions := d.shown.Shown[i].retry
		d.shown.Shown[i].retry = nil // a second press does not order again
		if s.Body[1] == any(retryAction) {
			d.running.Go(func() { // it waits for the engine and the disk
				for _, key := range sessions {
					d.options.Order(d.life, notify.RetryNow, key)
				}
			})
		}
	case notifications + ".NotificationClosed":
		d.shown.Shown = slices.Delete(d.shown.Shown, i, i+1)
		d.store()
	}
}

// store stores the shown popups for the next start. The caller holds d.mu.
func (d *sender) store() {
	if data, err := json.Marshal(d.shown); err == nil && d.options.Memory != nil {
		d.options.Memory.PutValue(d.memoryKey(), data)
	}
}

// Close ends the connection. Notices stay on the screen, but their buttons do nothing any more.
func (d *sender) Close() error {
	d.end()
	defer d.running.Wait()
	if conn := d.conn.Swap(nil); conn != nil {
		return conn.Close()
	}
	return nil
}

func explain(ctx context.Context, act string, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", act, context.Cause(ctx))
	case noServer(err):
		return &notify.SendError{Missing: true, Err: errNoServer}
	case errors.Is(err, dbus.ErrClosed):
		return &notify.SendError{Missing: true, Err: errors.New("the desktop session has ended")}
	default:
		return fmt.Errorf("%s: %w", act, err)
	}
}

// popups are the notices that a desktop shows, as far as known. The ids of popups are valid only for
// the server that assigned them.
type popups struct {
	Server string  `json:"server"` // the bus and the connection of the server
	Shown  []popup `json:"shown"`
}

type popup struct {
	ID   uint32    `json:"id"`
	Keys []string  `json:"keys"`        // the sessions that it is about; without sessions, its event
	At   time.Time `json:"at,omitzero"` // of the notice

	retry []resume.Key // what its button retries
}

const maxPopups = 200

// overtaken reports whether the screen shows later news about all keys of a new popup.
func (p *popups) overtaken(next popup) bool {
	for _, key := range next.Keys {
		later := func(shown popup) bool { return shown.At.After(next.At) && slices.Contains(shown.Keys, key) }
		if !slices.ContainsFunc(p.Shown, later) {
			return false
		}
	}
	return true
}

// without returns what is left on the screen after news about these keys, and the popups of which
// nothing is left. Popups stay if they are also about other sessions.
func (p *popups) without(keys []string) (rest []popup, covered []uint32) {
	for _, old := range p.Shown {
		old.Keys = slices.DeleteFunc(slices.Clone(old.Keys), func(k string) bool { return slices.Contains(keys, k) })
		if len(old.Keys) > 0 {
			rest = append(rest, old)
		} else {
			covered = append(covered, old.ID)
		}
	}
	return rest, covered
}
