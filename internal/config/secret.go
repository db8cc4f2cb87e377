package config

import (
	"log/slog"
	"net/url"
	"slices"
	"strings"
)

const hidden = "[hidden]"

// Secret is text that is never printed or logged. Reveal gives it to whoever
// needs it.
type Secret string

// Reveal returns the text itself.
func (s Secret) Reveal() string { return string(s) }

func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return hidden
}

// GoString hides the text from %#v too.
func (s Secret) GoString() string { return s.String() }

// LogValue hides the text from logs.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText hides the text from encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// redacted returns the configuration with its secrets hidden: tokens in URLs,
// signing secrets, and the values of environment variables.
func (c Config) redacted() Config {
	c.Agents = slices.Clone(c.Agents)
	for i := range c.Agents {
		env := slices.Clone(c.Agents[i].Env)
		for j, kv := range env {
			name, _, _ := strings.Cut(kv, "=")
			env[j] = name + "=" + hidden
		}
		c.Agents[i].Env = env
	}
	c.Notify.Webhook = slices.Clone(c.Notify.Webhook)
	for i := range c.Notify.Webhook {
		w := &c.Notify.Webhook[i]
		w.URL, w.Secret = hideURL(w.URL), Secret(w.Secret.String())
	}
	c.Notify.Service = slices.Clone(c.Notify.Service)
	for i := range c.Notify.Service {
		c.Notify.Service[i].URL = hideURL(c.Notify.Service[i].URL)
	}
	return c
}

// hideURL leaves of a URL what tells it from others: for the web its host, for
// a service its scheme only, because a service's token stands anywhere.
func hideURL(s Secret) Secret {
	u, err := url.Parse(s.Reveal())
	switch {
	case s == "":
		return ""
	case err != nil || u.Scheme == "":
		return hidden
	case u.Scheme == "http" || u.Scheme == "https":
		return Secret(u.Scheme + "://" + u.Host + "/" + hidden)
	default:
		return Secret(u.Scheme + "://" + hidden)
	}
}

// holdsSecret reports whether the file itself holds something to hide.
func (c Config) holdsSecret() bool {
	hasEnv := func(a Agent) bool { return len(a.Env) > 0 }
	return slices.ContainsFunc(c.Agents, hasEnv) ||
		slices.ContainsFunc(c.Notify.Webhook, func(w Webhook) bool { return w.URL != "" || w.Secret != "" }) ||
		slices.ContainsFunc(c.Notify.Service, func(s Service) bool { return s.URL != "" })
}

// String is the configuration as TOML, secrets hidden.
func (c Config) String() string { return c.TOML() }

// LogValue keeps a configuration that is logged from showing its secrets.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.String()) }
