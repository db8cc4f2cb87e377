// Package webui shows the daemon in a browser: which sessions wait for what, live, with buttons
// to act on them. Only a browser that was opened with its link may see or do anything.
package webui

import (
	"context"
	"embed"
	"errors"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"time"

	"resumed/internal/control"
	"resumed/internal/resume"
)

//go:embed files
var files embed.FS

const (
	// beatEvery is how often an idle stream sends a sign of life: a browser on
	// another machine does not notice by itself that the daemon is gone.
	beatEvery = 15 * time.Second

	// readerPatience is how long a browser may take to read one document.
	readerPatience = 30 * time.Second

	// orderLimit is how long an order may take. It is carried out even if the person
	// closes the page.
	orderLimit = 10 * time.Second

	// formLimit bounds the size of an order.
	formLimit = 16 << 10
)

// policy allows the scripts and styles of the page itself, by their hashes, and nothing else; no
// other page may show it in a frame. assemble fills in the hashes.
const policy = "default-src 'none'; script-src %s %s; style-src %s; connect-src 'self'; img-src 'self' data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Page is the handler of the page. The server in front of it must check the Host of requests.
type Page struct {
	backend Backend
	access  access
	log     *slog.Logger
	handler http.Handler
}

// New returns the page. Its links are signed with the secret.
func New(backend Backend, secret *Secret, log *slog.Logger) *Page {
	p := &Page{backend: backend, access: access{secret: secret}, log: log}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", serveDocument) // public: it contains no data
	mux.Handle("GET /events", p.access.requireKeyOrLink(p.events))
	mux.Handle("GET /session", p.access.requireKey(p.session))
	mux.Handle("GET /strips", p.access.requireKey(p.strips))
	mux.Handle("GET /strips/accounts", p.access.requireKey(p.accountStrips))
	mux.Handle("GET /fleet", p.access.requireKey(p.fleet))
	mux.Handle("POST /session/{order}", p.access.requireKey(p.order))
	mux.Handle("POST /pause", p.access.requireKey(p.setPaused(true)))
	mux.Handle("POST /unpause", p.access.requireKey(p.setPaused(false)))
	p.handler = headers(http.NewCrossOriginProtection().Handler(mux))
	return p
}

// ServeHTTP answers a browser.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.handler.ServeHTTP(w, r) }

// Query returns the query of a link to the page: a token that is valid for some minutes, or with
// once a ticket that is valid once, within a minute.
func (p *Page) Query(once bool) (string, error) {
	if once {
		return url.Values{"token": {p.access.ticket()}}.Encode(), nil
	}
	token, err := p.access.link()
	return url.Values{"token": {token}}.Encode(), err
}

// headers sets the security headers.
func headers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", assembled().policy)
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// serveDocument serves the page without any data.
func serveDocument(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(w, assembled().html) // an error means that the browser is gone
}

// events streams changes as server-sent events. The first event is a key for all other requests.
// The stream ends when the secret has changed.
func (p *Page) events(w http.ResponseWriter, r *http.Request) {
	secret, err := p.access.secret.now()
	if err != nil {
		refuse(w, err)
		return
	}
	f := control.Follow(p.backend, false)
	defer f.Leave()
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	var keyed time.Time
	write := func(event []byte) bool {
		_ = out.SetWriteDeadline(time.Now().Add(readerPatience)) // every connection can
		_, err := w.Write(event)
		return err == nil && out.Flush() == nil // else the reader is gone
	}
	for r.Context().Err() == nil {
		if time.Since(keyed) >= keyEvery {
			keyed = time.Now()
			if fresh, err := p.access.key(); err == nil && !write([]byte("event: key\ndata: "+fresh+"\n\n")) {
				return
			}
		}
		changes, err := next(r.Context(), f)
		if err != nil {
			p.log.Debug("the stream of a page ended", "err", err)
			return
		}
		if still, err := p.access.secret.now(); err != nil || still != secret {
			return
		}
		for event := range changes {
			if !write(event) {
				return
			}
		}
	}
}

// next returns the next events: a change, or a beat if there is none for a while.
func next(ctx context.Context, f *control.Follower) (iter.Seq[[]byte], error) {
	quiet, cancel := context.WithTimeout(ctx, beatEvery)
	defer cancel()
	update, err := f.Next(quiet)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return slices.Values([][]byte{[]byte("event: beat\ndata:\n\n")}), nil
	}
	if err != nil {
		return nil, err
	}
	return events(ctx, update), nil
}

func (p *Page) order(w http.ResponseWriter, r *http.Request) {
	order := control.Order(r.PathValue("order"))
	switch order {
	case control.Retry, control.Cancel, control.Pause, control.Unpause:
	default:
		http.NotFound(w, r)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, formLimit)
	err := r.ParseForm()
	key := resume.Key{Agent: r.PostForm.Get("agent"), ID: r.PostForm.Get("id")} // not from the address, which logs keep
	if err != nil || key.Agent == "" || key.ID == "" {
		http.Error(w, "an order is a short form that names a session", http.StatusBadRequest)
		return
	}
	ctx, cancel := orderContext(r)
	defer cancel()
	after, err := p.backend.Do(ctx, key, order)
	if err != nil {
		refuse(w, err)
		return
	}
	tell(w, stateAndReason(after))
}

func (p *Page) setPaused(paused bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := orderContext(r)
		defer cancel()
		if err := p.backend.SetPaused(ctx, paused); err != nil {
			refuse(w, err)
			return
		}
		if paused {
			tell(w, "nothing is started until you unpause")
		} else {
			tell(w, "sessions whose wait is over start now")
		}
	}
}

// orderContext returns a context that outlives the request.
func orderContext(r *http.Request) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(r.Context()), orderLimit)
}

func tell(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, text) // an error means that the browser is gone
}

func refuse(w http.ResponseWriter, err error) {
	code := http.StatusInternalServerError
	if errors.Is(err, resume.ErrNoSession) {
		code = http.StatusNotFound
	}
	http.Error(w, err.Error(), code)
}
