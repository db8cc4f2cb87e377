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
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"resumed/internal/caller"
	"resumed/internal/peer"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
	"resumed/internal/usage"
)

// problem is an error in an answer.
type problem struct {
	Error string `json:"error"`
	Kind  string `json:"kind,omitempty"` // one of kinds
}

// Server is the daemon's end of the socket.
type Server struct {
	socket   *socket
	backend  Backend
	judge    caller.Judge
	log      *slog.Logger
	stopping context.Context // done when streams must end
	stop     context.CancelFunc
}

// Listen makes the socket in dir, which only its owner may enter. A socket that a dead daemon
// left is replaced; the error is ErrTaken if a living daemon answers on it.
func Listen(dir string, backend Backend, judge caller.Judge, log *slog.Logger) (*Server, error) {
	made, err := openSocket(dir)
	if err != nil {
		return nil, err
	}
	s := &Server{socket: made, backend: backend, judge: judge, log: log}
	s.stopping, s.stop = context.WithCancel(context.Background())
	return s, nil
}

// Run serves until ctx is done, or until a socket fails: a daemon that cannot be reached must
// not look healthy.
func (s *Server) Run(ctx context.Context) error {
	stop := ctx
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	server := &http.Server{
		Handler:           s.handler(),
		ConnContext:       withProcess,
		ReadHeaderTimeout: 5 * time.Second,
		IdleTimeout:       time.Minute,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	server.RegisterOnShutdown(s.stop)
	var serving sync.WaitGroup
	serve := func(made *socket) {
		serving.Go(func() {
			if err := server.Serve(peers{made.listener, s.log, new(connections)}); !errors.Is(err, http.ErrServerClosed) {
				fail(fmt.Errorf("serve control socket: %w", err))
			}
		})
	}
	serve(s.socket)
	s.keepSocket(ctx, serve)
	var failure error
	if stop.Err() == nil {
		failure = context.Cause(ctx)
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if server.Shutdown(grace) != nil {
		_ = server.Close()
	}
	serving.Wait()
	return failure
}

// route answers a request of callers that have the right.
type route struct {
	right caller.Right
	reply func(*http.Request) (any, error)
	serve http.HandlerFunc // instead of reply, for a stream
}

// routes are all requests, and what each needs.
func (s *Server) routes() map[string]route {
	b := s.backend
	all := map[string]route{
		"GET /v1/events":  {right: caller.Look, serve: s.events},
		"GET /v1/history": {right: caller.Look, serve: s.history},
		"GET /v1/status":  {right: caller.Look, reply: func(r *http.Request) (any, error) { return b.Status(r.Context(), r.FormValue("all") != "") }},
		"GET /v1/session": {right: caller.Look, reply: func(r *http.Request) (any, error) { return b.Session(r.Context(), r.FormValue("name")) }},
		"GET /v1/queue":   {right: caller.Look, reply: func(r *http.Request) (any, error) { return b.Queue().Tasks(r.Context()) }},
		"GET /v1/fleet":   {right: caller.Look, reply: s.fleet},

		"POST /v1/told":  {right: caller.Report, reply: s.told},
		"POST /v1/nudge": {right: caller.Report, reply: s.nudge},

		"GET /v1/page":      {right: caller.Order, reply: func(*http.Request) (any, error) { return s.page(false) }},
		"POST /v1/page":     {right: caller.Order, reply: func(*http.Request) (any, error) { return s.page(true) }},
		"POST /v1/page/key": {right: caller.Order, reply: func(*http.Request) (any, error) { return done, b.NewPageKey() }},
		"POST /v1/pause":    {right: caller.Order, reply: func(r *http.Request) (any, error) { return done, b.SetPaused(r.Context(), true) }},
		"POST /v1/unpause":  {right: caller.Order, reply: func(r *http.Request) (any, error) { return done, b.SetPaused(r.Context(), false) }},
		"POST /v1/fleet/forget": {right: caller.Order, reply: func(r *http.Request) (any, error) {
			return done, b.ForgetAccount(r.Context(), r.FormValue("account"))
		}},
	}
	for _, order := range []Action{Retry, Due, Cancel, Stop, Pause, Unpause} {
		all["POST /v1/session/"+string(order)] = route{right: caller.Order, reply: func(r *http.Request) (any, error) { return s.order(r, order) }}
	}
	for _, order := range []string{"add", "edit", "drop", "move"} {
		all["POST /v1/queue/"+order] = route{right: caller.Order, reply: func(r *http.Request) (any, error) { return s.taskOrder(r, order) }}
	}
	return all
}

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	for pattern, route := range s.routes() {
		serve := route.serve
		if serve == nil {
			serve = func(w http.ResponseWriter, r *http.Request) {
				document, err := route.reply(r)
				answer(w, document, err)
			}
		}
		mux.Handle(pattern, s.permit(route.right, serve))
	}
	return withoutBody(mux)
}

// done is the empty answer to an order.
var done = struct{}{}

func (s *Server) order(r *http.Request, order Action) (any, error) {
	name := r.FormValue("name")
	key, err := s.backend.Find(r.Context(), name)
	if host, session, _ := strings.Cut(name, "/"); errors.Is(err, resume.ErrNoSession) && host != "" && session != "" {
		if after, err := s.backend.DoAway(r.Context(), host, session, order); !errors.Is(err, ErrNoFleet) {
			return after, err
		}
	}
	if err != nil {
		return nil, err
	}
	return s.backend.Do(r.Context(), key, order)
}

func (s *Server) told(r *http.Request) (any, error) {
	var readings []usage.Reading
	key, err := s.backend.Find(r.Context(), r.FormValue("name"))
	if err == nil {
		err = json.Unmarshal([]byte(r.FormValue("readings")), &readings)
	}
	if err == nil {
		err = s.backend.AddReadings(r.Context(), callerOf(r), key, readings)
	}
	return done, err
}

func (s *Server) page(once bool) (any, error) {
	url, err := s.backend.PageURL(once)
	return map[string]string{"url": url}, err
}

func answer(w http.ResponseWriter, document any, err error) {
	code := http.StatusOK
	if err != nil {
		p := problem{Error: err.Error()}
		code = http.StatusInternalServerError
		if i := slices.IndexFunc(kinds, func(k kind) bool { return errors.Is(err, k.err) }); i >= 0 {
			p.Kind, code = kinds[i].name, kinds[i].code
		}
		document = p
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(document) // on an error the client is gone
}

// peers accepts only connections of the user that the daemon runs as, and of root.
type peers struct {
	net.Listener
	log  *slog.Logger
	open *connections
}

func (l peers) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		process, err := peer.Of(conn.(*net.UnixConn))
		if err == nil && (process.UID == os.Getuid() || process.UID == 0) {
			asks := &asking{conn, process, l.open}
			l.open.Add(asks)
			return asks, nil
		}
		l.log.Warn("refused a stranger on the control socket", "uid", process.UID, "err", err)
		process.Release()
		_ = conn.Close()
	}
}

func (s *Server) taskOrder(r *http.Request, order string) (any, error) {
	queue, ctx, name := s.backend.Queue(), r.Context(), r.FormValue("task")
	var wanted view.TaskOrder
	if text := r.FormValue("order"); text != "" {
		if err := json.Unmarshal([]byte(text), &wanted); err != nil {
			return nil, fmt.Errorf("read what is asked for: %w", err)
		}
	}
	switch order {
	case "add":
		return queue.Enqueue(ctx, wanted)
	case "edit":
		return queue.Edit(ctx, name, wanted)
	case "drop":
		return queue.Drop(ctx, name)
	default:
		return queue.Move(ctx, name, r.FormValue("to"))
	}
}

// history streams the steps as JSON Lines, because there may be too many for memory.
func (s *Server) history(w http.ResponseWriter, r *http.Request) {
	var since time.Time
	if text := r.FormValue("since"); text != "" {
		var err error
		if since, err = time.Parse(time.RFC3339Nano, text); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	}
	steps, err := s.backend.History(r.Context(), r.FormValue("name"), since)
	if err != nil {
		answer(w, nil, err)
		return
	}
	w.Header().Set("Content-Type", "application/jsonl")
	encoder := json.NewEncoder(w)
	for step, err := range steps {
		if err == nil {
			err = encoder.Encode(step)
		}
		if err != nil {
			// The status line was already sent: a broken answer shows that something is missing.
			panic(http.ErrAbortHandler)
		}
	}
}

// Limits for what a hook sends: more than the ids of any agent, and any path.
const (
	longestName = 200
	longestFile = 4096
)

var errNudge = errors.New("no agent says this to its hook")

func (s *Server) nudge(r *http.Request) (any, error) {
	n := HookEvent{Agent: r.FormValue("agent"), Session: r.FormValue("session"), Transcript: r.FormValue("transcript"), Asks: r.FormValue("asks"), Answered: r.FormValue("answered") == "true"}
	if n.Session == "" || max(len(n.Agent), len(n.Session)) > longestName || max(len(n.Transcript), len(n.Asks)) > longestFile {
		return nil, errNudge
	}
	return done, s.backend.HandleHook(r.Context(), callerOf(r), n)
}

// mostRows bounds a page.
const mostRows = 10_000

func (s *Server) fleet(r *http.Request) (any, error) {
	most, err := strconv.Atoi(r.FormValue("most"))
	if err != nil || most < 1 || most > mostRows {
		most = mostRows
	}
	return s.backend.Fleet(r.Context(), r.FormValue("after"), most)
}
