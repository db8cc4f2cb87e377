package control

import (
	"context"
	"net"
	"net/http"
)

// Break closes the socket under the server.
func (s *Server) Break() { _ = s.socket.listener.Close() }

// NewClientOf returns a client of whoever is at the other end of a connection.
func NewClientOf(conn net.Conn) *Client {
	return &Client{http.Client{Transport: &http.Transport{
		DialContext:       func(context.Context, string, string) (net.Conn, error) { return conn, nil },
		DisableKeepAlives: true,
	}}}
}

// WithoutProc makes this process see nothing of its own open files, until undo.
func WithoutProc() (undo func()) {
	was := openFiles
	openFiles = "/nowhere"
	return func() { openFiles = was }
}

// BundleGap is the least time between two lines of one stream.
const BundleGap = bundleGap

// ManyChanges is how many sessions are told one by one.
const ManyChanges = manyChanges
