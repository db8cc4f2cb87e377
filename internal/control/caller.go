package control

import (
	"context"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"resumed/internal/caller"
	"resumed/internal/peer"
)

// asking is a connection and the process that made it.
type asking struct {
	net.Conn
	process peer.Process
	open    *connections
}

// Close also releases the process.
func (a *asking) Close() error {
	defer a.process.Release()
	a.open.Delete(a)
	return a.Conn.Close()
}

// mostConnections bounds what callers can use of the daemon's memory and descriptors. The oldest connection makes room
// for a new one: clients that follow the daemon's state connect again by themselves.
const mostConnections = 128

// connections are those that are open, the oldest first.
type connections struct {
	mu  sync.Mutex
	all []*asking
}

// Add adds a connection, and closes the oldest one if there are too many.
func (c *connections) Add(a *asking) {
	c.mu.Lock()
	c.all = append(c.all, a)
	var oldest *asking
	if len(c.all) > mostConnections {
		oldest = c.all[0]
	}
	c.mu.Unlock()
	if oldest != nil {
		_ = oldest.Close() // its client notices
	}
}

// Delete removes a connection.
func (c *connections) Delete(a *asking) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = slices.DeleteFunc(c.all, func(other *asking) bool { return other == a })
}

// The context keys of the process that sent a request, and of the caller that it was judged to be.
type (
	processKey struct{}
	callerKey  struct{}
)

func withProcess(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, processKey{}, conn.(*asking).process)
}

// callerOf returns who sent a request that was permitted.
func callerOf(r *http.Request) caller.Caller {
	c, _ := r.Context().Value(callerKey{}).(caller.Caller) // without one it may nothing
	return c
}

// permit serves the requests of callers that have the right, and refuses all others.
func (s *Server) permit(right caller.Right, serve http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		process, _ := r.Context().Value(processKey{}).(peer.Process)
		judge := s.judge.Of
		if right == caller.Look {
			judge = s.judge.Seen
		}
		c := judge(process)
		if err := c.May(right); err != nil {
			if right == caller.Order {
				s.backend.Refused(c, wanted(r), r.URL.Query().Get("name"))
			} else {
				s.log.Debug("a request was refused", "request", r.URL.Path, "by", c.Why)
			}
			answer(w, nil, err)
			return
		}
		serve(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, c)))
	})
}

// wanted says what a request asks for, as people type it: "queue add".
func wanted(r *http.Request) string {
	return strings.ReplaceAll(strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/v1/"), "session/"), "/", " ")
}

// withoutBody refuses requests with a body: all that is asked for is in the address. What is sent there is not read, so
// that a caller cannot fill memory or the disk with it.
func withoutBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength == 0 {
			next.ServeHTTP(w, r)
			return
		}
		_ = http.NewResponseController(w).SetReadDeadline(time.Now()) // every connection can
		w.Header().Set("Connection", "close")
		http.Error(w, "a request has no body here", http.StatusRequestEntityTooLarge)
	})
}
