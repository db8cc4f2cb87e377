// Package webhook posts notices to a URL of the user's.
package webhook

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"resumed/internal/notify"
	"resumed/internal/sanitize"
)

// Options describe a webhook.
type Options struct {
	notify.Common
	URL     string        // http or https
	Secret  string        // whsec_ and base64; empty: not signed
	Timeout time.Duration // of one try; 0: notify.DefaultTimeout
}

// Channel posts notices as JSON, signed as the Standard Webhooks
// specification says.
type Channel struct {
	notify.Base
	url     *url.URL
	sign    signer
	timeout time.Duration
	client  *http.Client
	hide    notify.Redactor
}

// New checks the options; it connects to nothing. Its errors hold no
// part of the URL or the secret.
func New(o Options) (*Channel, error) {
	b, err := notify.NewBase(o.Common)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(strings.TrimSpace(o.URL))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, o.Wrong("url", "it is not an http or https URL")
	}
	sign, err := newSigner(o.Secret)
	if err != nil {
		return nil, o.Wrong("secret", "%w", err)
	}
	transport := notify.Machine.(*http.Transport).Clone()
	transport.MaxIdleConns = 1
	return &Channel{
		Base:    b,
		url:     u,
		sign:    sign,
		timeout: cmp.Or(o.Timeout, notify.DefaultTimeout),
		client:  &http.Client{Transport: transport, CheckRedirect: sameHost},
		hide:    notify.NewRedactor(u, false),
	}, nil
}

// sameHost follows a redirect only where it keeps the notice whole and with
// its receiver: the same host, not from https to http, and as a POST (which
// 307 and 308 keep and the others do not).
func sameHost(next *http.Request, via []*http.Request) error {
	first := via[0]
	downgraded := first.URL.Scheme == "https" && next.URL.Scheme != "https"
	if len(via) > 5 || next.Method != http.MethodPost || next.URL.Host != first.URL.Host || downgraded {
		return http.ErrUseLastResponse
	}
	return nil
}

// To returns where the webhook leads, without secrets.
func (w *Channel) To() string { return notify.RedactURL(w.url) }

// Close lets go of idle connections.
func (w *Channel) Close() error {
	w.client.CloseIdleConnections()
	return nil
}

// Send posts the notice.
func (w *Channel) Send(ctx context.Context, n notify.Notice) (string, error) {
	body, err := json.Marshal(n)
	if err != nil {
		return "", &notify.PermanentError{Err: fmt.Errorf("encode notice: %w", err)}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, w.timeout, fmt.Errorf("no answer within %s", w.timeout))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url.String(), bytes.NewReader(body))
	if err != nil {
		return "", &notify.PermanentError{Err: errors.New("the URL makes no request")}
	}
	now := time.Now()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "resumed")
	w.sign.sign(req.Header, n.ID, now, body)

	resp, err := w.client.Do(req)
	if err != nil {
		return "", w.explain(ctx, err)
	}
	defer resp.Body.Close()
	// What is left of the body is not worth waiting for, only its beginning.
	words, _ := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
	return w.judge(resp, string(words), now)
}

// explain says why there was no answer.
func (w *Channel) explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	} else if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // the outer one quotes the whole URL
	}
	return fmt.Errorf("post to %s: %s", w.To(), w.hide.Redact(err.Error()))
}

// judge says what an answer means.
func (w *Channel) judge(resp *http.Response, words string, now time.Time) (string, error) {
	answer := strconv.Itoa(resp.StatusCode) + " " + http.StatusText(resp.StatusCode)
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		return answer, nil
	}
	err := fmt.Errorf("%s answered %s", w.To(), answer)
	if words = sanitize.Short(w.hide.Redact(words), 200); words != "" {
		err = fmt.Errorf("%w: %s", err, words)
	}
	switch {
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		return answer, &notify.PermanentError{Err: fmt.Errorf("%w: the redirect is not followed, for it leads to another host or loses the notice", err)}
	case notify.Retryable(resp.StatusCode):
		if after := notify.RetryAfter(resp.Header.Get("Retry-After"), now); after > 0 {
			return answer, &notify.RetryAfterError{After: after, Err: err}
		}
		return answer, err
	default:
		return answer, &notify.PermanentError{Err: err}
	}
}
