package notify

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// RedactURL names where a URL leads without what opens the door: user, path
// and query are the secrets of most chat and push services.
func RedactURL(u *url.URL) string {
	shown := u.Scheme + "://" + u.Host
	if u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		shown += "/…"
	}
	return shown
}

// Redactor takes a URL's secrets out of texts that others wrote.
type Redactor struct{ secrets []string }

// shortestSecret keeps words such as "hook" or "v1" readable: a token that
// short protects nothing.
const shortestSecret = 5

// NewRedactor knows every part of a URL that may be a secret. hostToo is for
// services that carry a token where others carry a host.
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
	// The longest first, or a secret's beginning would hide and leave its end.
	slices.SortFunc(found, func(a, b string) int { return len(b) - len(a) })
	return Redactor{secrets: slices.Compact(found)}
}

var anyURL = regexp.MustCompile(`[a-zA-Z][a-zA-Z0-9+.-]*://[^\s"'<>]+`)

// Redact returns text without secrets.
func (r Redactor) Redact(text string) string {
	text = anyURL.ReplaceAllStringFunc(text, func(found string) string {
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

// Retryable reports whether a status may be another one later.
func Retryable(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	default:
		return status >= 500
	}
}

// Machine asks by HTTP as every program of this machine does, with the proxies of the
// environment.
var Machine = http.DefaultTransport

// RetryAfter reads the Retry-After header's two forms, seconds and a date; 0 where it says
// nothing that can be read.
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
