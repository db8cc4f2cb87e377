package control

import (
	"context"
	"net"
	"net/http"
)

// Break closes the socket under the server.
func (s *Server) Break() { _ = s.socket.listener.Close() }

// NewClientOf returns a client on an existing connection.
func NewClientOf(conn net.Conn) *Client {
	return &Client{http.Client{Transport: &http.Transport{
		DialContext:       func(context.Context, string, string) (net.Conn, error) { return conn, nil },
		DisableKeepAlives: true,
	}}}
}

// WithoutProc hides the open files of this process from itself, until undo.
func WithoutProc() (undo func()) {
	was := openFiles
	openFiles = "/nowhere"
	return func() { openFiles = was }
}

// BundleGap is the least time between two lines of one stream.
const BundleGap = bundleGap

// ManyChanges is how many changed sessions are listed one by one.
const ManyChanges = manyChanges

// HasRoom reports whether a script that waits for room goes on.
func HasRoom(room QuotaCondition, status Status) bool { return room.full(status).IsZero() }
