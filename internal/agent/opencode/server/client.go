// Package server receives what a running opencode or its plugin reports about sessions, and sends prompts.
package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"resumed/internal/limit"
)

const (
	answerTimeout = 10 * time.Second // a server that is starting may never answer
	maxAnswer     = 4 << 20          // in bytes
)

// Client talks to a server.
type Client struct {
	URL            *url.URL
	User, Password string // used if the URL has none; without a password, no authentication
}

// requests are few, so no connection is kept open. Redirects are not followed.
var requests = http.Client{
	Transport: &http.Transport{
		DialContext: (&net.Dialer{Timeout: answerTimeout}).DialContext, TLSHandshakeTimeout: answerTimeout,
		ResponseHeaderTimeout: answerTimeout, DisableKeepAlives: true,
	},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// StatusError is an answer with an error status.
type StatusError struct {
	Request string
	Code    int
}

// Error returns the request and the status.
func (e *StatusError) Error() string {
	return fmt.Sprintf("%s: %d %s", e.Request, e.Code, http.StatusText(e.Code))
}

// NotConnected reports whether a request did not reach a server.
func NotConnected(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}

// do sends one request, with a JSON body if there is one. The answer ends with ctx.
func (c Client) do(ctx context.Context, method, path, directory string, body []byte) (*http.Response, error) {
	target := c.URL.JoinPath(path)
	if directory != "" {
		target.RawQuery = url.Values{"directory": {directory}}.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, method, target.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if c.Password != "" && target.User == nil {
		request.SetBasicAuth(c.User, c.Password)
	}
	answer, err := requests.Do(request)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode/100 != 2 {
		answer.Body.Close()
		return nil, &StatusError{method + " " + path, answer.StatusCode}
	}
	return answer, nil
}

func (c Client) get(ctx context.Context, path, directory string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	answer, err := c.do(ctx, http.MethodGet, path, directory, nil)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(io.LimitReader(answer.Body, maxAnswer)).Decode(into); err != nil {
		return fmt.Errorf("read the answer to GET %s: %w", path, err)
	}
	return nil
}

// Statuses returns the sessions of a directory that are not idle; by default those of the server's directory.
func (c Client) Statuses(ctx context.Context, directory string) (statuses map[string]Status, err error) {
	err = c.get(ctx, "/session/status", directory, &statuses)
	return statuses, err
}

// Session is a session as the server describes it.
type Session struct {
	ID        string `json:"id"`
	Directory string `json:"directory"`
	Agent     string `json:"agent"`
	Model     struct {
		ID       string `json:"id"`
		Provider string `json:"providerID"`
		Variant  string `json:"variant"`
	} `json:"model"`
}

// Session returns a session of the directory; the server answers 404 if it has none with that id.
func (c Client) Session(ctx context.Context, id, directory string) (s Session, err error) {
	err = c.get(ctx, "/session/"+id, directory, &s)
	return s, err
}

// Prompt sends a prompt to the session, once. It names the agent and the model: by default the server uses its usual
// agent, which may have more permissions.
func (c Client) Prompt(ctx context.Context, s Session, prompt string) error {
	type part struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	type model struct {
		Provider string `json:"providerID"`
		ID       string `json:"modelID"`
	}
	message := struct {
		Agent   string `json:"agent,omitempty"`
		Model   *model `json:"model,omitempty"`
		Variant string `json:"variant,omitempty"`
		Parts   []part `json:"parts"`
	}{Agent: s.Agent, Parts: []part{{"text", prompt}}}
	if s.Model.ID != "" && s.Model.Provider != "" {
		message.Model, message.Variant = &model{s.Model.Provider, s.Model.ID}, s.Model.Variant
	}
	body, err := json.Marshal(message)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	answer, err := c.do(ctx, http.MethodPost, "/session/"+s.ID+"/prompt_async", s.Directory, body)
	if err != nil {
		return err
	}
	return answer.Body.Close()
}

// Event is what a running opencode reports about a session, by its server or its plugin. It is not in the database.
type Event struct {
	Kind      Kind   `json:"-"`
	Type      string `json:"type"` // as opencode calls it
	Session   string `json:"session"`
	Directory string `json:"directory"`
	AtMS      int64  `json:"at"`
	PID       int    `json:"pid"` // of the process that holds the session; 0: the server does
	Status    Status `json:"status"`
}

// Kind is what an event says about its session.
type Kind uint8

// The kinds; the zero Kind says nothing.
const (
	Retrying Kind = iota + 1 // it waits and will retry by itself
	Working                  // it works
	Over                     // the turn is over: the database has the result
	Lost                     // it no longer waits, because its process is gone
)

// Status is the state of a session as opencode reports it.
type Status struct {
	Type    string `json:"type"`
	Message string `json:"message"`
	Next    int64  `json:"next"` // epoch in milliseconds
	Action  struct {
		Reason string `json:"reason"`
	} `json:"action"`
}

// Kind returns the kind of the status.
func (s Status) Kind() Kind {
	return map[string]Kind{"retry": Retrying, "busy": Working, "idle": Over}[s.Type]
}

func kindOf(eventType string, s Status) Kind {
	switch eventType {
	case "session.status":
		return s.Kind()
	case "session.idle", "session.error":
		return Over
	default:
		return 0
	}
}

// Verdict returns what opencode waits for.
func (s Status) Verdict(limits limit.Reader, at time.Time) limit.Verdict {
	limits.At = at
	v := limits.Refusal(limit.Refusal{Text: s.Message})
	switch {
	case s.Action.Reason == "account_rate_limit" || s.Action.Reason == "free_tier_limit":
		v.Class = limit.UsageLimit
	case !v.Class.Transient() || v.Class == limit.Unknown:
		v.Class = limit.ServerError // opencode retries, so the error is transient
	}
	v.WaitHelps, v.InProgress = true, true
	if at, ok := limit.Epoch(s.Next); ok {
		v.Reset = limit.Reset{At: at, Source: limit.Structured}
	}
	return v
}

// Service is the background server of opencode 2 as it registers itself in a file.
type Service struct {
	PID int    `json:"pid"`
	URL string `json:"url"`
}

// Check returns why the server cannot be used now. One that refuses to answer without its password lives.
func (s Service) Check(ctx context.Context) error {
	base, err := url.Parse(s.URL)
	if err != nil || base.Host == "" {
		return fmt.Errorf("its address %q is none", s.URL)
	}
	var health struct {
		PID int `json:"pid"`
	}
	err = Client{URL: base}.get(ctx, "/health", "", &health)
	if refused, ok := errors.AsType[*StatusError](err); ok && refused.Code == http.StatusUnauthorized {
		return nil
	}
	if err == nil && health.PID != 0 && health.PID != s.PID {
		return fmt.Errorf("another process (%d) answers at its address", health.PID)
	}
	return err
}
