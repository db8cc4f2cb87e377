package notify

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// redactURL names where a URL leads without what opens the door: user, path
// and query are the secrets of most chat and push services.
func redactURL(u *url.URL) string {
	shown := u.Scheme + "://" + u.Host
	if u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		shown += "/…"
	}
	return shown
}

// redactor takes a URL's secrets out of texts that others wrote.
type redactor struct{ secrets []string }

// shortestSecret keeps words such as "hook" or "v1" readable: a token that
// short protects nothing.
const shortestSecret = 5

// newRedactor knows every part of a URL that may be a secret. hostToo is for
// services that carry a token where others carry a host.
func newRedactor(u *url.URL, hostToo bool) redactor {
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
	return redactor{secrets: slices.Compact(found)}
}

var anyURL = regexp.MustCompile(`[a-zA-Z][a-zA-Z0-9+.-]*://[^\s"'<>]+`)

// redact returns text without secrets.
func (r redactor) redact(text string) string {
	text = anyURL.ReplaceAllStringFunc(text, func(found string) string {
		if u, err := url.Parse(found); err == nil {
			return redactURL(u)
		}
		scheme, _, _ := strings.Cut(found, "://")
		return scheme + "://…"
	})
	for _, s := range r.secrets {
		text = strings.ReplaceAll(text, s, "…")
	}
	return text
}
