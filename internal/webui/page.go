// Package webui shows the daemon in a browser: who waits for what, live, with
// buttons that steer. Whoever has its link may look and steer; nobody else may do
// either.
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
	// beatEvery is how often a quiet stream says that it lives: a browser on
	// another network does not learn by itself that the daemon is gone.
	beatEvery = 15 * time.Second

	// readerPatience is how long a browser may take for one document.
	readerPatience = 30 * time.Second

	// orderLimit is how long an order may take. A person who closes the page
	// has given it all the same.
	orderLimit = 10 * time.Second

	// formLimit bounds what an order may be made of.
	formLimit = 16 << 10
)

// policy lets run what stands in the page itself, by its hash, and load nothing; and nobody may
// put the page in a frame. It is completed by assemble.
const policy = "default-src 'none'; script-src %s %s; style-src %s; connect-src 'self'; img-src 'self' data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Page is a handler for the root of a server, which must check the Host of
// requests.
type Page struct {
	backend Backend
	access  access
	log     *slog.Logger
	handler http.Handler
}

// New returns the page for who has a link that the secret signs.
func New(backend Backend, secret *Secret, log *slog.Logger) *Page {
	p := &Page{backend: backend, access: access{secret: secret}, log: log}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", serveDocument) // everybody may have it: it tells nothing
	mux.Handle("GET /events", p.access.welcome(p.events))
	mux.Handle("GET /session", p.access.guard(p.session))
	mux.Handle("GET /strips", p.access.guard(p.strips))
	mux.Handle("GET /strips/accounts", p.access.guard(p.accountStrips))
	mux.Handle("GET /fleet", p.access.guard(p.fleet))
	mux.Handle("POST /session/{order}", p.access.guard(p.order))
	mux.Handle("POST /pause", p.access.guard(p.setPaused(true)))
	mux.Handle("POST /unpause", p.access.guard(p.setPaused(false)))
	p.handler = headers(http.NewCrossOriginProtection().Handler(mux))
	return p
}

// ServeHTTP answers a browser.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.handler.ServeHTTP(w, r) }

// Query returns what to add to the page's address to be let in: a token that is
// good for a while, or with once a ticket that lets in once, within a minute.
func (p *Page) Query(once bool) (string, error) {
	if once {
		return url.Values{"token": {p.access.ticket()}}.Encode(), nil
	}
	token, err := p.access.link()
	return url.Values{"token": {token}}.Encode(), err
}

// headers keep a browser from doing with an answer what it is not for.
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

// serveDocument serves the page, which is the same for everybody.
func serveDocument(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(w, assembled().html) // the reader is gone: nobody to tell
}

// events streams what changes, as server-sent events, after a key for everything else. It
// ends when what the reader has shown is worth nothing any more.
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
		told, err := next(r.Context(), f)
		if err != nil {
			p.log.Debug("a page is not told any longer", "err", err)
			return
		}
		if still, err := p.access.secret.now(); err != nil || still != secret {
			return
		}
		for event := range told {
			if !write(event) {
				return
			}
		}
	}
}

// next returns what is to be sent next: a change, or a beat where there is
// none for a while.
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
	key := resume.Key{Agent: r.PostForm.Get("agent"), ID: r.PostForm.Get("id")} // not from the address
	if err != nil || key.Agent == "" || key.ID == "" {
		http.Error(w, "an order is a short form that names a session", http.StatusBadRequest)
		return
	}
	ctx, cancel := lasting(r)
	defer cancel()
	after, err := p.backend.Do(ctx, key, order)
	if err != nil {
		refuse(w, err)
		return
	}
	tell(w, standing(after))
}

func (p *Page) setPaused(paused bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := lasting(r)
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

// lasting returns a context that outlives the request.
func lasting(r *http.Request) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(r.Context()), orderLimit)
}

func tell(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, text) // the reader is gone: nobody to tell
}

func refuse(w http.ResponseWriter, err error) {
	code := http.StatusInternalServerError
	if errors.Is(err, resume.ErrNoSession) {
		code = http.StatusNotFound
	}
	http.Error(w, err.Error(), code)
}
