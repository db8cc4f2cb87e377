package webui

import (
	"context"
	"net"
	"slices"
	"sync"
	"syscall"
)

// How many connections may be open: enough for a few browsers and programs, and never
// more than a part of the descriptors of this process. The rest is for the
// daemon's own files, without which it sees no limit and answers no command.
const (
	maxConns  = 128
	minConns  = 8
	connShare = 4 // one descriptor in so many
)

func connLimit() int {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return minConns
	}
	return int(max(minConns, min(limit.Cur/connShare, maxConns)))
}

// limitListener bounds the number of open connections. If there are too many, it closes
// the oldest one that has not shown a key: connections without a key cannot lock out a
// person who has one.
type limitListener struct {
	net.Listener
	limit int

	// mu guards everything that follows.
	mu    sync.Mutex
	conns []*limitedConn // the oldest first
}

type limitedConn struct {
	net.Conn
	listener *limitListener
	trusted  bool // has shown a key; guarded by the listener's mu
}

func (l *limitListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if c := l.admit(conn); c != nil {
			return c, nil
		}
		_ = conn.Close() // nothing was sent on it
	}
}

// admit returns nil if all open connections have shown a key.
func (l *limitListener) admit(conn net.Conn) *limitedConn {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.conns) >= l.limit {
		i := slices.IndexFunc(l.conns, func(c *limitedConn) bool { return !c.trusted })
		if i < 0 {
			return nil
		}
		_ = l.conns[i].Conn.Close() // the server notices it
		l.conns = slices.Delete(l.conns, i, i+1)
	}
	c := &limitedConn{Conn: conn, listener: l}
	l.conns = append(l.conns, c)
	return c
}

func (c *limitedConn) Close() error {
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	c.listener.conns = slices.DeleteFunc(c.listener.conns, func(other *limitedConn) bool { return other == c })
	return c.Conn.Close()
}

type connKey struct{}

// withConn is an http.Server's ConnContext: it lets requests find their connection.
func withConn(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, conn)
}

// markTrusted notes that the connection of a request has shown a key.
func markTrusted(ctx context.Context) {
	if c, ok := ctx.Value(connKey{}).(*limitedConn); ok {
		c.listener.mu.Lock()
		c.trusted = true
		c.listener.mu.Unlock()
	}
}
