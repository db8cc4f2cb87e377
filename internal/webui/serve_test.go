package webui

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume/engine"
)

func TestOnlyThisMachinesNamesAreServed(t *testing.T) {
	for name, c := range map[string]struct {
		listen, host string
		want         int
	}{
		"loopback":                       {"127.0.0.1:7733", "127.0.0.1:7733", 200},
		"its name":                       {"127.0.0.1:7733", "localhost:7733", 200},
		"in capitals":                    {"127.0.0.1:7733", "LocalHost:7733", 200},
		"of the other family":            {"127.0.0.1:7733", "[::1]:7733", 200},
		"a name that was pointed here":   {"127.0.0.1:7733", "evil.example:7733", 403},
		"a name that ends like ours":     {"127.0.0.1:7733", "127.0.0.1.evil.example:7733", 403},
		"another port":                   {"127.0.0.1:7733", "localhost:80", 403},
		"no port":                        {"127.0.0.1:7733", "localhost", 403},
		"nothing":                        {"127.0.0.1:7733", "", 403},
		"the configured name":            {"box.lan:7733", "box.lan:7733", 200},
		"everywhere, by number":          {"0.0.0.0:7733", "192.168.1.5:7733", 200},
		"everywhere, without an address": {":7733", "[fd00::1]:7733", 200},
		"everywhere, a name that was pointed here": {"0.0.0.0:7733", "evil.example:7733", 403},
	} {
		t.Run(name, func(t *testing.T) {
			served := hosts(c.listen, &net.TCPAddr{IP: net.IPv4zero, Port: 7733}, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			request := httptest.NewRequest(http.MethodGet, "/metrics", nil)
			request.Host = c.host
			answer := httptest.NewRecorder()
			served.ServeHTTP(answer, request)
			require.Equal(t, c.want, answer.Code)
		})
	}
}

// The link must name a host that hosts lets in.
func TestLinkToThePage(t *testing.T) {
	for name, c := range map[string]struct{ listen, addr, want string }{
		"loopback":              {"127.0.0.1:7733", "127.0.0.1:7733", "http://127.0.0.1:7733/"},
		"a port that was found": {"127.0.0.1:0", "127.0.0.1:40123", "http://127.0.0.1:40123/"},
		"a name":                {"box.lan:7733", "192.168.1.5:7733", "http://box.lan:7733/"},
		"everywhere":            {"0.0.0.0:7733", "[::]:7733", "http://127.0.0.1:7733/"},
		"without an address":    {":7733", "[::]:7733", "http://127.0.0.1:7733/"},
		"the other family":      {"[::1]:7733", "[::1]:7733", "http://[::1]:7733/"},
	} {
		t.Run(name, func(t *testing.T) {
			w := &Server{page: newPage(t, &board{}), wanted: c.listen, addr: c.addr}
			link, err := w.PageURL(false)
			require.NoError(t, err)
			address, query, _ := strings.Cut(link, "?")
			require.Equal(t, c.want, address)
			entered(t, w.page, query, http.StatusOK)
			request := httptest.NewRequest(http.MethodGet, link, nil)
			bound, err := net.ResolveTCPAddr("tcp", c.addr)
			require.NoError(t, err)
			answer := httptest.NewRecorder()
			hosts(c.listen, bound, http.NotFoundHandler()).ServeHTTP(answer, request)
			require.Equal(t, http.StatusNotFound, answer.Code, "it is let in")
		})
	}
	for name, w := range map[string]*Server{
		"http.listen is empty":   {},
		"address already in use": {wanted: "127.0.0.1:1", err: syscall.EADDRINUSE},
		"about to be served":     {wanted: "127.0.0.1:1"},
	} {
		_, err := w.PageURL(false)
		require.ErrorContains(t, err, name)
	}
}

// A daemon whose engine hangs must not look healthy.
func TestHealthIsTheEnginesLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		engine := engine.New(engine.Options{Rand: func() float64 { return 0 }})
		ask := func() *httptest.ResponseRecorder {
			answer := httptest.NewRecorder()
			health(engine.Ping)(answer, httptest.NewRequest(http.MethodGet, "/healthz", nil))
			return answer
		}
		hung := ask()
		require.Equal(t, http.StatusServiceUnavailable, hung.Code)
		require.Contains(t, hung.Body.String(), "did not answer")

		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- engine.Run(ctx) }()
		require.Equal(t, http.StatusOK, ask().Code)
		stop()
		require.NoError(t, <-done)
	})
}

// An address that is taken keeps nothing from working: it is a problem that is
// shown, and gone when another address is wanted.
func TestListeningFollowsWhatIsWanted(t *testing.T) {
	w := &Server{
		handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "here") }),
		log:     slog.New(slog.DiscardHandler), changed: make(chan struct{}, 1),
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	until := func(what string, ok func(addr string, err error) bool) string {
		t.Helper()
		deadline := time.Now().Add(10 * time.Second)
		for {
			addr, err := w.Where()
			if ok(addr, err) {
				return addr
			}
			require.True(t, time.Now().Before(deadline), what)
			time.Sleep(5 * time.Millisecond)
		}
	}
	served := func(addr string, err error) bool { return addr != "" && err == nil }

	w.Want("127.0.0.1:0")
	first := until("it is served", served)
	answer, err := http.Get("http://" + first)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusOK, answer.StatusCode)

	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	w.Want(taken.Addr().String())
	until("the address is taken", func(addr string, err error) bool { return addr == "" && err != nil })
	_, err = net.Dial("tcp", first)
	require.Error(t, err, "the old address is let go")

	_, port, err := net.SplitHostPort(first)
	require.NoError(t, err)
	w.Want("localhost:" + port) // the same port by another name
	until("it is served again", served)
	w.Want("")
	until("it is off", func(addr string, err error) bool { return addr == "" && err == nil })
	stop()
	require.NoError(t, <-done)
}
