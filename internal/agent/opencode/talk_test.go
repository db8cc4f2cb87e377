package opencode

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/agent/opencode/server"
	"resumed/internal/resume"
)

// A server that hangs, breaks or answers nonsense never leads to a second process or a prompt.
func TestAServerThatDoesNotSay(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"an error":        func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"no password":     func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) },
		"nonsense":        func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") },
		"a broken answer": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"a way to another": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
		},
		"nothing of status": status404,
	} {
		t.Run(name, func(t *testing.T) {
			s := newStopped(t)
			s.serve(answer)
			plan := s.plan("continue")
			require.NotNil(t, plan.Skip)
			require.False(t, plan.Skip.Park, "it may pass")
			require.Contains(t, plan.Skip.Why, "does not say how the session stands")
		})
	}
}

func status404(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/status") {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	fmt.Fprintf(w, `{"id":"ses_1","directory":%q}`, r.URL.Query().Get("directory"))
}

func (s *stopped) serve(answer http.HandlerFunc) {
	fake := httptest.NewServer(answer)
	s.t.Cleanup(fake.Close)
	base, err := url.Parse(fake.URL)
	require.NoError(s.t, err)
	s.agent.server = base
}

// A session with the same id in another directory is a different one.
func TestAServerOfAnotherDirectory(t *testing.T) {
	s := newStopped(t)
	s.serve(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"id":"ses_1","directory":"/elsewhere"}`) })
	require.NotNil(t, s.plan("continue").Run)
}

// A session gets a prompt only while its server says nothing else of it than that it rests.
func TestASessionThatItsServerWorksOnGetsNoPrompt(t *testing.T) {
	for status, sends := range map[string]bool{
		`{}`:                                true,
		`{"ses_1":{"type":"idle"}}`:         true,
		`{"ses_2":{"type":"busy"}}`:         true,
		`{"ses_1":{"type":"busy"}}`:         false,
		`{"ses_1":{"type":"a later word"}}`: false,
	} {
		t.Run(status, func(t *testing.T) {
			s := newStopped(t)
			s.serve(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/status") {
					fmt.Fprint(w, status)
					return
				}
				fmt.Fprintf(w, `{"id":"ses_1","directory":%q}`, s.dir)
			})
			plan := s.plan("continue")
			require.Nil(t, plan.Run)
			require.Equal(t, sends, plan.Send != nil)
			if !sends {
				require.Contains(t, plan.Skip.Why, "works on the session")
				require.False(t, plan.Skip.Park, "it will be done")
			}
		})
	}
}

// A prompt that may have arrived is distinguished from one that certainly did not.
func TestASendingSaysWhetherItMayHaveArrived(t *testing.T) {
	for name, c := range map[string]struct {
		answer  http.HandlerFunc
		notSent bool
		ok      bool
	}{
		"taken":          {answer: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }, ok: true},
		"refused":        {answer: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }, notSent: true},
		"broken":         {answer: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }},
		"cut off":        {answer: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }},
		"sent elsewhere": {answer: func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/", http.StatusFound) }},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStopped(t)
			s.serve(c.answer)
			err := s.agent.prompt(t.Context(), server.Session{ID: "ses_1", Directory: s.dir}, "continue")
			_, notSent := errors.AsType[*agent.NotSentError](err)
			require.Equal(t, c.notSent, notSent, err)
			require.Equal(t, c.ok, err == nil, err)
		})
	}
	t.Run("nobody there", func(t *testing.T) {
		s := newStopped(t)
		s.agent.server = &url.URL{Scheme: "http", Host: "127.0.0.1:1"}
		err := s.agent.prompt(t.Context(), server.Session{ID: "ses_1", Directory: s.dir}, "continue")
		var notSent *agent.NotSentError
		require.ErrorAs(t, err, &notSent)
	})
}

// Without a server there is no way to reach a process.
func TestNobodyIsReachedWithoutAServer(t *testing.T) {
	s := newStopped(t)
	plan, err := s.agent.PlanLive(t.Context(), s.session, resume.Owner{PID: 7, Kind: "interactive"}, "continue")
	require.NoError(t, err)
	require.Equal(t, agent.Plan{}, plan)
	s.user("msg_2", "ses_1", time.Now())
	plan, err = s.agent.PlanLive(t.Context(), s.session, resume.Owner{PID: 7, Kind: "interactive"}, "continue")
	require.NoError(t, err)
	require.Contains(t, plan.Skip.Why, "a newer prompt")
}
