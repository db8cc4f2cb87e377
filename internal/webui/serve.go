package webui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"resumed/internal/plain"
	"resumed/internal/wake"
)

const (
	// rebindAfter is the pause before an address that is taken is tried again.
	rebindAfter = 15 * time.Second

	// healthLimit is how long the engine may take to answer.
	healthLimit = 2 * time.Second

	// How long the head and the body of a request may take, and how long a
	// connection may be idle between two requests.
	headLimit = 5 * time.Second
	bodyLimit = 5 * time.Second
	idleLimit = time.Minute
)

// Server serves the page, metrics and health at the address of http.listen. An address
// that is taken is shown as a problem and tried again: sessions are resumed all the
// same.
type Server struct {
	handler http.Handler
	page    *Page
	log     *slog.Logger
	changed wake.Signal // wanted changed

	// mu guards everything that follows.
	mu     sync.Mutex
	wanted string // as configured; "": off
	addr   string // where it listens; "": nowhere
	err    error  // why it does not listen at wanted
}

// NewServer returns a server that listens nowhere until Want says where. ping returns when the engine
// has answered.
func NewServer(page *Page, metrics http.Handler, ping func(context.Context) error, log *slog.Logger) *Server {
	mux := http.NewServeMux()
	mux.Handle("/", page)
	mux.Handle("GET /metrics", metrics)
	mux.Handle("GET /healthz", health(ping))
	return &Server{handler: mux, page: page, log: log, changed: wake.NewSignal()}
}

// health answers 200 while the engine answers.
func health(ping func(context.Context) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeoutCause(r.Context(), healthLimit, fmt.Errorf("the engine did not answer within %s", healthLimit))
		defer cancel()
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		if err := ping(ctx); err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = fmt.Fprintln(w, err)
			return
		}
		_, _ = io.WriteString(w, "ok\n")
	}
}

// Want sets where to listen. It returns at once.
func (w *Server) Want(listen string) {
	w.mu.Lock()
	w.wanted = listen
	w.mu.Unlock()
	w.changed.Send()
}

func (w *Server) want() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.wanted
}

// Where returns the address where it listens, and why that is not the wanted one.
func (w *Server) Where() (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.addr, w.err
}

// PageURL returns the link to the page, or why there is none. With once the link works for one
// browser, within a minute.
func (w *Server) PageURL(once bool) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.wanted == "":
		return "", errors.New("there is no page: http.listen is empty")
	case w.err != nil:
		return "", fmt.Errorf("there is no page: %w", w.err)
	case w.addr == "":
		return "", errors.New("there is no page yet: it is about to be served")
	}
	host, _, _ := net.SplitHostPort(w.wanted)
	_, port, _ := net.SplitHostPort(w.addr)
	if isEverywhere(host) {
		host = "127.0.0.1"
	}
	query, err := w.page.Query(once)
	if err != nil {
		return "", fmt.Errorf("there is no link to the page: %w", err)
	}
	target := url.URL{Scheme: "http", Host: net.JoinHostPort(host, port), Path: "/", RawQuery: query}
	return target.String(), nil
}

// NewKey ends all links to the page, and all browsers that were let in.
func (w *Server) NewKey() error { return w.page.NewKey() }

// set stores the address and the error, and reports whether one of them is new.
func (w *Server) set(addr string, err error) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	isNew := addr != w.addr || fmt.Sprint(err) != fmt.Sprint(w.err)
	w.addr, w.err = addr, err
	return isNew
}

// Run serves until ctx is done.
func (w *Server) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		listen := w.want()
		if listen == "" {
			w.set("", nil)
			w.pause(ctx, listen, math.MaxInt64)
			continue
		}
		listener, err := net.Listen("tcp", listen)
		if err != nil {
			if w.set("", fmt.Errorf("http.listen: %s: set another address or port there", plain.Text(err))) {
				w.log.Error("the page and the metrics are not served", "err", plain.Text(err), "try", "another address in http.listen")
			}
			w.pause(ctx, listen, rebindAfter)
			continue
		}
		w.serve(ctx, listener, listen)
	}
	w.set("", nil)
	return nil
}

// pause returns when another address than listen is wanted, ctx is done, or the time is over.
func (w *Server) pause(ctx context.Context, listen string, most time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	for w.want() == listen {
		select {
		case <-ctx.Done():
			return
		case <-w.changed:
		}
	}
}

func (w *Server) serve(ctx context.Context, listener net.Listener, listen string) {
	server := &http.Server{
		Handler:           bounded(hosts(listen, listener.Addr(), w.handler)),
		ReadHeaderTimeout: headLimit,
		IdleTimeout:       idleLimit,
		MaxHeaderBytes:    16 << 10,
		ConnContext:       withConn,
		ErrorLog:          slog.NewLogLogger(w.log.Handler(), slog.LevelDebug),
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	requests, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	server.BaseContext = func(net.Listener) context.Context { return requests }
	server.RegisterOnShutdown(end) // else the stream of a page would never end
	var serving sync.WaitGroup
	serving.Go(func() {
		defer cancel() // after an error: listen again
		if err := server.Serve(&limitListener{Listener: listener, limit: connLimit()}); !errors.Is(err, http.ErrServerClosed) {
			w.log.Warn("metrics stopped being served", "err", err)
		}
	})
	if w.set(listener.Addr().String(), nil) {
		w.log.Info("serving metrics", "address", listener.Addr().String())
	}
	w.pause(ctx, listen, math.MaxInt64)
	grace, stop := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer stop()
	if server.Shutdown(grace) != nil {
		_ = server.Close()
	}
	serving.Wait()
}

// bounded sets deadlines for the body of a request and for its answer, before the key is
// checked. Also a body that no handler reads takes time: the server reads the rest of it
// before the next request. The stream sets deadlines of its own.
func bounded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, now := http.NewResponseController(w), time.Now()
		_ = conn.SetWriteDeadline(now.Add(readerPatience)) // all our connections support it
		if r.ContentLength != 0 {                          // unknown is -1
			_ = conn.SetReadDeadline(now.Add(bodyLimit))
		}
		next.ServeHTTP(w, r)
	})
}

// isEverywhere reports whether a server that listens on the host listens on all interfaces.
func isEverywhere(host string) bool {
	ip := net.ParseIP(host)
	return host == "" || ip != nil && ip.IsUnspecified()
}

// hosts refuses requests for other host names. A web page that points its own name here
// (DNS rebinding) is refused, because the browser sends that name. IP addresses cannot
// be rebound: if the server listens on all interfaces, any of them and this machine's
// name are accepted.
func hosts(listen string, bound net.Addr, next http.Handler) http.Handler {
	configured, _, _ := net.SplitHostPort(listen)
	_, port, _ := net.SplitHostPort(bound.String())
	allowed := map[string]bool{"127.0.0.1": true, "localhost": true, "::1": true}
	everywhere := isEverywhere(configured)
	if !everywhere {
		allowed[strings.ToLower(configured)] = true
	} else if name, err := os.Hostname(); err == nil {
		allowed[strings.ToLower(name)] = true
	}
	known := func(host string) bool {
		name, given, err := net.SplitHostPort(host)
		if err != nil { // no port: 80
			name, given = strings.Trim(host, "[]"), "80"
		}
		name = strings.ToLower(name)
		return given == port && (allowed[name] || everywhere && net.ParseIP(name) != nil)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !known(r.Host) {
			http.Error(w, "not served under this host name", http.StatusForbidden)
			return
		}
		w.Header().Set("X-Content-Type-Options", "nosniff")
		next.ServeHTTP(w, r)
	})
}
