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
	"slices"
	"strconv"
	"strings"
	"time"

	"resumed/internal/lazy"
	"resumed/internal/notify"
	"resumed/internal/plain"
	"resumed/internal/sanitize"
)

// Service sends notices with one service.
type Service func(context.Context, notify.Notice) error

// Send calls the function.
func (s Service) Send(ctx context.Context, n notify.Notice) (string, error) {
	if err := s(ctx, n); err != nil {
		return "", err
	}
	return "accepted", nil
}

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
		data, _ = json.Marshal(body) // the messages of services are texts and numbers: it does not fail
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
	return errors.New(c.name + ": " + sanitize.Short(c.hide.Redact(plain.Text(err)), 300))
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

// RedactURL returns the destination of a URL without its secrets: those of most chat and push services
// are in the user, the path and the query.
func RedactURL(u *url.URL) string {
	shown := u.Scheme + "://" + u.Host
	if u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		shown += "/…"
	}
	return shown
}

// Redactor removes a URL's secrets from texts that others wrote.
type Redactor struct{ secrets []string }

// shortestSecret leaves words such as "hook" or "v1" readable: such a short token is not a secret.
const shortestSecret = 5

// NewRedactor collects every part of a URL that may be a secret. hostToo is for services that have a
// token in the place of the host.
func NewRedactor(u *url.URL, hostToo bool) Redactor {
	var found []string
	add := func(parts ...string) {
		for _, p := range parts {
			if len(p) >= shortestSecret {
				found = append(found, p, url.QueryEscape(p), url.PathEscape(p))
			}
		}
	}
	if u.User != nil {
		password, _ := u.User.Password()
		add(u.User.Username(), password)
	}
	add(strings.Split(u.Path, "/")...)
	for _, values := range u.Query() {
		for _, v := range values {
			add(v)
			add(strings.Split(v, ",")...)
		}
	}
	add(u.Fragment)
	if hostToo && !strings.Contains(u.Hostname(), ".") {
		add(u.Hostname())
	}
	// The longest come first: otherwise a shorter secret could hide only a part of a longer one.
	slices.SortFunc(found, func(a, b string) int { return len(b) - len(a) })
	return Redactor{secrets: slices.Compact(found)}
}

var anyURL = lazy.Regexp(`[a-zA-Z][a-zA-Z0-9+.-]*://[^\s"'<>]+`)

// Redact returns text without secrets.
func (r Redactor) Redact(text string) string {
	text = anyURL().ReplaceAllStringFunc(text, func(found string) string {
		if u, err := url.Parse(found); err == nil {
			return RedactURL(u)
		}
		scheme, _, _ := strings.Cut(found, "://")
		return scheme + "://…"
	})
	for _, s := range r.secrets {
		text = strings.ReplaceAll(text, s, "…")
	}
	return text
}

// Options are the options in the query of a service URL. Names are not case-sensitive; a name that no
// service asks for is an error.
type Options struct {
	given map[string]string
	asked []string
	err   error
}

// OptionsOf reads the options of a URL.
func OptionsOf(u *url.URL) *Options {
	o := &Options{given: make(map[string]string)}
	query, err := url.ParseQuery(strings.ReplaceAll(u.RawQuery, ";", "%3b")) // ntfy's buttons contain semicolons
	if err != nil {
		o.err = errors.New("its options cannot be read")
	}
	for name, values := range query {
		o.given[strings.ToLower(name)] = values[0]
	}
	return o
}

// Text returns an option; "" if it is not given.
func (o *Options) Text(name string) string {
	o.asked = append(o.asked, name)
	return o.given[name]
}

// Flag returns an option that is yes or no.
func (o *Options) Flag(usual bool, name string) bool {
	switch strings.ToLower(o.Text(name)) {
	case "":
		return usual
	case "yes", "y", "true", "on", "1":
		return true
	case "no", "n", "false", "off", "0":
		return false
	default:
		o.Wrong(name, "must be yes or no")
		return usual
	}
}

// Choice returns an option that must be one of some words, in lower case; "" if it is not given.
func (o *Options) Choice(name string, words ...string) string {
	value := strings.ToLower(o.Text(name))
	if value != "" && !slices.Contains(words, value) {
		o.Wrong(name, "must be one of "+strings.Join(words, ", "))
	}
	return value
}

// Wrong records what is wrong with an option. The first one counts.
func (o *Options) Wrong(name, why string) {
	if o.err == nil {
		o.err = fmt.Errorf("its option %s %s", name, why)
	}
}

// Err returns what is wrong with the options. Call it last: options that were not asked for until then
// are unknown.
func (o *Options) Err() error {
	for name := range o.given {
		if !slices.Contains(o.asked, name) {
			slices.Sort(o.asked)
			o.Wrong(fmt.Sprintf("%q", name), "does not exist; there are "+strings.Join(o.asked, ", "))
		}
	}
	return o.err
}
