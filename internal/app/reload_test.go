package app

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/config"
	"resumed/internal/control"
	"resumed/internal/journal"
	"resumed/internal/notify"
	"resumed/internal/state"
)

// phone is a notice channel.
type phone struct{ heard chan notify.Notice }

func (p phone) Send(_ context.Context, n notify.Notice) (string, error) {
	p.heard <- n
	return "", nil
}

// The current settings stay, and all that is shown contains the error.
func TestARefusedConfigurationLeavesSettingsInForceAndShowsWhy(t *testing.T) {
	cfg := usual(t)
	log := slog.New(slog.DiscardHandler)
	store, err := state.Open(t.TempDir(), log)
	require.NoError(t, err)
	defer store.Close()
	first, err := maker{}.make(cfg, nil)
	require.NoError(t, err)
	ways := phone{make(chan notify.Notice, 10)}
	channel, err := notify.NewChannel(notify.Common{Name: "phone", Events: []notify.Event{notify.ConfigError}}, ways)
	require.NoError(t, err)
	notifier := notify.New(notify.Options{Config: notify.Config{Channels: []*notify.Channel{channel}}, Store: store, Log: log})
	disk, people := newStage(t.Context(), func(err error) { t.Error(err) }), newStage(t.Context(), func(err error) { t.Error(err) })
	disk.run("state", store.Run)
	people.run("notifier", notifier.Run)
	defer disk.stop()
	defer people.stop()
	p := &parts{
		opts: Options{Log: log}, notifier: notifier, changes: new(control.Changes),
		journal: journal.New(journal.Options{Store: store, Changes: new(control.Changes), Log: log}, nil),
	}
	p.settings.Store(first)

	unreadable := errors.New("resumed.toml:1: what is this?")
	broken := changed(cfg, func(c *config.Config) { entry(c, "bot").Limit = []string{"("} })
	for want, c := range map[string]struct {
		cfg config.Config
		err error
	}{
		"what is this?":    {err: unreadable},
		"agent bot: limit": {cfg: broken},
	} {
		p.apply(t.Context(), c.cfg, c.err)
		now := p.settings.Load()
		require.ErrorContains(t, now.refused, want)
		stays := *now
		stays.refused = nil
		require.Equal(t, *first, stays)
		select {
		case n := <-ways.heard:
			require.Contains(t, n.Text, want)
		case <-time.After(patience):
			require.FailNow(t, "nobody was told")
		}
	}
	var told []string
	for entry, err := range store.History(t.Context(), state.Filter{}) {
		require.NoError(t, err)
		told = append(told, entry.Kind)
	}
	require.Equal(t, []string{journal.Config, journal.Config}, told)
}
