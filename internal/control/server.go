package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"resumed/internal/peer"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
	"resumed/internal/usage"
)

// problem is an error on the wire.
type problem struct {
	Error string `json:"error"`
	Kind  string `json:"kind,omitempty"` // no_session | ambiguous | bad_config | no_task
}

// page is where a browser finds the page.
type page struct {
	URL string `json:"url"`
}

// The kinds of problems that a client tells apart.
const (
	kindNoSession = "no_session"
	kindAmbiguous = "ambiguous"
	kindBadConfig = "bad_config"
	kindNoTask    = "no_task"
)

// ConfigError is a configuration that Reload refused.
type ConfigError struct{ Err error }

func (e *ConfigError) Error() string { return e.Err.Error() }

func (e *ConfigError) Unwrap() error { return e.Err }

// Server is the daemon's end of the socket.
type Server struct {
	socket   *socket
	backend  Backend
	log      *slog.Logger
	stopping context.Context // done when streams must end
	stop     context.CancelFunc
}

// Listen makes the socket in dir, which only its owner may enter. A socket
// that a dead daemon left behind is replaced; the error is ErrTaken where a living
// one answers on it.
func Listen(dir string, backend Backend, log *slog.Logger) (*Server, error) {
	made, err := openSocket(dir)
	if err != nil {
		return nil, err
	}
	s := &Server{socket: made, backend: backend, log: log}
	s.stopping, s.stop = context.WithCancel(context.Background())
	return s, nil
}

// Run serves until ctx is done, or until a socket cannot be served any longer: a
// daemon that nobody can reach must not look as if all were well.
func (s *Server) Run(ctx context.Context) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	server := &http.Server{
		Handler:           s.handler(),
		ConnContext:       withCaller,
		ReadHeaderTimeout: 5 * time.Second,
		IdleTimeout:       time.Minute,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	server.RegisterOnShutdown(s.stop)
	var serving sync.WaitGroup
	serve := func(made *socket) {
		serving.Go(func() {
			if err := server.Serve(peers{made.listener, s.log}); !errors.Is(err, http.ErrServerClosed) {
				fail(&serveError{err})
			}
		})
	}
	serve(s.socket)
	s.keepSocket(ctx, serve)
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if server.Shutdown(grace) != nil {
		_ = server.Close()
	}
	serving.Wait()
	if failure, ok := errors.AsType[*serveError](context.Cause(ctx)); ok {
		return failure
	}
	return nil
}

// serveError is why a socket cannot be served.
type serveError struct{ err error }

func (e *serveError) Error() string { return fmt.Sprintf("serve control socket: %v", e.err) }

func (e *serveError) Unwrap() error { return e.err }

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/status", s.status)
	mux.HandleFunc("GET /v1/session", s.session)
	mux.HandleFunc("GET /v1/events", s.events)
	mux.HandleFunc("GET /v1/history", s.history)
	mux.HandleFunc("GET /v1/page", s.page(false))
	mux.HandleFunc("POST /v1/page", s.page(true))
	mux.HandleFunc("POST /v1/session/{order}", s.order)
	mux.HandleFunc("POST /v1/told", s.told)
	mux.HandleFunc("POST /v1/nudge", s.nudge)
	mux.HandleFunc("GET /v1/queue", s.tasks)
	mux.HandleFunc("POST /v1/queue/{order}", s.taskOrder)
	mux.HandleFunc("POST /v1/pause", s.setPaused(true))
	mux.HandleFunc("POST /v1/unpause", s.setPaused(false))
	mux.HandleFunc("POST /v1/reload", s.reload)
	mux.HandleFunc("GET /v1/fleet", s.fleet)
	mux.HandleFunc("POST /v1/fleet/forget", s.forgetAccount)
	return mux
}

func (s *Server) status(w http.ResponseWriter, r *http.Request) {
	status, err := s.backend.Status(r.Context(), r.FormValue("all") != "")
	answer(w, status, err)
}

func (s *Server) session(w http.ResponseWriter, r *http.Request) {
	status, err := s.one(r.Context(), r.FormValue("name"))
	if err != nil {
		answer(w, nil, err)
		return
	}
	session := &status.Sessions[0]
	if plan, err := s.backend.Plan(r.Context(), session.Key()); err == nil { // else it is gone meanwhile
		session.Plan = &plan
	}
	answer(w, status, nil)
}

// one returns a status with the one session that is meant.
func (s *Server) one(ctx context.Context, name string) (Status, error) {
	key, err := s.backend.Find(ctx, name)
	if err != nil {
		return Status{}, err
	}
	status, err := s.backend.Status(ctx, true, key)
	if err == nil && len(status.Sessions) == 0 {
		err = ErrNoSession
	}
	return status, err
}

func (s *Server) order(w http.ResponseWriter, r *http.Request) {
	order := Order(r.PathValue("order"))
	switch order {
	case Retry, Cancel, Stop, Pause, Unpause:
	case OwnKey, AskOwnKey:
		if err := onlyPerson(r, "to spend your money"); err != nil {
			answer(w, nil, err)
			return
		}
	default:
		http.NotFound(w, r)
		return
	}
	key, err := s.backend.Find(r.Context(), r.FormValue("name"))
	if errors.Is(err, resume.ErrNoSession) && order != OwnKey && order != AskOwnKey {
		if after, is, err := s.away(r.Context(), r.FormValue("name"), order); is {
			answer(w, after, err)
			return
		}
	}
	if err != nil {
		answer(w, nil, err)
		return
	}
	after, err := s.backend.Do(r.Context(), key, order)
	answer(w, after, err)
}

func (s *Server) told(w http.ResponseWriter, r *http.Request) {
	var readings []usage.Reading
	key, err := s.backend.Find(r.Context(), r.FormValue("name"))
	if err == nil {
		err = json.Unmarshal([]byte(r.FormValue("readings")), &readings)
	}
	if err == nil {
		err = s.backend.Told(r.Context(), key, readings)
	}
	answer(w, struct{}{}, err)
}

func (s *Server) setPaused(paused bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		answer(w, struct{}{}, s.backend.SetPaused(r.Context(), paused))
	}
}

func (s *Server) page(once bool) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		url, err := s.backend.PageURL(once)
		answer(w, page{url}, err)
	}
}

func (s *Server) reload(w http.ResponseWriter, r *http.Request) {
	answer(w, struct{}{}, s.backend.Reload(r.Context()))
}

func answer(w http.ResponseWriter, document any, err error) {
	code := http.StatusOK
	if err != nil {
		document, code = describe(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(document) // the client is gone: nobody to tell
}

func describe(err error) (problem, int) {
	p := problem{Error: err.Error()}
	if _, ok := errors.AsType[*view.AmbiguousError](err); ok {
		p.Kind = kindAmbiguous
		return p, http.StatusConflict
	}
	if _, ok := errors.AsType[*ConfigError](err); ok {
		p.Kind = kindBadConfig
		return p, http.StatusUnprocessableEntity
	}
	if errors.Is(err, ErrNoTask) {
		p.Kind = kindNoTask
		return p, http.StatusNotFound
	}
	if errors.Is(err, resume.ErrNoSession) {
		p.Kind = kindNoSession
		return p, http.StatusNotFound
	}
	return p, http.StatusInternalServerError
}

// peers lets in only the user that the daemon runs as, and root.
type peers struct {
	net.Listener
	log *slog.Logger
}

func (l peers) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		uid, err := peer.UID(conn.(*net.UnixConn))
		if err == nil && (uid == os.Getuid() || uid == 0) {
			return newCaller(conn.(*net.UnixConn)), nil
		}
		l.log.Warn("refused a stranger on the control socket", "uid", uid, "err", err)
		_ = conn.Close()
	}
}
