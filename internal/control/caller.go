package control

import (
	"context"
	"net"
	"net/http"
	"strings"

	"resumed/internal/caller"
	"resumed/internal/peer"
)

// asking is a connection and the process that made it.
type asking struct {
	net.Conn
	process peer.Process
}

// Close also releases the process.
func (a *asking) Close() error {
	defer a.process.Release()
	return a.Conn.Close()
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
				s.backend.Refused(c, wanted(r))
			} else {
				s.log.Debug("a request was refused", "request", r.URL.Path, "by", c.Why)
			}
			answer(w, nil, err)
			return
		}
		serve(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, c)))
	})
}

// wanted says what a request asks for, as people type it: "retry 4f2a".
func wanted(r *http.Request) string {
	words := strings.ReplaceAll(strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/v1/"), "session/"), "/", " ")
	return strings.TrimSpace(words + " " + r.FormValue("name"))
}
