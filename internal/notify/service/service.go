// Package service sends notices by the chat, push and mail services that
// shoutrrr knows.
package service

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"resumed/internal/notify"
	"resumed/internal/resume"

	"github.com/nicholas-fedor/shoutrrr/pkg/router"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/discord"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/rocketchat"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/telegram"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/push/ntfy"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/push/pushover"
	"github.com/nicholas-fedor/shoutrrr/pkg/types"
)

// Options describe a chat, push or mail service.
type Options struct {
	notify.Common
	URL     string        // as shoutrrr reads it, such as ntfy://ntfy.sh/topic
	Timeout time.Duration // of one try; 0: DefaultTimeout

	// Replies is the topic of ntfy by which buttons answer; empty: there are none.
	Replies string

	// Order is called for each session of a notice when its button was pressed. Nil: there
	// are no buttons, and nobody listens.
	Order func(ctx context.Context, order notify.Order, session resume.Key)

	// Memory remembers the buttons over a restart; needed where there is Order.
	Memory notify.Memory
}

// DefaultTimeout bounds one try of a service that is given no other.
const DefaultTimeout = 20 * time.Second

// Channel sends by one service.
type Channel struct {
	notify.Base
	url     string
	to      string
	titled  bool
	timeout time.Duration
	hide    notify.Redactor
	replies *replies // nil: it has no buttons

	mu      sync.Mutex // guards everything that follows
	flying  map[string]*flight
	written map[string]written // by notice, until it is delivered or refused
}

// flight is a try that may outlive its caller: the library cannot be stopped.
type flight struct {
	done chan struct{}

	// Valid once done is closed.
	err error
	ear ear
}

// longestFlight ends what the library would wait for without an end.
const longestFlight = 5 * time.Minute

// untitled are the services that have no place for a title, or mean something
// else by it: it is put before the text.
var untitled = []string{"generic", "googlechat", "hangouts", "logger", "mattermost", "pagerduty", "rocketchat", "signal", "wecom", "zulip"}

// New checks the options; it connects to nothing. Its errors hold no
// part of the URL but the scheme.
func New(o Options) (*Channel, error) {
	b, err := notify.NewBase(o.Common)
	if err != nil {
		return nil, err
	}
	raw := strings.TrimSpace(o.URL)
	u, err := url.Parse(raw)
	if err != nil || u.Scheme == "" {
		return nil, o.Wrong("url", "it is not a service URL such as ntfy://ntfy.sh/topic")
	}
	scheme, _, _ := strings.Cut(strings.ToLower(u.Scheme), "+")
	s := &Channel{
		Base:    b,
		url:     raw,
		to:      scheme,
		timeout: cmp.Or(o.Timeout, DefaultTimeout),
		hide:    notify.NewRedactor(u, true),
		flying:  make(map[string]*flight),
		written: make(map[string]written),
	}
	s.titled = !slices.Contains(untitled, scheme) || scheme == "generic" && u.Query().Get("template") != ""
	if scheme == "matrix" { // signs in as soon as it is made
		if u.Host == "" {
			return nil, o.Wrong("url", "the matrix URL has no host")
		}
		if o.Replies != "" {
			_, err = s.newReplies(o) // which it has none of
		}
		return s, err
	}
	if _, err := s.build(http.DefaultClient); err != nil {
		if errors.Is(err, router.ErrUnknownService) {
			return nil, o.Wrong("url", "%s", unknown(scheme))
		}
		return nil, o.Wrong("url", "%s", s.hide.Redact(err.Error()))
	}
	if o.Replies != "" {
		answers, err := s.newReplies(o)
		if err != nil {
			return nil, err
		}
		if o.Order != nil && o.Memory != nil {
			s.replies = answers
		}
	}
	return s, nil
}

// unknown says what to write instead of a service that there is not.
func unknown(scheme string) string {
	if scheme == "http" || scheme == "https" {
		return "must begin with the name of a service: for ntfy write ntfy://ntfy.sh/TOPIC; a plain " + scheme + " URL is for [[notify.webhook]]"
	}
	all := new(router.ServiceRouter).ListServices()
	slices.Sort(all)
	return fmt.Sprintf("there is no service %q; valid here: %s", scheme, strings.Join(all, ", "))
}

// sender is what of shoutrrr's services is used.
type sender interface {
	Send(message string, params *types.Params) error
}

// build makes the service anew for each notice: some of shoutrrr's keep the
// first title they are given for all that follow. Where a service takes a client, it
// is given ours: the library's know no proxy, keep a connection open for each service
// that was ever made, or keep what was answered to themselves.
func (s *Channel) build(client *http.Client) (sender, error) {
	made, err := new(router.ServiceRouter).Locate(s.url)
	if err != nil {
		return nil, err
	}
	switch service := made.(type) {
	case *telegram.Service:
		return &telegramBot{*service.Config, client}, nil
	case *discord.Service:
		service.HTTPClient, service.Sleeper = impatient{client}, impatient{}
	case *pushover.Service:
		service.Client = client
	case *rocketchat.Service:
		service.Client = client
	case interface{ SetHTTPClient(*http.Client) }: // ntfy, pagerduty
		service.SetHTTPClient(client)
	case interface{ GetHTTPClient() *http.Client }: // mattermost
		if its := service.GetHTTPClient(); its != nil {
			*its = *client
		}
	}
	return made, nil
}

// To returns the kind of service; all else in its URL may be a secret.
func (s *Channel) To() string { return s.to }

// Send sends by the service.
func (s *Channel) Send(ctx context.Context, n notify.Notice) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.timeout, fmt.Errorf("no answer within %s", s.timeout))
	defer cancel()
	f := s.launch(n)
	select {
	case <-f.done:
	case <-ctx.Done():
		return "", fmt.Errorf("%s: %w", s.to, context.Cause(ctx))
	}
	said, err := s.judge(f)
	_, final := errors.AsType[*notify.PermanentError](err)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.flying, n.ID)
	if err == nil || final {
		delete(s.written, n.ID)
	}
	return said, err
}

// longestPush is what ntfy takes as a text, in bytes, with a little to spare. It makes a file
// of what is longer, and refuses it where it keeps no files.
const longestPush = 4000

// within returns as much of a text as a service takes.
func (s *Channel) within(text string) string {
	if s.to != ntfy.Scheme || len(text) <= longestPush {
		return text
	}
	return strings.ToValidUTF8(text[:longestPush-len("…")], "") + "…"
}

// launch begins a try, or finds the one that is still under way from before:
// the notice must not go out again because its first answer was late.
func (s *Channel) launch(n notify.Notice) *flight {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.flying[n.ID]; f != nil {
		return f
	}
	message, params := n.Text, &types.Params{}
	if s.titled {
		params.SetTitle(n.Title)
	} else {
		message = n.Title + "\n\n" + n.Text
	}
	message = s.within(message)
	if buttons := s.actions(n); buttons != "" {
		(*params)["actions"] = buttons
	}
	f := &flight{done: make(chan struct{})}
	s.flying[n.ID] = f
	ctx, cancel := context.WithTimeout(context.Background(), longestFlight)
	f.ear = ear{ctx: ctx, asks: s.asks()}
	client := &http.Client{Timeout: s.timeout, Transport: &f.ear}
	go func() {
		defer close(f.done)
		defer cancel()
		defer listening.listen(&f.ear)()
		defer func() {
			// The library panics where zulip cannot be reached; that must not be the end
			// of the daemon.
			if p := recover(); p != nil {
				f.err = fmt.Errorf("the library failed, as it does without a network: %v", p)
			}
		}()
		service, err := s.build(client)
		if err == nil {
			err = service.Send(message, params)
		}
		f.err = err
	}()
	return f
}

// careless are the words in a URL by which people have the certificate of their own
// server not looked at.
var careless = regexp.MustCompile(`(?i)[?&](?:disabletlsverification|insecureskipverify)=(?:yes|true|on|1)(?:&|$)`)

// asks is how the service is reached: with the proxies of the environment.
func (s *Channel) asks() http.RoundTripper {
	if !careless.MatchString(s.url) {
		return notify.Machine
	}
	transport := notify.Machine.(*http.Transport).Clone()
	transport.TLSClientConfig, transport.DisableKeepAlives = &tls.Config{InsecureSkipVerify: true}, true
	return transport
}
