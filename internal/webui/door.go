package webui

import (
	"context"
	"net"
	"slices"
	"sync"
	"syscall"
)

// What a door holds: no more than a few browsers and programs need, and never
// more than a part of what the kernel gives this process. The rest is for the
// daemon's own files, without which it sees no limit and answers no command.
const (
	mostGuests  = 128
	fewGuests   = 8
	guestsShare = 4 // one descriptor in so many
)

// roomForGuests returns how many connections may be open at a time.
func roomForGuests() int {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return fewGuests
	}
	return int(max(fewGuests, min(limit.Cur/guestsShare, mostGuests)))
}

// door is a listener with room for some. Where it is full, whoever has been there
// longest without having shown a key makes room: a crowd of strangers keeps
// neither the next one out nor those who belong here.
type door struct {
	net.Listener
	room int

	// mu guards everything that follows.
	mu     sync.Mutex
	guests []*guest // in the order in which they came
}

// guest is a connection.
type guest struct {
	net.Conn
	door  *door
	known bool // has shown a key; guarded by the door's mu
}

func (d *door) Accept() (net.Conn, error) {
	for {
		conn, err := d.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if g := d.admit(conn); g != nil {
			return g, nil
		}
		_ = conn.Close() // nothing was said yet
	}
}

// admit returns nil where all who are there belong there.
func (d *door) admit(conn net.Conn) *guest {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.guests) >= d.room {
		i := slices.IndexFunc(d.guests, func(g *guest) bool { return !g.known })
		if i < 0 {
			return nil
		}
		_ = d.guests[i].Conn.Close() // its server notices
		d.guests = slices.Delete(d.guests, i, i+1)
	}
	g := &guest{Conn: conn, door: d}
	d.guests = append(d.guests, g)
	return g
}

func (g *guest) Close() error {
	g.door.mu.Lock()
	defer g.door.mu.Unlock()
	g.door.guests = slices.DeleteFunc(g.door.guests, func(other *guest) bool { return other == g })
	return g.Conn.Close()
}

type guestKey struct{}

// introduce lets the requests of a connection be known as its own.
func introduce(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, guestKey{}, conn)
}

// vouch notes that a request's connection has shown a key.
func vouch(ctx context.Context) {
	if g, ok := ctx.Value(guestKey{}).(*guest); ok {
		g.door.mu.Lock()
		g.known = true
		g.door.mu.Unlock()
	}
}
