// Package service sends notices with chat, push and mail services.
package service

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"resumed/internal/notify"
	"resumed/internal/notify/mail"
	"resumed/internal/notify/ntfy"
	"resumed/internal/notify/remote"
)

// Options configure a chat, push or mail service.
type Options struct {
	notify.Common                   // Timeout 0: 20 seconds
	URL           string            // such as ntfy://ntfy.sh/topic
	Transport     http.RoundTripper // nil: the default one

	// Replies is the ntfy topic for the replies of buttons; empty: there are no buttons.
	Replies string
	notify.Orders
}

// Channel sends with one service.
type Channel struct {
	notify.Base
	to    string
	send  sendFunc
	phone *ntfy.Service // nil: it is another service
}

type sendFunc func(context.Context, notify.Notice) error

// readers parse the URL of a service, by its scheme. The packages ntfy and mail have their own.
var readers = map[string]func(*url.URL, *remote.Options, *remote.Client) (sendFunc, error){
	"discord": discord, "gotify": gotify, "ntfy": nil, "pushover": pushover, "slack": slack, "smtp": nil, "telegram": telegram,
}

// New checks the options; it connects to nothing. Its errors contain no part of the URL except the
// scheme and the names of options.
func New(o Options) (*Channel, error) {
	o.Timeout = cmp.Or(o.Timeout, 20*time.Second)
	b, err := notify.NewBase(o.Common)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(strings.TrimSpace(o.URL))
	if err != nil || u.Scheme == "" {
		return nil, o.Wrong("url", "it is not a service URL such as ntfy://ntfy.sh/topic")
	}
	s := &Channel{Base: b, to: u.Scheme}
	if err := s.open(u, o.Transport); err != nil {
		return nil, o.Wrong("url", "%w", err)
	}
	switch {
	case o.Replies == "":
		return s, nil
	case s.phone == nil:
		return nil, o.Wrong("replies", "only ntfy has buttons that answer, and the URL is one of %s", s.to)
	}
	if err := s.phone.AnswerBy(o.Replies, o.Name, o.Orders); err != nil {
		return nil, o.Wrong("replies", "%w", err)
	}
	return s, nil
}

// open prepares the service that a URL names.
func (s *Channel) open(u *url.URL, transport http.RoundTripper) (err error) {
	hide, options := remote.NewRedactor(u, true), remote.OptionsOf(u)
	options.Text("title") // the title comes from the notice
	client := remote.NewClient(u.Scheme, hide, transport)
	switch read, known := readers[u.Scheme]; {
	case u.Scheme == "http" || u.Scheme == "https":
		return fmt.Errorf("must begin with the name of a service: for ntfy write ntfy://ntfy.sh/TOPIC; a plain %s URL is for [[notify.webhook]]", u.Scheme)
	case !known:
		return fmt.Errorf("there is no service %q; valid here: %s. The program apprise sends to many others: use [[notify.command]] with %s",
			strings.ToLower(u.Scheme), strings.Join(slices.Sorted(maps.Keys(readers)), ", "), Apprise)
	case u.Scheme == "ntfy":
		s.phone, err = ntfy.New(u, options, client)
		s.send = s.phone.Send
	case u.Scheme == "smtp":
		var server *mail.Service
		server, err = mail.New(u, options, hide)
		s.send = server.Send
	default:
		s.send, err = read(u, options, client)
	}
	return cmp.Or(err, options.Err())
}

// Apprise is the command channel for services that are not supported.
const Apprise = `run = ["sh", "-c", 'apprise -t "$RESUMED_TITLE" -b "$RESUMED_TEXT" URL']`

// To returns the kind of service; everything else in its URL may be a secret.
func (s *Channel) To() string { return s.to }

// Send sends with the service.
func (s *Channel) Send(ctx context.Context, n notify.Notice) (string, error) {
	ctx, cancel := s.Bound(ctx)
	defer cancel()
	if err := s.send(ctx, n); err != nil {
		return "", err
	}
	return "accepted", nil
}

// Listen receives orders from the buttons of notices until ctx is done, if there are buttons.
func (s *Channel) Listen(ctx context.Context, log *slog.Logger) {
	if s.phone != nil {
		s.phone.Listen(ctx, log.With("channel", s.Name()))
	}
}
