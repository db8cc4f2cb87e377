// Package webui shows the daemon in a browser: which sessions wait for what, live, with buttons
// to act on them. Only a browser that was opened with its link may see or do anything.
package webui

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"resumed/internal/control"
	"resumed/internal/lazy"
	"resumed/internal/resume"
)

//go:embed files
var files embed.FS

const (
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

// New returns the page, for browsers that have a grant.
func New(backend Backend, grants *Grants, log *slog.Logger) *Page {
	p := &Page{backend: backend, access: access{grants: grants}, log: log}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", serveDocument) // public: it contains no data
	mux.HandleFunc("POST /enter", p.access.enter)
	mux.Handle("GET "+visitRoot+"{visit}/events", p.access.require(p.events))
	for route, reply := range map[string]func(*http.Request) (any, error){
		"GET session":          p.session,
		"GET strips":           p.strips,
		"GET strips/accounts":  p.accountStrips,
		"GET queue":            p.queue,
		"GET history":          p.history,
		"GET fleet":            p.fleet,
		"GET renew":            func(*http.Request) (any, error) { return nil, nil }, // require gives the cookie
		"POST session/{order}": p.order,
		"POST pause":           func(r *http.Request) (any, error) { return p.setPaused(r, true) },
		"POST unpause":         func(r *http.Request) (any, error) { return p.setPaused(r, false) },
	} {
		method, path, _ := strings.Cut(route, " ")
		mux.Handle(method+" "+visitRoot+"{visit}/"+path, p.access.require(func(w http.ResponseWriter, r *http.Request) {
			document, err := reply(r)
			answer(w, document, err)
		}))
	}
	p.handler = headers(http.NewCrossOriginProtection().Handler(http.MaxBytesHandler(mux, formLimit)))
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
	token, err := p.access.grants.give(link, time.Now().Add(linkLife))
	return url.Values{"token": {token}}.Encode(), err
}

// NewKey ends all links, and all browsers that were let in.
func (p *Page) NewKey() error { return p.access.grants.end() }

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

func serveDocument(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(w, assembled().html) // an error means that the browser is gone
}

// events streams changes as server-sent events. The stream ends with the grant of its visit.
func (p *Page) events(w http.ResponseWriter, r *http.Request) {
	f := control.Follow(p.backend, false)
	defer f.Leave()
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	write := func(event []byte) bool {
		_ = out.SetWriteDeadline(time.Now().Add(readerPatience)) // every connection can
		_, err := w.Write(event)
		return err == nil && out.Flush() == nil // else the reader is gone
	}
	for r.Context().Err() == nil {
		changes, err := next(r.Context(), f)
		if err != nil {
			p.log.Debug("the stream of a page ended", "err", err)
			return
		}
		if _, still := p.access.visit(r); !still {
			return
		}
		for event := range changes {
			if !write(event) {
				return
			}
		}
	}
}

// next returns the next events: a change, or a beat if there is none for a while. A browser on another machine does not
// notice by itself that the daemon is gone.
func next(ctx context.Context, f *control.Subscriber) (iter.Seq[[]byte], error) {
	update, err := f.Next(ctx)
	if errors.Is(err, control.ErrQuiet) {
		return slices.Values([][]byte{[]byte("event: beat\ndata:\n\n")}), nil
	}
	if err != nil {
		return nil, err
	}
	return events(ctx, update), nil
}

// requestError is an error of the request itself, with the status of its answer.
type requestError struct {
	code int
	text string
}

func (e *requestError) Error() string { return e.text }

// answer sends a document, or why there is none. If that cannot be sent, the browser is gone.
func answer(w http.ResponseWriter, document any, err error) {
	wrong, ok := errors.AsType[*requestError](err)
	switch {
	case ok:
		http.Error(w, wrong.text, wrong.code)
	case errors.Is(err, resume.ErrNoSession):
		http.Error(w, err.Error(), http.StatusNotFound)
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	default:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(document)
	}
}

// assembledPage is the page as one document, and its content security policy. The page is written
// in many files but sent as one: a browser needs longer for a dozen requests than for
// everything in them.
type assembledPage struct {
	html, policy string
}

// assembled is made once, for the first request.
var assembled = sync.OnceValue(func() assembledPage { return assemble(files) })

// The tags of page.html that are replaced.
const (
	startTag  = `<script src="/start.js"></script>`
	styleTag  = `<link rel="stylesheet" href="/page.css">`
	moduleTag = `<script type="module" src="/page.js"></script>`
)

// assemble puts the parts into the page.
func assemble(from fs.ReadFileFS) assembledPage {
	html := text(from, "page.html")
	parts := []struct{ tag, open, body, end string }{
		{startTag, "<script>", text(from, "start.js"), "</script>"},
		{styleTag, "<style>", text(from, "page.css"), "</style>"},
		{moduleTag, `<script type="module">`, join(from), "</script>"},
	}
	var hashes []any
	for _, p := range parts {
		if strings.Count(html, p.tag) != 1 || strings.Contains(p.body, "</") || strings.Contains(p.body, "<!--") {
			panic("a part cannot stand in the page: " + p.tag) // the files are part of the program
		}
		html = strings.Replace(html, p.tag, p.open+p.body+p.end, 1)
		hash := sha256.Sum256([]byte(p.body))
		hashes = append(hashes, "'sha256-"+base64.StdEncoding.EncodeToString(hash[:])+"'")
	}
	return assembledPage{html, fmt.Sprintf(policy, hashes[0], hashes[2], hashes[1])}
}

func text(from fs.ReadFileFS, name string) string {
	data, err := from.ReadFile("files/" + name)
	if err != nil {
		panic(err) // the file is part of the program
	}
	return string(data)
}

// Import and export lines of the page's modules.
var (
	imports = lazy.Regexp(`(?m)^import (\{[^}]*\}) from '\./(\w+)\.js';$`)
	exports = lazy.Regexp(`(?m)^export ((?:async )?function|class|const) (\w+)`)
	others  = lazy.Regexp(`(?m)^(import|export)\b.*$`)
)

// join makes one module of page.js and the modules that it imports. Each becomes a function that
// returns its exports, so that equal names of two modules do not collide. Imported modules come
// first.
func join(from fs.ReadFileFS) string {
	var all strings.Builder
	begun := map[string]bool{}
	var add func(name string)
	add = func(name string) {
		if begun[name] {
			return
		}
		begun[name] = true
		body := text(from, name+".js")
		for _, needed := range imports().FindAllStringSubmatch(body, -1) {
			add(needed[2])
		}
		var names []string
		for _, export := range exports().FindAllStringSubmatch(body, -1) {
			names = append(names, export[2])
		}
		body = imports().ReplaceAllString(body, "const $1 = ${2}_js;")
		body = exports().ReplaceAllString(body, "$1 $2")
		if left := others().FindString(body); left != "" {
			panic(name + ".js: cannot be joined: " + left) // the file is part of the program
		}
		fmt.Fprintf(&all, "\n// %s.js\nconst %s_js = (() => {\n%s\nreturn {%s};\n})();\n", name, name, body, strings.Join(names, ", "))
	}
	add("page")
	return all.String()
}
