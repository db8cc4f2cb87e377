package webui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"
)

const (
	// rebindAfter is how often an address that is taken is asked for again.
	rebindAfter = 15 * time.Second

	// healthLimit is how long the engine's loop may take to turn.
	healthLimit = 2 * time.Second

	// What a request's head and its body may take, and for how long a
	// connection may be silent between two requests.
	headLimit = 5 * time.Second
	bodyLimit = 5 * time.Second
	idleLimit = time.Minute
)

// Server serves the page, metrics and health where http.listen says. An address
// that cannot be had is a problem to be shown, and tried again: it keeps no
// session from being resumed.
type Server struct {
	handler http.Handler
	page    *Page
	log     *slog.Logger
	nudge   chan struct{} // of size 1: wanted changed

	// mu guards everything that follows.
	mu     sync.Mutex
	wanted string // as configured; "": off
	addr   string // where it is served; "": nowhere
	err    error  // why it is not
}

// ServerOptions are what a Server shows. All are required.
type ServerOptions struct {
	Page    *Page
	Metrics http.Handler
	Ping    func(context.Context) error // returns when the engine's loop has turned
	Log     *slog.Logger
}

// NewServer returns a server that listens nowhere until Want says where.
func NewServer(opts ServerOptions) *Server {
	mux := http.NewServeMux()
	mux.Handle("/", opts.Page)
	mux.Handle("GET /metrics", opts.Metrics)
	mux.Handle("GET /healthz", health(opts.Ping))
	return &Server{handler: mux, page: opts.Page, log: opts.Log, nudge: make(chan struct{}, 1)}
}

// health answers 200 while the engine's loop turns.
func health(ping func(context.Context) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeoutCause(r.Context(), healthLimit, fmt.Errorf("the engine did not turn within %s", healthLimit))
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

// Want says where to listen from now on. It returns at once.
func (w *Server) Want(listen string) {
	w.mu.Lock()
	w.wanted = listen
	w.mu.Unlock()
	select {
	case w.nudge <- struct{}{}:
	default:
	}
}

// Where returns the address that is served, and why it is not the wanted one.
func (w *Server) Where() (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.addr, w.err
}

// PageURL returns where a browser finds the page, or why there is none. With
// once it lets in one browser, now.
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
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	query, err := w.page.Query(once)
	if err != nil {
		return "", fmt.Errorf("there is no link to the page: %w", err)
	}
	target := url.URL{Scheme: "http", Host: net.JoinHostPort(host, port), Path: "/", RawQuery: query}
	return target.String(), nil
}

// set notes how it stands and reports whether that is news.
func (w *Server) set(addr string, err error) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	news := addr != w.addr || fmt.Sprint(err) != fmt.Sprint(w.err)
	w.addr, w.err = addr, err
	return news
}

// Run serves until ctx is done.
func (w *Server) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		w.mu.Lock()
		listen := w.wanted
		w.mu.Unlock()
		if listen == "" {
			w.set("", nil)
			w.pause(ctx, listen, 0)
			continue
		}
		listener, err := net.Listen("tcp", listen)
		if err != nil {
			if w.set("", fmt.Errorf("http.listen: %w", err)) {
				w.log.Error("metrics are not served", "err", err)
			}
			w.pause(ctx, listen, rebindAfter)
			continue
		}
		w.serve(ctx, listener, listen)
	}
	w.set("", nil)
	return nil
}

// pause returns when something else than listen is wanted, ctx is done, or the
// time is over; 0 means no bound.
func (w *Server) pause(ctx context.Context, listen string, most time.Duration) {
	if most > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, most)
		defer cancel()
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.nudge:
		}
		w.mu.Lock()
		changed := w.wanted != listen
		w.mu.Unlock()
		if changed {
			return
		}
	}
}

func (w *Server) serve(ctx context.Context, listener net.Listener, listen string) {
	server := &http.Server{
		Handler:           bounded(hosts(listen, listener.Addr())(w.handler)),
		ReadHeaderTimeout: headLimit,
		IdleTimeout:       idleLimit,
		MaxHeaderBytes:    16 << 10,
		ConnContext:       introduce,
		ErrorLog:          slog.NewLogLogger(w.log.Handler(), slog.LevelDebug),
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	requests, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	server.BaseContext = func(net.Listener) context.Context { return requests }
	server.RegisterOnShutdown(end) // a page's stream has no end of its own
	var serving sync.WaitGroup
	serving.Go(func() {
		defer cancel() // it ended before its time: listen again
		if err := server.Serve(&door{Listener: listener, room: roomForGuests()}); !errors.Is(err, http.ErrServerClosed) {
			w.log.Warn("metrics stopped being served", "err", err)
		}
	})
	if w.set(listener.Addr().String(), nil) {
		w.log.Info("serving metrics", "address", listener.Addr().String())
	}
	w.pause(ctx, listen, 0)
	grace, stop := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer stop()
	if server.Shutdown(grace) != nil {
		_ = server.Close()
	}
	serving.Wait()
}

// bounded gives a request's body and the reader of its answer their time, before
// anybody asks who it is. A body that nobody wants takes time too: the server
// reads what is left of it before the next request. A stream that is given sets
// times of its own.
func bounded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, now := http.NewResponseController(w), time.Now()
		_ = conn.SetWriteDeadline(now.Add(readerPatience)) // every connection can
		if r.ContentLength != 0 {                          // unknown is -1
			_ = conn.SetReadDeadline(now.Add(bodyLimit))
		}
		next.ServeHTTP(w, r)
	})
}

// hosts lets in requests for this machine alone. A web page that points its
// own name here (DNS rebinding) is refused: the browser sends that name along.
// Numbers cannot be rebound, so where it is served to other machines they may
// be used, and so may this machine's name.
func hosts(listen string, bound net.Addr) func(http.Handler) http.Handler {
	configured, _, _ := net.SplitHostPort(listen)
	_, port, _ := net.SplitHostPort(bound.String())
	allowed := map[string]bool{"127.0.0.1": true, "localhost": true, "::1": true}
	ip := net.ParseIP(configured)
	everywhere := configured == "" || ip != nil && ip.IsUnspecified()
	if !everywhere {
		allowed[strings.ToLower(configured)] = true
	} else if name, err := os.Hostname(); err == nil {
		allowed[strings.ToLower(name)] = true
	}
	known := func(host string) bool {
		name, given, err := net.SplitHostPort(host)
		if err != nil { // no port: the usual one
			name, given = strings.Trim(host, "[]"), "80"
		}
		name = strings.ToLower(name)
		return given == port && (allowed[name] || everywhere && net.ParseIP(name) != nil)
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !known(r.Host) {
				http.Error(w, "not served under this host name", http.StatusForbidden)
				return
			}
			w.Header().Set("X-Content-Type-Options", "nosniff")
			next.ServeHTTP(w, r)
		})
	}
}
