package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"time"

	"resumed/internal/notify"
)

// The library's services ask by HTTP and keep to themselves what was answered: most of them
// make errors of words, some read an answer without an end, none can be told
// to stop. So an ear is where they ask. Services that take a client are
// given one of ours. All others use the transport of the process, in the goroutine that
// was told to send: ours stands in its place, and knows a flight by its goroutine.
var listening = &ears{of: make(map[string]*ear)}

func init() { http.DefaultTransport = listening }

// ears are those of the flights that are under way.
type ears struct {
	mu sync.Mutex
	of map[string]*ear // by goroutine
}

// RoundTrip is the machine's own for whoever is no flight.
func (e *ears) RoundTrip(req *http.Request) (*http.Response, error) {
	e.mu.Lock()
	it := e.of[goroutine()]
	e.mu.Unlock()
	if it == nil {
		return notify.Machine.RoundTrip(req)
	}
	return it.RoundTrip(req)
}

// listen has the ear hear what this goroutine asks for, until it is told to stop.
func (e *ears) listen(it *ear) (stop func()) {
	own := goroutine()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.of[own] = it
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.of, own)
	}
}

// goroutine names the one that runs: the first words of its stack do.
func goroutine() string {
	var head [64]byte
	name, _, _ := strings.Cut(string(head[:runtime.Stack(head[:], false)]), " [")
	return name
}

// answer is what was answered.
type answer struct {
	status int // 0: nothing
	after  time.Duration
	words  string
}

// weight says how much an answer counts among several: what passes by itself more than a
// refusal, and that more than a yes.
func (a answer) weight() int {
	switch {
	case a.status == 0 || notify.Retryable(a.status):
		return 2
	case a.status >= 400:
		return 1
	default:
		return 0
	}
}

// ear is the transport of one flight.
type ear struct {
	ctx   context.Context // ends the flight
	asks  http.RoundTripper
	heard answer // the one that counts
	any   bool
}

// longestAnswer is more than any service says.
const longestAnswer = 1 << 20

// RoundTrip asks, and reads the answer at once: all of it, or as much as anybody needs.
func (e *ear) RoundTrip(req *http.Request) (*http.Response, error) {
	if from := req.Response; from != nil && from.Request != nil {
		if was, is := from.Request.URL, req.URL; was.Host != is.Host || was.Scheme == "https" && is.Scheme != "https" {
			return nil, errors.New("it leads to another host, where the notice is not meant to go")
		}
	}
	ctx, cancel := context.WithCancel(req.Context())
	defer context.AfterFunc(e.ctx, cancel)()
	defer cancel()
	resp, err := e.asks.RoundTrip(req.WithContext(ctx))
	if err != nil {
		e.note(answer{})
		return nil, err
	}
	defer resp.Body.Close()
	words, err := io.ReadAll(io.LimitReader(resp.Body, longestAnswer+1))
	if len(words) > longestAnswer {
		err = fmt.Errorf("its answer is longer than %d bytes", longestAnswer)
	}
	e.note(answer{resp.StatusCode, notify.RetryAfter(resp.Header.Get("Retry-After"), time.Now()), string(words)})
	resp.Body = io.NopCloser(&rest{bytes.NewReader(words), err})
	return resp, nil
}

func (e *ear) note(a answer) {
	if !e.any || a.weight() >= e.heard.weight() {
		e.heard, e.any = a, true
	}
}

// rest is what was read of a body, and how that ended.
type rest struct {
	*bytes.Reader
	err error
}

func (r *rest) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if errors.Is(err, io.EOF) && r.err != nil {
		err = r.err
	}
	return n, err
}
