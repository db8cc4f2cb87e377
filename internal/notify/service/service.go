// Package service sends notices by chat, push and mail services.
package service

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
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

// Options describe a chat, push or mail service.
type Options struct {
	notify.Common
	URL       string            // such as ntfy://ntfy.sh/topic
	Timeout   time.Duration     // of one try; 0: DefaultTimeout
	Transport http.RoundTripper // nil: the machine's own

	// Replies is the topic of ntfy by which buttons answer; empty: there are none.
	Replies string
	ntfy.Orders
}

// DefaultTimeout bounds one try of a service that is given no other.
const DefaultTimeout = 20 * time.Second

// sender sends by one service.
type sender interface {
	Send(context.Context, notify.Notice) error
}

// Channel sends by one service.
type Channel struct {
	notify.Base
	to      string
	timeout time.Duration
	sender  sender
}

// New checks the options; it connects to nothing. Its errors hold no part of the URL but the
// scheme and the names of options.
func New(o Options) (*Channel, error) {
	b, err := notify.NewBase(o.Common)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(strings.TrimSpace(o.URL))
	if err != nil || u.Scheme == "" {
		return nil, o.Wrong("url", "it is not a service URL such as ntfy://ntfy.sh/topic")
	}
	s := &Channel{Base: b, to: u.Scheme, timeout: cmp.Or(o.Timeout, DefaultTimeout)}
	hide := remote.NewRedactor(u, true)
	if s.sender, err = open(u, hide, remote.NewClient(u.Scheme, hide, o.Transport)); err != nil {
		return nil, o.Wrong("url", "%w", err)
	}
	if o.Replies == "" {
		return s, nil
	}
	phone, ok := s.sender.(*ntfy.Service)
	if !ok {
		return nil, o.Wrong("replies", "only ntfy has buttons that answer, and the URL is one of %s", s.to)
	}
	if err := phone.AnswerBy(o.Replies, o.Name, o.Orders); err != nil {
		return nil, o.Wrong("replies", "%w", err)
	}
	return s, nil
}

// open makes the service that a URL names.
func open(u *url.URL, hide remote.Redactor, client *remote.Client) (sender, error) {
	switch u.Scheme {
	case "discord":
		return discord.New(u, client)
	case "gotify":
		return gotify.New(u, client)
	case "ntfy":
		return ntfy.New(u, client)
	case "pushover":
		return pushover.New(u, client)
	case "slack":
		return slack.New(u, client)
	case "smtp":
		return mail.New(u, hide)
	case "telegram":
		return telegram.New(u, client)
	case "http", "https":
		return nil, fmt.Errorf("must begin with the name of a service: for ntfy write ntfy://ntfy.sh/TOPIC; a plain %s URL is for [[notify.webhook]]", u.Scheme)
	default:
		return nil, fmt.Errorf("there is no service %q; valid here: discord, gotify, ntfy, pushover, slack, smtp, telegram. "+
			"The program apprise sends to many others: use [[notify.command]] with %s", strings.ToLower(u.Scheme), Apprise)
	}
}

// Apprise is the command channel for a service that is not here.
const Apprise = `run = ["sh", "-c", 'apprise -t "$RESUMED_TITLE" -b "$RESUMED_TEXT" URL']`

// To returns the kind of service; all else in its URL may be a secret.
func (s *Channel) To() string { return s.to }

// Send sends by the service.
func (s *Channel) Send(ctx context.Context, n notify.Notice) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.timeout, fmt.Errorf("no answer within %s", s.timeout))
	defer cancel()
	if err := s.sender.Send(ctx, n); err != nil {
		return "", err
	}
	return "accepted", nil
}

// Listen takes orders from the buttons of notices until ctx is done, where there are any.
func (s *Channel) Listen(ctx context.Context, log *slog.Logger) {
	if phone, ok := s.sender.(*ntfy.Service); ok {
		phone.Listen(ctx, log.With("channel", s.Name()))
	}
}
