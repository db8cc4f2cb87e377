package webui

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// street is a listener to which connections are brought by hand.
type street chan net.Conn

func (s street) Accept() (net.Conn, error) {
	if conn, open := <-s; open {
		return conn, nil
	}
	return nil, net.ErrClosed
}
func (s street) Close() error   { return nil }
func (s street) Addr() net.Addr { return &net.TCPAddr{} }

func (s street) come() (inside net.Conn) {
	inside, outside := net.Pipe()
	s <- outside
	return inside
}

// closed reports whether the other end has hung up, now.
func closed(conn net.Conn) bool {
	_ = conn.SetReadDeadline(time.Now().Add(time.Millisecond))
	_, err := conn.Read(make([]byte, 1))
	return errors.Is(err, io.EOF)
}

func TestWhoWaitsLongestWithoutAKeyMakesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outside := make(street, 1)
		d := &limitListener{Listener: outside, limit: 3}
		var ends []net.Conn
		var conns []*limitedConn
		come := func() {
			ends = append(ends, outside.come())
			g, err := d.Accept()
			require.NoError(t, err)
			conns = append(conns, g.(*limitedConn))
		}
		for range 3 {
			come()
		}
		markTrusted(withConn(t.Context(), conns[0]))
		come()
		require.False(t, closed(ends[0]), "it has a key")
		require.True(t, closed(ends[1]))
		require.False(t, closed(ends[2]))
		require.False(t, closed(ends[3]))

		markTrusted(withConn(t.Context(), conns[2]))
		markTrusted(withConn(t.Context(), conns[3]))
		turnedAway := outside.come()
		close(outside)
		_, err := d.Accept()
		require.ErrorIs(t, err, net.ErrClosed)
		require.True(t, closed(turnedAway), "all who are there belong there")
		for _, g := range conns {
			_ = g.Close() // one of them was closed before
		}
		require.Empty(t, d.conns)
	})
}

// The kernel may give less than many people need; the daemon's own files come
// first.
func TestTheDaemonKeepsDescriptorsForItself(t *testing.T) {
	room := connLimit()
	require.GreaterOrEqual(t, room, minConns)
	require.LessOrEqual(t, room, maxConns)
}

// Nobody has shown a token yet when a body is still on its way.
func TestABodyHasItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outside := make(street, 1)
		server := &http.Server{
			Handler:           bounded(newPage(t, &board{})),
			ReadHeaderTimeout: headLimit, IdleTimeout: idleLimit,
			ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug),
		}
		go func() { _ = server.Serve(outside) }()
		for name, c := range map[string]struct {
			said  string
			limit time.Duration
		}{
			"nothing at all":          {"", headLimit},
			"half a head":             {"POST /pause HTTP/1.1\r\nHost: x\r\n", headLimit},
			"a body without its end":  {"POST /pause HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nx", bodyLimit},
			"a chunk too few":         {"POST /pause HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n", bodyLimit},
			"a body nobody asked for": {"GET /page.css HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nx", bodyLimit},
			"no further request":      {"GET /page.css HTTP/1.1\r\nHost: x\r\n\r\n", idleLimit},
		} {
			began := time.Now()
			conn := outside.come()
			go func() { _, _ = io.WriteString(conn, c.said) }()
			_, _ = io.Copy(io.Discard, conn) // until it is cut off
			require.LessOrEqual(t, time.Since(began), c.limit+2*time.Second, name)
			require.NoError(t, conn.Close())
		}
		close(outside)
		require.NoError(t, server.Close())
	})
}

// A reader that does not read is let go.
func TestAnAnswerHasItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outside := make(street, 1)
		ended := make(chan error, 1)
		server := &http.Server{Handler: bounded(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, err := io.WriteString(w, strings.Repeat("x", 1<<20))
			ended <- err
		}))}
		go func() { _ = server.Serve(outside) }()
		conn := outside.come()
		_, err := fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		require.NoError(t, err)
		began := time.Now()
		require.Error(t, <-ended)
		require.Equal(t, readerPatience, time.Since(began))
		close(outside)
		require.NoError(t, server.Close())
	})
}

// A body that comes in time is taken as ever.
func TestAServerThatIsBoundedStillTakesOrders(t *testing.T) {
	b := &board{}
	p := newPage(t, b)
	server := httptest.NewServer(bounded(p))
	defer server.Close()
	request, err := http.NewRequestWithContext(t.Context(), "POST", server.URL+at("/session/retry"), strings.NewReader("agent=a&id=1"))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	known(t, p)(request)
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, []string{"due a/1"}, b.orders)
}
