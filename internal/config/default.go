package config

import (
	"time"

	"resumed/internal/backoff"
)

const (
	defaultWebhookTimeout = "10s"
	defaultChannelName    = "desktop"
)

// Default returns the configuration of a user who said nothing.
func Default() Config {
	c := undecided()
	c.Notify.Desktop = defaultChannels(c.Notify.Events)
	return c
}

// undecided is Default before it is known whether the user named a channel.
func undecided() Config {
	return Config{
		Log: Log{Level: "info", Format: "auto"},
		Resume: Resume{
			Prompt:        "continue",
			Margin:        60 * time.Second,
			Grace:         2 * time.Hour,
			MaxWait:       192 * time.Hour,
			Settle:        2 * time.Minute,
			Stall:         30 * time.Minute,
			Timeout:       12 * time.Hour,
			Lookback:      6 * time.Hour,
			MaxConcurrent: 2,
			MaxWindows:    8,
			Stagger:       20 * time.Second,
			Live:          LiveType,
			Order:         OldestFirst,
		},
		Backoff: Backoff{Policy: backoff.Default()},
		Notify: Notify{
			Events:    []string{"gave_up", "parked"},
			GroupWait: 10 * time.Second,
		},
		History: History{Keep: 90 * day, MaxSize: 64 << 20, EndedKeep: 30 * day, RunsMaxSize: 256 << 20},
	}
}

func defaultChannels(events []string) []Desktop {
	return []Desktop{{Channel{Name: defaultChannelName, Events: append([]string(nil), events...)}}}
}
