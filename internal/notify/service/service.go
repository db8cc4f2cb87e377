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
	"resumed/internal/notify/discord"
	"resumed/internal/notify/gotify"
	"resumed/internal/notify/mail"
	"resumed/internal/notify/ntfy"
	"resumed/internal/notify/pushover"
	"resumed/internal/notify/remote"
	"resumed/internal/notify/slack"
	"resumed/internal/notify/telegram"
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

// sender sends with one service.
type sender struct{ remote.Service }

// schemes parse the URL of a service, by its scheme.
var schemes = map[string]func(*url.URL, *remote.Options, *remote.Client) (remote.Service, error){
	"discord": discord.New, "gotify": gotify.New, "ntfy": ntfy.New, "pushover": pushover.New, "slack": slack.New, "smtp": mail.New, "telegram": telegram.New,
}

// New checks the options; it connects to nothing. Its errors contain no part of the URL except the
// scheme and the names of options.
func New(o Options) (*notify.Channel, error) {
	u, err := url.Parse(strings.TrimSpace(o.URL))
	if err != nil || u.Scheme == "" {
		return nil, o.Wrong("url", "it is not a service URL such as ntfy://ntfy.sh/topic")
	}
	o.Timeout, o.To = cmp.Or(o.Timeout, 20*time.Second), u.Scheme // everything else in the URL may be a secret
	s, err := open(u, o.Transport)
	if err != nil {
		return nil, o.Wrong("url", "%w", err)
	}
	if phone, ok := s.(*ntfy.Service); ok && o.Replies != "" {
		err = phone.AnswerBy(o.Replies, o.Name, o.Orders)
	} else if o.Replies != "" {
		err = fmt.Errorf("only ntfy has buttons that answer, and the URL is one of %s", u.Scheme)
	}
	if err != nil {
		return nil, o.Wrong("replies", "%w", err)
	}
	return notify.NewChannel(o.Common, sender{s})
}

// open prepares the service that a URL names.
func open(u *url.URL, transport http.RoundTripper) (remote.Service, error) {
	service, known := schemes[u.Scheme]
	switch {
	case u.Scheme == "http" || u.Scheme == "https":
		return nil, fmt.Errorf("must begin with the name of a service: for ntfy write ntfy://ntfy.sh/TOPIC; a plain %s URL is for [[notify.webhook]]", u.Scheme)
	case !known:
		return nil, fmt.Errorf("there is no service %q; valid here: %s. The program apprise sends to many others: use [[notify.command]] with %s",
			strings.ToLower(u.Scheme), strings.Join(slices.Sorted(maps.Keys(schemes)), ", "), Apprise)
	}
	options := remote.OptionsOf(u)
	options.Text("title") // the title comes from the notice
	s, err := service(u, options, remote.NewClient(u.Scheme, remote.NewRedactor(u, true), transport))
	return s, cmp.Or(err, options.Err())
}

// Apprise is the command channel for services that are not supported.
const Apprise = `run = ["sh", "-c", 'apprise -t "$RESUMED_TITLE" -b "$RESUMED_TEXT" URL']`

// Send sends with the service.
func (s sender) Send(ctx context.Context, n notify.Notice) (string, error) {
	if err := s.Service.Send(ctx, n); err != nil {
		return "", err
	}
	return "accepted", nil
}

// Listen receives orders from the buttons of notices until ctx is done, if there are buttons.
func (s sender) Listen(ctx context.Context, log *slog.Logger) {
	if buttons, ok := s.Service.(notify.Listener); ok {
		buttons.Listen(ctx, log)
	}
}
