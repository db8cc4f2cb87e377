// Package server receives what a running opencode reports about its sessions, from its server or its plugin, and
// sends prompts to it.
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
	User, Password string // used if the URL has none; without a password, no authentication
	http           *http.Client
}

// NewClient returns a client with timeouts. It does not follow redirects.
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

// get requests one value from the server.
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

// Statuses returns the sessions of a directory that are not idle; by default those of the server's directory.
func (c *Client) Statuses(ctx context.Context, directory string) (statuses map[string]Status, err error) {
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
func (c *Client) Session(ctx context.Context, id, directory string) (s Session, err error) {
	err = c.get(ctx, "/session/"+id, directory, &s)
	return s, err
}

// Prompt sends a prompt to the session, once. It names the agent and the model: by default the server uses its usual
// agent, which may have more permissions.
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
