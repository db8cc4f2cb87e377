package notify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"text/template"
	"time"
)

// Common is the configuration that all channels have.
type Common struct {
	Name   string
	To     string // its destination, without secrets
	Events []Event
	Title  string // template; empty: built in
	Text   string // template; empty: built in
	Agents Titles // for templates that name an agent
	Lines  int    // the built-in text is cut to this many lines; 0: not cut

	Timeout time.Duration // of one try; 0: 10 seconds
}

// OptionError is an option of a channel that cannot be used.
type OptionError struct {
	Channel string
	Option  string // title, text, url, secret or run
	Err     error
}

// Error names the channel and its option.
func (e *OptionError) Error() string {
	return fmt.Sprintf("channel %q: %s: %v", e.Channel, e.Option, e.Err)
}

// Unwrap returns the error of the option.
func (e *OptionError) Unwrap() error { return e.Err }

// Wrong returns an OptionError.
func (c Common) Wrong(option, format string, args ...any) error {
	return &OptionError{c.Name, option, fmt.Errorf(format, args...)}
}

// Base is the common part of all channels; a channel embeds it.
type Base struct {
	common      Common
	title, text *template.Template // nil: built in
}

// NewBase checks the common configuration.
func NewBase(c Common) (Base, error) {
	c.Timeout = cmp.Or(c.Timeout, 10*time.Second)
	title, titleErr := parseWording(c.Title, c.Agents)
	if titleErr != nil {
		titleErr = c.Wrong("title", "%w", titleErr)
	}
	text, textErr := parseWording(c.Text, c.Agents)
	if textErr != nil {
		textErr = c.Wrong("text", "%w", textErr)
	}
	return Base{c, title, text}, errors.Join(titleErr, textErr)
}

// Bound bounds one try by the channel's timeout.
func (b *Base) Bound(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, b.common.Timeout, fmt.Errorf("no answer within %s", b.common.Timeout))
}

// Name returns the channel's name in the configuration.
func (b *Base) Name() string { return b.common.Name }

// To returns the channel's destination, without secrets.
func (b *Base) To() string { return b.common.To }

// Events returns the events that the channel gets.
func (b *Base) Events() []Event { return b.common.Events }

// Word applies the channel's own templates to a notice. If a template fails on this notice, the
// built-in words are used: the notice must not be lost.
func (b *Base) Word(n Notice) Notice {
	own := n
	if title := say(b.title, n); title != "" {
		own.Title = strings.Join(strings.Fields(title), " ")
	}
	if text := say(b.text, n); text != "" {
		own.Text = text
	} else if b.common.Lines > 0 {
		own.Text = brief(n.Text, b.common.Lines)
	}
	return own
}
