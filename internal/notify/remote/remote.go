// Package remote sends the notices of all services and webhooks over HTTP: it makes requests,
// interprets responses, and keeps secrets of a URL out of errors.
package remote

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"resumed/internal/notify"
	"resumed/internal/sanitize"
)

// Service sends notices with one service. The error of Send has the meaning of that of a
// notify.Channel.
type Service interface {
	Send(context.Context, notify.Notice) error
}

// ServiceFunc is a Service that is only a function.
type ServiceFunc func(context.Context, notify.Notice) error

// Send calls the function.
func (f ServiceFunc) Send(ctx context.Context, n notify.Notice) error { return f(ctx, n) }

// Client sends to one server.
type Client struct {
	name string // of the server, in errors
	hide Redactor
	http http.Client
}

// NewClient returns a client. Its errors contain the name of the server. If transport is nil, it is the
// default one, with the proxies of the environment.
func NewClient(name string, hide Redactor, transport http.RoundTripper) *Client {
	return &Client{name, hide, http.Client{Transport: cmp.Or(transport, http.DefaultTransport), CheckRedirect: sameHost}}
}

// sameHost follows a redirect only if the complete notice goes to the same receiver: on the same host,
// not from https to http, and as a POST, which only 307 and 308 preserve.
func sameHost(next *http.Request, via []*http.Request) error {
	first := via[0]
	downgraded := first.URL.Scheme == "https" && next.URL.Scheme != "https"
	if len(via) > 5 || next.Method != http.MethodPost || next.URL.Host != first.URL.Host || downgraded {
		return http.ErrUseLastResponse
	}
	return nil
}

// SkipVerify accepts any certificate, for users with their own server.
func (c *Client) SkipVerify(skip bool) {
	if transport, ok := c.http.Transport.(*http.Transport); ok && skip {
		transport = transport.Clone()
		transport.TLSClientConfig, transport.DisableKeepAlives = &tls.Config{InsecureSkipVerify: true}, true
		c.http.Transport = transport
	}
}

// Stream requests an endless response. It follows no redirects.
func (c *Client) Stream(ctx context.Context, address, authorization string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, err
	}
	if authorization != "" {
		req.Header.Set("Authorization", authorization)
	}
	return c.http.Do(req)
}

// Answer is the response of a server.
type Answer struct {
	Code   int
	Status string // the code in words
	Body   []byte
}

// maxAnswer is more than any service answers; the rest is not read.
const maxAnswer = 64 << 10

// Post posts a body: bytes as they are, anything else as JSON. If the response is not 2xx, the error says
// what that means for the notice, and the Answer is returned too.
func (c *Client) Post(ctx context.Context, address string, header http.Header, body any) (Answer, error) {
	data, encoded := body.([]byte)
	if !encoded {
		var err error
		if data, err = json.Marshal(body); err != nil {
			return Answer{}, &notify.SendError{Final: true, Err: fmt.Errorf("encode message: %w", err)}
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(data))
	if err != nil {
		return Answer{}, &notify.SendError{Final: true, Err: fmt.Errorf("%s: the URL makes no request", c.name)}
	}
	req.Header.Set("Content-Type", "application/json")
	maps.Copy(req.Header, header)
	req.Header.Set("User-Agent", "resumed")
	resp, err := c.http.Do(req)
	if err != nil {
		return Answer{}, c.Unreachable(ctx, err)
	}
	defer resp.Body.Close()
	// A truncated response is judged by its beginning; the service checks its form.
	words, _ := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	answer := Answer{resp.StatusCode, strings.TrimSpace(strconv.Itoa(resp.StatusCode) + " " + http.StatusText(resp.StatusCode)), words}
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		return answer, nil
	}
	return answer, c.Refusal(answer, answer.Code, RetryAfter(resp.Header.Get("Retry-After"), time.Now()), string(words))
}

// Unreachable returns why there was no response.
func (c *Client) Unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	} else if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // the outer error quotes the whole URL
	}
	return errors.New(c.name + ": " + sanitize.Short(c.hide.Redact(err.Error()), 300))
}

// ErrCredentials is part of the error if a server refused the credentials or the permissions.
var ErrCredentials = errors.New("check the credentials of this channel")

// Refusal is the error for a response that refuses a notice. code is the HTTP status with the same
// meaning; words are the server's.
func (c *Client) Refusal(a Answer, code int, after time.Duration, words string) error {
	err := fmt.Errorf("%s answered %s", c.name, a.Status)
	if words = sanitize.Short(c.hide.Redact(words), 200); words != "" {
		err = fmt.Errorf("%w: %s", err, words)
	}
	switch {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return &notify.SendError{Final: true, Err: fmt.Errorf("%w: %w", err, ErrCredentials)}
	case code >= 300 && code < 400:
		return &notify.SendError{Final: true, Err: fmt.Errorf("%w: the redirect is not followed, for it leads to another host or loses the notice", err)}
	case code < 500 && code != http.StatusRequestTimeout && code != http.StatusTooEarly && code != http.StatusTooManyRequests:
		return &notify.SendError{Final: true, Err: err} // it would be refused again later
	case after > 0:
		return &notify.SendError{After: after, Err: err}
	default:
		return err
	}
}

// Strange is the error for a response that does not have the form of the service, such as the sign-in
// page of a network: the notice is tried again.
func (c *Client) Strange(a Answer) error {
	words := cmp.Or(sanitize.Short(c.hide.Redact(string(a.Body)), 100), "nothing")
	return fmt.Errorf("%s answered %s, but not in the form of the service: %s", c.name, a.Status, words)
}

// WantObject checks that a success response is a JSON object, as for most services.
func (c *Client) WantObject(a Answer, err error) error {
	var object map[string]json.RawMessage
	if err == nil && (json.Unmarshal(a.Body, &object) != nil || object == nil) {
		return c.Strange(a)
	}
	return err
}

// RetryAfter parses the two forms of the Retry-After header, seconds and a date; 0 if it cannot be
// parsed.
func RetryAfter(header string, now time.Time) time.Duration {
	header = strings.TrimSpace(header)
	if seconds, err := strconv.ParseInt(header, 10, 32); err == nil {
		return max(time.Duration(seconds)*time.Second, 0)
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}
