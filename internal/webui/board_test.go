package webui

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/caller"
	"resumed/internal/control"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
	"resumed/internal/usage"
)

// board is a daemon that only notes what it is ordered.
type board struct {
	control.FleetBackend // nil: it is in none, and is not asked
	changes              control.Changes

	mu       sync.Mutex
	orders   []string
	sessions []view.Session
	accounts []control.Account
	seen     Detail
	own      []control.Step
	err      error
}

func (b *board) Status(_ context.Context, _ bool, only ...resume.Key) (control.Status, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	status := control.Status{Version: 1, Now: time.Now(), Sessions: []view.Session{}, Accounts: b.accounts}
	for _, s := range b.sessions {
		if len(only) == 0 || slices.Contains(only, s.Key()) {
			status.Sessions = append(status.Sessions, s)
		}
	}
	return status, nil
}

func (b *board) Changes() *control.Changes { return &b.changes }

func (b *board) Find(_ context.Context, name string) (resume.Key, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	found, err := view.Find(b.sessions, name)
	return found.Key(), err
}

func (b *board) Session(context.Context, string) (control.Status, error) {
	return control.Status{}, nil
}

func (b *board) Do(_ context.Context, key resume.Key, order control.Action) (view.Session, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.orders = append(b.orders, string(order)+" "+key.String())
	return view.Session{Agent: key.Agent, ID: key.ID, State: resume.Waiting, Reason: "asked for by you"}, b.err
}

func (b *board) DoAway(_ context.Context, host, session string, order control.Action) (view.Session, error) {
	b.orders = append(b.orders, string(order)+" "+host+": "+session)
	return view.Session{State: resume.Waiting}, b.err
}

func (b *board) HandleHook(context.Context, caller.Caller, control.HookEvent) error { return nil }

func (b *board) Refused(caller.Caller, string, string) {}

func (b *board) AddReadings(context.Context, caller.Caller, resume.Key, []usage.Reading) error {
	return nil
}

func (b *board) Queue() control.Tasks { return nil }

func (b *board) SetPaused(_ context.Context, paused bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.orders = append(b.orders, fmt.Sprint("paused ", paused))
	return b.err
}

func (b *board) History(context.Context, string, time.Time) (iter.Seq2[control.Step, error], error) {
	return nil, nil
}

func (b *board) Detail(_ context.Context, key resume.Key) (Detail, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.sessions {
		if s.Key() == key {
			seen := b.seen
			seen.Session = s
			seen.Session.Plan = &view.Plan{Command: []string{"claude", "-p"}, LeftOut: []string{"--ide: <b>"}}
			return seen, nil
		}
	}
	return Detail{}, resume.ErrNoSession
}

func (b *board) Steps(_ context.Context, key resume.Key, _ time.Time, _ int) iter.Seq2[control.Step, error] {
	return func(yield func(control.Step, error) bool) {
		for _, step := range b.seen.Steps {
			if (key == resume.Key{} || key.ID == step.Session) && !yield(step, nil) {
				return
			}
		}
	}
}

func (b *board) OwnSteps(context.Context, time.Time) iter.Seq2[control.Step, error] {
	return func(yield func(control.Step, error) bool) {
		for _, step := range b.own {
			if !yield(step, nil) {
				return
			}
		}
	}
}

func (b *board) PageURL(bool) (string, error) { return "", nil }

func (b *board) NewPageKey() error { return nil }

func newPage(t *testing.T, b *board) *Page {
	return New(b, OpenGrants(t.TempDir()), slog.New(slog.DiscardHandler))
}

// ask sends a request as a program would; change makes it a browser's.
func ask(h http.Handler, method, target, body string, change func(*http.Request)) *httptest.ResponseRecorder {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second) // a stream that is given has no end
	defer cancel()
	request := httptest.NewRequestWithContext(ctx, method, "http://127.0.0.1:7733"+target, strings.NewReader(body))
	if method == http.MethodPost {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if change != nil {
		change(request)
	}
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, request)
	return answer
}

// here is the path of the visit that the tests make.
const here = "HERE"

// at is the target of a request of that visit.
func at(target string) string { return visitRoot + here + target }

// known makes a request one of a browser that was let in.
func known(t *testing.T, p *Page) func(*http.Request) {
	given, err := p.access.grants.give(visit(here), time.Now().Add(visitLife))
	require.NoError(t, err)
	return showing(given)
}

func showing(cookie string) func(*http.Request) {
	return func(r *http.Request) { r.AddCookie(&http.Cookie{Name: cookieName, Value: cookie}) }
}

// following makes a request that of a page whose link has just been followed.
func following(query string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Authorization", "Link "+strings.TrimPrefix(query, "token=")) }
}

// enter follows a link, and returns the path and the cookie of the visit.
func enter(p *Page, query string) (code int, path string, cookie *http.Cookie) {
	answer := ask(p, "POST", "/enter", "", following(query))
	for _, cookie = range answer.Result().Cookies() {
		return answer.Code, answer.Body.String(), cookie
	}
	return answer.Code, "", nil
}

func entered(t *testing.T, p *Page, query string, want int) {
	t.Helper()
	code, _, cookie := enter(p, query)
	require.Equal(t, want, code)
	require.Equal(t, want == http.StatusOK, cookie != nil, "who is let in has a cookie, and nobody else")
}
