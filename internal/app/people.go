package app

import (
	"errors"
	"fmt"
	"os"

	"resumed/internal/config"
	"resumed/internal/notify"
	"resumed/internal/resume"
	"resumed/internal/state"
)

func newNotifier(d *daemon, cfg notify.Config) (*notify.Notifier, error) {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return notify.New(notify.Options{
		Config: cfg, Store: outbox{d.store}, Log: d.log, Host: host, Count: d.metrics.delivered,
	})
}

// Channels builds every way to reach people that the configuration knows, and
// reports all that cannot be built. retry is called when a person asks for a
// session on the desktop; it may be nil, and so may memory.
func Channels(cfg config.Notify, retry func(resume.Key), memory notify.Memory) ([]notify.Channel, error) {
	var (
		channels []notify.Channel
		bad      []error
	)
	add := func(name string, ch notify.Channel, err error) {
		if err != nil {
			bad = append(bad, fmt.Errorf("notify channel %s: %w", name, err))
			return
		}
		channels = append(channels, ch)
	}
	for _, c := range cfg.Desktop {
		ch, err := notify.NewDesktop(notify.DesktopOptions{Common: common(c.Channel), Retry: retry, Memory: memory})
		add(c.Name, ch, err)
	}
	for _, c := range cfg.Webhook {
		ch, err := newWebhook(c)
		add(c.Name, ch, err)
	}
	for _, c := range cfg.Service {
		ch, err := newService(c)
		add(c.Name, ch, err)
	}
	for _, c := range cfg.Command {
		ch, err := notify.NewCommand(notify.CommandOptions{Common: common(c.Channel), Run: c.Run})
		add(c.Name, ch, err)
	}
	if len(bad) > 0 {
		return nil, errors.Join(bad...)
	}
	return channels, nil
}

func newWebhook(c config.Webhook) (notify.Channel, error) {
	address, err := c.Address()
	if err != nil {
		return nil, err
	}
	key, err := c.Key()
	if err != nil {
		return nil, err
	}
	return notify.NewWebhook(notify.WebhookOptions{
		Common: common(c.Channel), URL: address.Reveal(), Secret: key.Reveal(), Timeout: c.Timeout,
	})
}

func newService(c config.Service) (notify.Channel, error) {
	address, err := c.Address()
	if err != nil {
		return nil, err
	}
	return notify.NewService(notify.ServiceOptions{Common: common(c.Channel), URL: address.Reveal()})
}

func common(c config.Channel) notify.Common {
	return notify.Common{Name: c.Name, Events: events(c.Events), Title: c.Title, Text: c.Text}
}

func events(names []string) []notify.Event {
	all := make([]notify.Event, len(names))
	for i, name := range names {
		all[i] = notify.Event(name)
	}
	return all
}

// outbox lets the notifier keep its notices in the daemon's state.
type outbox struct{ *state.Store }

func (o outbox) Pending() []notify.Delivery {
	var pending []notify.Delivery
	for _, d := range o.Store.Pending() {
		pending = append(pending, notify.Delivery{
			ID: d.ID, Channel: d.Channel, Payload: d.Payload, At: d.CreatedAt,
			Tries: d.Tries, NextAt: d.NextAt, LastErr: d.LastErr,
		})
	}
	return pending
}
