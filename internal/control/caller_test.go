package control

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

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

func (s *strict) Refused(by caller.Caller, order, name string) {
	s.refused, s.by = append(s.refused, strings.TrimSpace(order+" "+name)), append(s.by, by.Kind)
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

// What is asked for is in the address. Who sends more must not fill memory or the disk of the daemon.
func TestARequestWithABodyIsNotRead(t *testing.T) {
	dir := t.TempDir()
	server, err := Listen(dir, new(strict), caller.Judge{Proc: procfs.Proc, Daemon: os.Getpid()}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	for _, request := range []string{
		"GET /v1/status HTTP/1.1\r\nHost: resumed\r\nContent-Type: multipart/form-data; boundary=x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n--x\r\n\r\n",
		"POST /v1/pause HTTP/1.1\r\nHost: resumed\r\nContent-Length: 1000000\r\n\r\nname=",
	} {
		conn, err := net.Dial("unix", filepath.Join(dir, SocketName))
		require.NoError(t, err)
		_, err = io.WriteString(conn, request)
		require.NoError(t, err)
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(time.Minute))) // instead of waiting for ever
		answer, err := io.ReadAll(conn)                                       // to its end, although the body has none
		require.NoError(t, err)
		require.Contains(t, string(answer), "413 ")
	}
	cancel()
	require.NoError(t, <-ended)
}

func TestTheOldestConnectionMakesRoom(t *testing.T) {
	open := new(connections)
	var there []net.Conn
	for range mostConnections + 2 {
		here, other := net.Pipe()
		there = append(there, other)
		open.Add(&asking{Conn: here, open: open})
	}
	require.Len(t, open.all, mostConnections)
	for _, closed := range there[:2] {
		_, err := closed.Read(make([]byte, 1))
		require.ErrorIs(t, err, io.EOF)
	}
	require.NoError(t, open.all[0].Close())
	require.Len(t, open.all, mostConnections-1)
}
