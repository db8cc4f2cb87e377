// Package channels builds the configured channels.
package channels

import (
	"context"
	"errors"
	"fmt"

	"resumed/internal/agents"
	"resumed/internal/config"
	"resumed/internal/notify"
	"resumed/internal/notify/command"
	"resumed/internal/notify/desktop"
	"resumed/internal/notify/service"
	"resumed/internal/notify/webhook"
	"resumed/internal/ownership"
	"resumed/internal/resume"
)

// Build builds all configured channels, and reports those that cannot be built, with their place in the
// file at path. order is called when a person presses a button of a notice. order and memory may be
// nil.
func Build(path string, whole config.Config, order func(context.Context, notify.Order, resume.Key), memory notify.Memory) ([]notify.Channel, error) {
	cfg, trust := whole.Notify, whole.Resume.Trust()
	var (
		channels []notify.Channel
		bad      []*config.Problem
	)
	add := func(kind string, i int, ch notify.Channel, err error) {
		if err != nil {
			bad = append(bad, unusable(fmt.Sprintf("notify.%s[%d]", kind, i), err)...)
			return
		}
		channels = append(channels, ch)
	}
	orders := notify.Orders{Order: order, Memory: memory}
	for i, c := range cfg.Desktop {
		ch, err := desktop.New(desktop.Options{Common: common(c.Channel), Orders: orders})
		add("desktop", i, ch, err)
	}
	for i, c := range cfg.Webhook {
		ch, err := newWebhook(c, trust)
		add("webhook", i, ch, err)
	}
	for i, c := range cfg.Service {
		address, err := config.ReadSecret(trust, c.URL, c.URLFile)
		var ch notify.Channel
		if err == nil {
			ch, err = service.New(service.Options{Common: common(c.Channel), URL: address.Reveal(), Replies: c.Replies, Orders: orders})
		}
		add("service", i, ch, fromFile("url", c.URLFile, err))
	}
	for i, c := range cfg.Command {
		ch, err := command.New(command.Options{Common: common(c.Channel), Run: c.Run, Trust: trust})
		add("command", i, ch, err)
	}
	if len(bad) > 0 {
		return nil, config.At(path, bad)
	}
	return channels, nil
}

// unusable returns the problems of the channel at that key. They contain no values: these may be
// secrets.
func unusable(key string, err error) []*config.Problem {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		var all []*config.Problem
		for _, one := range several.Unwrap() {
			all = append(all, unusable(key, one)...)
		}
		return all
	}
	if option, ok := errors.AsType[*notify.OptionError](err); ok {
		key, err = key+"."+option.Option, option.Err
	}
	return []*config.Problem{{Key: key, Want: err.Error()}}
}

func newWebhook(c config.Webhook, trust ownership.Trust) (notify.Channel, error) {
	address, err := config.ReadSecret(trust, c.URL, c.URLFile)
	if err != nil {
		return nil, fromFile("url", c.URLFile, err)
	}
	key, err := config.ReadSecret(trust, c.Secret, c.SecretFile)
	if err != nil {
		return nil, fromFile("secret", c.SecretFile, err)
	}
	options := webhook.Options{Common: common(c.Channel), URL: address.Reveal(), Secret: key.Reveal()}
	options.Timeout = c.Timeout
	ch, err := webhook.New(options)
	return ch, fromFile("secret", c.SecretFile, fromFile("url", c.URLFile, err))
}

// fromFile changes an error about an option if its value comes from a file: then the error names that
// file.
func fromFile(option, file string, err error) error {
	wrong, ok := errors.AsType[*notify.OptionError](err)
	if err == nil || file == "" || ok && wrong.Option != option {
		return err
	}
	if ok {
		err = fmt.Errorf("%s: %w", file, wrong.Err)
	}
	return &notify.OptionError{Option: option + "_file", Err: err}
}

func common(c config.Channel) notify.Common {
	shared := notify.Common{Name: c.Name, Title: c.Title, Text: c.Text, Agents: agents.Titles()}
	for _, event := range c.Events {
		shared.Events = append(shared.Events, notify.Event(event))
	}
	return shared
}
