package remote

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

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
