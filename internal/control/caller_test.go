package control

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/caller"
	"resumed/internal/peer"
	"resumed/internal/procfs"
)

// strict is a daemon that was asked for nothing but what it refused.
type strict struct {
	Backend
	refused []string
	by      []caller.Kind
}

func (s *strict) Refused(by caller.Caller, order string) {
	s.refused, s.by = append(s.refused, order), append(s.by, by.Kind)
}

// A request that a caller may not send does not reach the daemon at all, whatever it asks for.
func TestEachRequestIsRefusedToThoseWhoMayNotSendIt(t *testing.T) {
	child := exec.Command("sleep", "1000") // the test is its daemon
	require.NoError(t, child.Start())
	defer func() {
		require.NoError(t, child.Process.Kill())
		_ = child.Wait()
	}()
	judge := caller.Judge{Proc: procfs.Proc, Daemon: os.Getpid()}
	for kind, process := range map[caller.Kind]peer.Process{caller.Run: peer.At(child.Process.Pid, os.Getuid()), caller.Unseen: {}} {
		daemon := new(strict)
		server := &Server{backend: daemon, judge: judge, log: slog.New(slog.DiscardHandler)}
		handler, refused := server.handler(), 0
		for pattern, route := range server.routes() {
			if (caller.Caller{Kind: kind}).May(route.right) == nil {
				continue
			}
			if route.right == caller.Order {
				refused++
			}
			method, path, _ := strings.Cut(pattern, " ")
			r := httptest.NewRequest(method, path+"?name=s", http.NoBody)
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r.WithContext(context.WithValue(t.Context(), processKey{}, process)))
			require.Equal(t, http.StatusForbidden, w.Code, pattern)
			require.Contains(t, w.Body.String(), "in a terminal of your own", pattern)
		}
		require.Len(t, daemon.refused, refused)
		require.Contains(t, daemon.refused, "retry s")
		require.Contains(t, daemon.refused, "queue add s")
		for _, by := range daemon.by {
			require.Equal(t, kind, by)
		}
	}
}

// What an agent may do is a short list, and all that changes something is not in it.
func TestWhatAnAgentMayAskForIsListed(t *testing.T) {
	var may []string
	for pattern, route := range new(Server).routes() {
		if (caller.Caller{Kind: caller.Agent}).May(route.right) == nil {
			may = append(may, pattern)
		}
	}
	require.ElementsMatch(t, []string{"GET /v1/status", "GET /v1/session", "GET /v1/queue", "GET /v1/fleet", "GET /v1/events", "GET /v1/history", "POST /v1/told", "POST /v1/nudge"}, may)
}
