package notify

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// DefaultTimeout bounds one try of a channel that is given no other.
const DefaultTimeout = 10 * time.Second

// Common is what every channel has.
type Common struct {
	Name   string
	Events []Event // empty: those of the notifier
	Title  string  // template; empty: built in
	Text   string  // template; empty: built in
	Agents Titles  // for templates that name an agent
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

// Unwrap returns what is wrong with the option.
func (e *OptionError) Unwrap() error { return e.Err }

func (c Common) wrong(option, format string, args ...any) error {
	return &OptionError{c.Name, option, fmt.Errorf(format, args...)}
}

// base is the part that all channels share.
type base struct {
	name   string
	events []Event
	words  Words
}

func newBase(c Common) (base, error) {
	if c.Name == "" {
		return base{}, errors.New("a channel needs a name")
	}
	words, err := parseWords(c)
	if err != nil {
		return base{}, err
	}
	return base{name: c.Name, events: slices.Clone(c.Events), words: words}, nil
}

// Name returns the channel's name in the configuration.
func (b *base) Name() string { return b.name }

// Events returns the events that the channel wants; empty: the notifier's.
func (b *base) Events() []Event { return b.events }

// worded returns a notice in the channel's own words.
func (b *base) worded(n Notice) Notice { return b.words.apply(n) }
