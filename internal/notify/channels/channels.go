// Package channels builds the configured channels, and finds the service that a URL names.
package channels

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"resumed/internal/agents"
	"resumed/internal/config"
	"resumed/internal/notify"
	"resumed/internal/notify/command"
	"resumed/internal/notify/desktop"
	"resumed/internal/notify/discord"
	"resumed/internal/notify/gotify"
	"resumed/internal/notify/mail"
	"resumed/internal/notify/ntfy"
	"resumed/internal/notify/pushover"
	"resumed/internal/notify/remote"
	"resumed/internal/notify/slack"
	"resumed/internal/notify/telegram"
	"resumed/internal/notify/webhook"
	"resumed/internal/resume"
)

// Build builds all configured channels, and reports those that cannot be built, with their place in the
// file at path. order is called when a person presses a button of a notice. order and memory may be
// nil.
func Build(path string, whole config.Config, order func(context.Context, notify.Action, resume.Key), memory notify.Memory) ([]*notify.Channel, error) {
	cfg, trust := whole.Notify, whole.Resume.Trust()
	var (
		channels []*notify.Channel
		bad      []*config.Problem
	)
	add := func(kind string, i int, files map[string]string, ch *notify.Channel, err error) {
		if err != nil {
			bad = append(bad, unusable(fmt.Sprintf("notify.%s[%d]", kind, i), files, err)...)
			return
		}
		channels = append(channels, ch)
	}
	secret := func(option string, given config.Secret, file string) (string, error) {
		value, err := config.ReadSecret(trust, given, file)
		if err != nil {
			err = &notify.OptionError{Option: option + "_file", Err: err}
		}
		return value.Reveal(), err
	}
	orders := notify.Orders{Order: order, Memory: memory}
	for i, c := range cfg.Desktop {
		ch, err := desktop.New(desktop.Options{Common: common(c.Channel), Orders: orders})
		add("desktop", i, nil, ch, err)
	}
	for i, c := range cfg.Webhook {
		address, err := secret("url", c.URL, c.URLFile)
		key, keyErr := secret("secret", c.Secret, c.SecretFile)
		var ch *notify.Channel
		if given, parseErr := url.Parse(strings.TrimSpace(address)); err == nil && parseErr == nil && asService(given) != given {
			err = &notify.OptionError{Option: "url", Err: fmt.Errorf("is a webhook of %s, which takes no JSON of resumed: write [[notify.service]] with the same URL", asService(given).Scheme)}
		}
		if err = errors.Join(err, keyErr); err == nil {
			options := webhook.Options{Common: common(c.Channel), URL: address, Secret: key}
			options.Timeout = c.Timeout
			ch, err = webhook.New(options)
		}
		add("webhook", i, map[string]string{"url": c.URLFile, "secret": c.SecretFile}, ch, err)
	}
	for i, c := range cfg.Service {
		address, err := secret("url", c.URL, c.URLFile)
		var ch *notify.Channel
		if err == nil {
			ch, err = newService(serviceOptions{Common: common(c.Channel), URL: address, Replies: c.Replies, Orders: orders})
		}
		add("service", i, map[string]string{"url": c.URLFile}, ch, err)
	}
	for i, c := range cfg.Command {
		ch, err := command.New(command.Options{Common: common(c.Channel), Run: c.Run, Trust: trust})
		add("command", i, nil, ch, err)
	}
	if len(bad) > 0 {
		return nil, config.At(path, bad)
	}
	return channels, nil
}

// unusable returns the problems of the channel at that key. files are the files that options come from: an
// error about such an option names its file. The problems contain no values: these may be secrets.
func unusable(key string, files map[string]string, err error) []*config.Problem {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		var all []*config.Problem
		for _, one := range several.Unwrap() {
			all = append(all, unusable(key, files, one)...)
		}
		return all
	}
	if wrong, ok := errors.AsType[*notify.OptionError](err); ok {
		key, err = key+"."+wrong.Option, wrong.Err
		if file := files[wrong.Option]; file != "" {
			key, err = key+"_file", fmt.Errorf("%s: %w", file, err)
		}
	}
	return []*config.Problem{{Key: key, Want: err.Error()}}
}

func common(c config.Channel) notify.Common {
	shared := notify.Common{Name: c.Name, Title: c.Title, Text: c.Text, Agents: agents.Titles()}
	for _, event := range c.Events {
		shared.Events = append(shared.Events, notify.Event(event))
	}
	return shared
}

// serviceOptions configure a chat, push or mail service.
type serviceOptions struct {
	notify.Common                   // Timeout 0: 20 seconds
	URL           string            // such as ntfy://ntfy.sh/topic
	Transport     http.RoundTripper // nil: the default one

	// Replies is the ntfy topic for the replies of buttons; empty: there are no buttons.
	Replies string
	notify.Orders
}

var schemes = map[string]func(*url.URL, *remote.Options, *remote.Client) (notify.Sender, error){
	"discord": discord.New, "gotify": gotify.New, "ntfy": ntfy.New, "pushover": pushover.New, "slack": slack.New, "smtp": mail.New, "telegram": telegram.New,
}

// newService checks the options; it connects to nothing. Its errors contain no part of the URL except the
// scheme and the names of options.
func newService(o serviceOptions) (*notify.Channel, error) {
	s, err := o.sender()
	ch, wording := notify.NewChannel(o.Common, s)
	return ch, errors.Join(err, wording)
}

func (o *serviceOptions) sender() (notify.Sender, error) {
	u, err := url.Parse(strings.TrimSpace(o.URL))
	if err != nil || u.Scheme == "" {
		return nil, o.Wrong("url", "must be a service URL, such as ntfy://ntfy.sh/topic")
	}
	u = asService(u)
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
	return s, nil
}

func open(u *url.URL, transport http.RoundTripper) (notify.Sender, error) {
	service, known := schemes[u.Scheme]
	switch {
	case u.Scheme == "http" || u.Scheme == "https":
		return nil, fmt.Errorf("must begin with the name of a service: for ntfy write ntfy://ntfy.sh/TOPIC; a plain %s URL is for [[notify.webhook]]", u.Scheme)
	case !known:
		return nil, fmt.Errorf("there is no service %q; valid here: %s. The program apprise sends to many others: use [[notify.command]] with %s",
			strings.ToLower(u.Scheme), strings.Join(slices.Sorted(maps.Keys(schemes)), ", "), apprise)
	}
	options := remote.OptionsOf(u)
	s, err := service(u, options, remote.NewClient(u.Scheme, remote.NewRedactor(u, true), transport))
	return s, cmp.Or(err, options.Err())
}

// handedOut are the hosts of the webhooks that services hand out, and what is before their ids and tokens.
var handedOut = map[string]struct{ service, before string }{
	"hooks.slack.com": {"slack", "/services/"},
	"discord.com":     {"discord", "/api/webhooks/"}, "discordapp.com": {"discord", "/api/webhooks/"},
	"ptb.discord.com": {"discord", "/api/webhooks/"}, "canary.discord.com": {"discord", "/api/webhooks/"},
}

// asService returns the URL of a service for a webhook as the service hands it out, and other URLs as they are.
func asService(u *url.URL) *url.URL {
	from, known := handedOut[strings.ToLower(u.Host)]
	ids, found := strings.CutPrefix(strings.TrimSuffix(u.Path, "/"), from.before)
	if u.Scheme != "https" || !known || !found {
		return u
	}
	parts := strings.Split(ids, "/")
	given := &url.URL{Scheme: from.service, RawQuery: u.RawQuery}
	switch from.service {
	case "slack":
		given.User, given.Host = url.UserPassword("hook", strings.Join(parts, "-")), "webhook"
	case "discord":
		given.Host, given.User = parts[0], url.User(strings.Join(parts[1:], "/"))
	}
	return given
}

// apprise is the command channel for services that are not supported.
const apprise = `run = ["sh", "-c", 'apprise -t "$RESUMED_TITLE" -b "$RESUMED_TEXT" URL']`
