// Package server knows what a running opencode says of its sessions, through its server or
// through the plugin, and gives it prompts.
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
)

const (
	answerTimeout = 10 * time.Second // a server that is starting may never answer
	maxAnswer     = 4 << 20          // in bytes
)

// Client talks to a server.
type Client struct {
	URL            *url.URL
	User, Password string // where the URL names none; no password: the server asks for none
	http           *http.Client
}

// NewClient returns a client that waits for no answer for ever. Its requests
// go where the user says, and no further.
func NewClient(base *url.URL, user, password string) *Client {
	return &Client{URL: base, User: user, Password: password, http: &http.Client{
		Transport: &http.Transport{
			DialContext:           (&net.Dialer{Timeout: answerTimeout}).DialContext,
			ResponseHeaderTimeout: answerTimeout,
			TLSHandshakeTimeout:   answerTimeout,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Close closes the connections that are not in use.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// StatusError is an answer that says no.
type StatusError struct {
	Request string
	Code    int
}

// Error says what was asked, and what the answer was.
func (e *StatusError) Error() string {
	return fmt.Sprintf("%s: %d %s", e.Request, e.Code, http.StatusText(e.Code))
}

// NotConnected reports whether a request did not even reach a server.
func NotConnected(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}

// do sends one request, with a body of JSON where there is one. The answer ends with ctx.
func (c *Client) do(ctx context.Context, method, path, directory string, body []byte) (*http.Response, error) {
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
	answer, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode/100 != 2 {
		answer.Body.Close()
		return nil, &StatusError{method + " " + path, answer.StatusCode}
	}
	return answer, nil
}

// get asks the server for one value.
func (c *Client) get(ctx context.Context, path, directory string, into any) error {
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

// Statuses returns the sessions of a directory that are not idle; without one, of the server's own.
func (c *Client) Statuses(ctx context.Context, directory string) (statuses map[string]Status, err error) {
	err = c.get(ctx, "/session/status", directory, &statuses)
	return statuses, err
}

// Session is what the server says of a session.
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

// Session returns a session of the directory; the server answers 404 where it has none of that id.
func (c *Client) Session(ctx context.Context, id, directory string) (s Session, err error) {
	err = c.get(ctx, "/session/"+id, directory, &s)
	return s, err
}

// Prompt gives the session a prompt, once. Agent and model are named: without
// them the server takes the usual agent, which may do more than the session's.
func (c *Client) Prompt(ctx context.Context, s Session, prompt string) error {
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
