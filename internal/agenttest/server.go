// Package agenttest has helpers for tests of agents. Server is a fake provider: one local server that
// speaks the protocols of Anthropic (Messages), OpenAI (Responses and chat completions) and Google
// (generateContent), and answers, fails or hangs as the test says. The program itself must not import
// it.
package agenttest

import (
	"cmp"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// Request is one request to the provider.
type Request struct {
	At      time.Time
	Path    string    // or the host that a proxy was asked for
	Side    bool      // not part of the conversation: a title, a summary, a probe
	Prompts []string  // of people, in the conversation so far, oldest first
	Answer  Kind      // the answer that was sent
	Key     string    // the API key
	Model   string    // the requested model
	Reset   time.Time // the stated reset, or zero
}

// Server is the fake provider.
type Server struct {
	URL string // of the server; the paths below it are the providers'

	http   *httptest.Server
	closed chan struct{} // ends the answers that hang

	mu       sync.Mutex // guards all fields below
	script   []Answer
	words    string // the prompt that replaces the script by then
	then     []Answer
	busy     string // the overloaded model
	task     string // the prompt of a subagent, which follows a script of its own
	child    []Answer
	requests []Request
}

// NewServer starts a provider that follows the script: each request of a conversation uses one answer,
// and the last one is repeated. It stops with the test.
func NewServer(t testing.TB, script ...Answer) *Server {
	s := &Server{closed: make(chan struct{})}
	s.Script(script...)
	s.http = httptest.NewServer(s)
	s.URL = s.http.URL
	t.Cleanup(func() {
		close(s.closed)
		s.http.CloseClientConnections()
		s.http.Close()
	})
	return s
}

// Script replaces the rest of the script.
func (s *Server) Script(script ...Answer) {
	if len(script) == 0 {
		script = []Answer{Text("Hello.")}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script, s.then = script, nil
}

// Upon replaces the script as soon as a prompt of the conversation says these words.
func (s *Server) Upon(words string, script ...Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.words, s.then = words, script
}

// Child gives the conversations with that prompt a script of their own: those of a subagent.
func (s *Server) Child(prompt string, script ...Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.task, s.child = prompt, script
}

// Busy refuses every request for a model with that in its name, as overloaded, until the next call; "":
// none. Other models follow the script.
func (s *Server) Busy(model string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy = model
}

// Requests returns the requests of conversations so far, without side requests.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	var main []Request
	for _, r := range s.requests {
		if !r.Side {
			main = append(main, r)
		}
	}
	return main
}

// Heard returns every request so far, also side requests.
func (s *Server) Heard() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// ask is a request, parsed.
type ask struct {
	model   string
	stream  bool
	side    bool
	prompts []string
	tools   []string
}

// dialect is the protocol of one kind of provider.
type dialect interface {
	// read parses a request.
	read(r *http.Request, body []byte) ask

	// refuse returns a refusal: its status, its headers and its body.
	refuse(a Answer, now time.Time) (int, http.Header, any)

	// stream returns the events of an answer.
	stream(q ask, a Answer) []string

	// begin returns the first events of an answer, and trouble the event that reports an error after
	// them.
	begin(q ask) []string
	trouble() string

	// whole returns an answer without a stream.
	whole(q ask, a Answer) any
}

// dialectOf returns the dialect of a path, or nil.
func dialectOf(path string) dialect {
	switch {
	case strings.HasSuffix(path, "/messages"):
		return anthropic{}
	case strings.HasSuffix(path, "/responses"):
		return responses{}
	case strings.HasSuffix(path, "/chat/completions"):
		return chat{}
	case strings.HasSuffix(path, ":generateContent"), strings.HasSuffix(path, ":streamGenerateContent"):
		return gemini{}
	default:
		return nil
	}
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the agent closed the connection
	}
	d := dialectOf(r.URL.Path)
	if d == nil || r.Method != http.MethodPost {
		s.aside(w, r)
		return
	}
	q := d.read(r, body)
	now := time.Now()
	a := s.next(q)
	s.record(Request{
		At: now, Path: r.URL.Path, Side: q.side, Prompts: q.prompts, Answer: a.kind, Reset: a.resetAt(now), Key: keyOf(r), Model: q.model,
	})
	s.answer(reply{w: w, r: r, closed: s.closed}, d, q, a, now)
}

// keyOf returns the API key of a request.
func keyOf(r *http.Request) string {
	return cmp.Or(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), r.Header.Get("X-Api-Key"), r.Header.Get("X-Goog-Api-Key"))
}

func (s *Server) answer(w reply, d dialect, q ask, a Answer, now time.Time) {
	if !q.stream && a.kind == KindBroken {
		a = Overloaded() // there is no stream to break
	}
	w.think(a.think)
	switch {
	case a.refuses():
		w.json(d.refuse(a, now))
	case a.kind == KindReset, a.kind == KindCut && !q.stream:
		w.reset()
	case a.kind == KindHang, a.kind == KindStuck && !q.stream:
		w.hang()
	case !q.stream:
		w.json(http.StatusOK, nil, d.whole(q, a))
	case a.kind == KindBroken:
		w.events(append(d.begin(q), d.trouble())...)
	case a.kind == KindCut:
		w.events(d.begin(q)...)
		w.reset()
	case a.kind == KindStuck:
		w.events(d.begin(q)...)
		w.hang()
	default:
		w.events(d.stream(q, a)...)
	}
}

// next takes an answer from the script. Side requests always succeed.
func (s *Server) next(q ask) Answer {
	if q.side {
		return Text("A title")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.then) > 0 && Says(q.prompts, s.words) > 0 { // the words are those of the main conversation
		s.script, s.then = s.then, nil
	}
	if s.busy != "" && strings.Contains(q.model, s.busy) {
		return Overloaded()
	}
	script := &s.script
	if len(s.child) > 0 && Says(q.prompts, s.task) > 0 {
		script = &s.child
	}
	a := (*script)[0]
	if len(*script) > 1 {
		*script = (*script)[1:]
	}
	return a
}

// Says counts the prompts that contain these words as a line of their own: some agents add quotes to a
// prompt, some add hints before it.
func Says(prompts []string, words string) int {
	n := 0
	for _, prompt := range prompts {
		for line := range strings.Lines(prompt) {
			if strings.Trim(line, " \t\n\"") == words {
				n++
				break
			}
		}
	}
	return n
}

func (s *Server) record(r Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
}

// aside answers other requests of agents, such as the list of models or a token count.
func (s *Server) aside(w http.ResponseWriter, r *http.Request) {
	s.record(Request{At: time.Now(), Path: cmp.Or(r.URL.Path, r.Host), Side: true})
	out := reply{w: w, r: r, closed: s.closed}
	switch {
	case strings.HasSuffix(r.URL.Path, "/count_tokens"):
		out.json(http.StatusOK, nil, object{"input_tokens": 1000})
	case strings.HasSuffix(r.URL.Path, ":countTokens"):
		out.json(http.StatusOK, nil, object{"totalTokens": 1000})
	case strings.HasSuffix(r.URL.Path, "/models"):
		out.json(http.StatusOK, nil, object{"object": "list", "data": []any{}, "models": []any{}, "has_more": false})
	case r.Method == http.MethodHead:
		w.WriteHeader(http.StatusOK)
	default:
		out.json(http.StatusNotFound, nil, object{"error": object{"type": "not_found_error", "message": "no such path"}})
	}
}
